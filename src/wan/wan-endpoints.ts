/**
 * The members of a target: `[http[s]://]host[:port][/segment]`, separated by commas, with optional
 * spaces around them. An IPv6 address is in brackets. A user is a property of the publisher.
 * Tested by wan-reading.spec.ts.
 */
import { DEFAULT_PORT, PORT_MAX } from '../base/server-address.ts';
import type { WanEndpoint } from './wan-config.ts';

/** A member of the target as it was written; without a scheme, `tls` is undefined. */
type WrittenEndpoint = Omit<WanEndpoint, 'tls'> & { readonly tls: boolean | undefined };

/**
 * Maximum number of endpoints. A partition uses one of them; more would not distribute the work
 * further.
 */
const ENDPOINTS_MAX = 100;
const FORM =
  /^(?:(https?):\/\/)?(?:\[([0-9a-f:.]+)\]|([\p{L}\p{N}._-]+))(?::(\d{1,5}))?(?:\/([A-Za-z0-9\-_.~]{0,255})\/?)?$/iu;

/**
 * Returns each endpoint once, in order; undefined if one is empty or malformed, or there are too
 * many.
 */
export function targetEndpointsIn(text: string): readonly WrittenEndpoint[] | undefined {
  const endpoints = new Map<string, WrittenEndpoint>();
  for (const item of text.split(',').map((each) => each.trim())) {
    const endpoint = endpointIn(item);
    if (endpoint === undefined) return undefined;
    endpoints.set(JSON.stringify(Object.values(endpoint)), endpoint);
    if (endpoints.size > ENDPOINTS_MAX) return undefined;
  }
  return [...endpoints.values()];
}

function endpointIn(item: string): WrittenEndpoint | undefined {
  const [whole, scheme, address, name, port = `${DEFAULT_PORT}`, segment = ''] =
    FORM.exec(item) ?? [];
  const host = address ?? name;
  const number = Number(port);
  if (whole === undefined || host === undefined) return undefined;
  if (number < 1 || number > PORT_MAX || segment === '.' || segment === '..') return undefined;
  return {
    host,
    port: number,
    segment: segment === '' ? undefined : segment,
    tls: scheme === undefined ? undefined : scheme.toLowerCase() === 'https',
  };
}
