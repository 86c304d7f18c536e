/**
 * The members of a target: `[http[s]://]host[:port][/segment]`, with commas between them and spaces
 * anywhere around. An IPv6 address is in brackets. A user is a property of the publisher.
 */
import { SETTINGS } from './settings.ts';

/** A member of the target as it was written: without a scheme, TLS is decided elsewhere. */
interface WrittenEndpoint {
  readonly host: string;
  readonly port: number;
  readonly segment: string | undefined;
  /** Undefined where no scheme is given. */
  readonly tls: boolean | undefined;
}

/** A partition sticks to one of them; more would not share out the work any further. */
const ENDPOINTS_MAX = 100;
const PORT_MAX = 65_535;
const FORM =
  /^(?:(https?):\/\/)?(?:\[([0-9a-f:.]+)\]|([\p{L}\p{N}._-]+))(?::(\d{1,5}))?(?:\/([A-Za-z0-9\-_.~]{0,255})\/?)?$/iu;

/** Each once, in their order; undefined where any is empty or of another form. */
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
  const [whole, scheme, address, name, port = `${SETTINGS.port.fallback}`, segment = ''] =
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
