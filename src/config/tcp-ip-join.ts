/**
 * `join.tcp-ip`: a list of members that requests read and change (`config/tcp-ip/member-list`). No
 * member finds another by it.
 */
import { type Config, placeOf } from './config.ts';
import { SETTINGS } from './settings.ts';

/** A warning of this, where the list is enabled. */
export function tcpIpWarnings({ tcpIpEnabled, sources }: Config): string[] {
  if (!tcpIpEnabled) return [];
  const source = sources.get(placeOf(SETTINGS.tcpIpEnabled, ''));
  return [
    `${source?.name}: join.tcp-ip joins nothing: its list of members is only kept and returned, ` +
      'members do not find one another by it',
  ];
}
