/** The URL at which a member serves. Tested by cli/serve.spec.ts. */
import { addressText } from '../base/server-address.ts';
import type { Config } from './config.ts';

const ALL_ADDRESSES: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** The path segments of the dialects. */
const SEGMENTS = { none: 'grid', hazelcast: 'hazelcast' } as const;

/** Whether a member at this address listens on all interfaces. */
export function isOnAllInterfaces(address: string): boolean {
  return ALL_ADDRESSES.has(address);
}

/** Returns the URL of a member that is bound to this address and port, with the path segment. */
export function memberUrl(config: Config, address: string, port: number): string {
  const scheme = config.tlsEnabled ? 'https' : 'http';
  const host = isOnAllInterfaces(address) ? 'localhost' : address;
  const segment = config.pathSegment ?? SEGMENTS[config.compatibility];
  return `${scheme}://${addressText({ host, port })}/${segment}`;
}
