/**
 * The line that a terminal shows once the member serves: its address, its groups, the memory for
 * data, whether the data is persistent, and a low limit of the system. Tested by serve.spec.ts.
 */
import { MIB } from '../base/machine-memory.ts';
import type { Config } from '../member/config.ts';
import type { Member } from '../member/member.ts';
import { isOnAllInterfaces, memberUrl } from '../member/member-url.ts';

/** Returns one line with a URL. */
export function listeningLine(
  member: Pick<Member, 'address' | 'port' | 'healthPort' | 'memoryBytesMax' | 'backlogWarning'>,
  config: Config,
): string {
  const { address, port, healthPort, memoryBytesMax, backlogWarning } = member;
  const everywhere = isOnAllInterfaces(address) ? ' on all interfaces' : '';
  const health = healthPort === undefined ? '' : `, health on port ${healthPort}`;
  const groups = [...config.endpointGroups].filter(([, isOn]) => isOn).map(([name]) => name);
  const served = config.restEnabled && groups.length > 0 ? groups.join(', ') : 'none';
  return [
    `listening on ${memberUrl(config, address, port)}${everywhere}${health}`,
    `groups ${served}`,
    `${Math.floor(memoryBytesMax / MIB)} MiB for data`,
    config.persistenceEnabled
      ? `data is stored in ${JSON.stringify(config.dataDirectory)}`
      : 'data is stored in memory only and lost when this process ends',
    ...(backlogWarning === undefined ? [] : [backlogWarning]),
  ].join('; ');
}
