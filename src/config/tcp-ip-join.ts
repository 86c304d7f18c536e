/**
 * `join.tcp-ip`: a list of members that is kept, told and changed (`config/tcp-ip/member-list`), and
 * by which no member finds another.
 */
import { type Config, placeOf } from './config.ts';
import { SETTINGS } from './settings.ts';

/** Says so where it is enabled. */
export function tcpIpWarnings({ tcpIpEnabled, sources }: Config): string[] {
  if (!tcpIpEnabled) return [];
  const source = sources.get(placeOf(SETTINGS.tcpIpEnabled, ''));
  return [
    `${source?.name}: join.tcp-ip joins nothing: its list of members is only kept and told, ` +
      'members do not find one another by it',
  ];
}
