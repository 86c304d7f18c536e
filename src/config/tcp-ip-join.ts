/**
 * `join.tcp-ip`: a list of members that requests read and change (`config/tcp-ip/member-list`). No
 * member finds another by it.
 */
import { type Config, configSourceOf } from './config.ts';

/** A warning of this, where the list is enabled. */
export function tcpIpWarnings(config: Config): string[] {
  if (!config.tcpIpEnabled) return [];
  const { name } = configSourceOf(config, 'tcpIpEnabled');
  return [
    `${name}: join.tcp-ip joins nothing: its list of members is only kept and returned, ` +
      'members do not find one another by it',
  ];
}
