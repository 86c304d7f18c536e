/** What people at a terminal are told once the member serves: where, what, in how much, for how long. */
import type { Config } from '../config/config.ts';
import type { Member } from '../member.ts';

const MIB = 1_048_576;
const ALL_ADDRESSES: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** One line, with a URL to click on. */
export function listeningLine(
  member: Pick<Member, 'address' | 'port' | 'healthPort' | 'memoryBytesMax'>,
  config: Config,
): string {
  const { address, port, healthPort, memoryBytesMax } = member;
  const scheme = config.tlsEnabled ? 'https' : 'http';
  const host = ALL_ADDRESSES.has(address) ? 'localhost' : bracketed(address);
  const segment = config.pathSegment ?? SEGMENTS[config.compatibility];
  const everywhere = ALL_ADDRESSES.has(address) ? ' on all interfaces' : '';
  const health = healthPort === undefined ? '' : `, health on port ${healthPort}`;
  const groups = [...config.endpointGroups].filter(([, isOn]) => isOn).map(([name]) => name);
  const served = config.restEnabled && groups.length > 0 ? groups.join(', ') : 'none';
  return [
    `listening on ${scheme}://${host}:${port}/${segment}${everywhere}${health}`,
    `groups ${served}`,
    `${Math.floor(memoryBytesMax / MIB)} MiB for data`,
    config.persistenceEnabled
      ? `data is kept in ${JSON.stringify(config.dataDirectory)}`
      : 'data is not kept: it ends with this process',
  ].join('; ');
}

/** As the dialects have it. */
const SEGMENTS = { none: 'grid', hazelcast: 'hazelcast' } as const;

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
