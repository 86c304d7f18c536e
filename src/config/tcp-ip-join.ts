/**
 * `join.tcp-ip`: a list of members that requests read and change (`config/tcp-ip/member-list`). No
 * member finds another by it.
 */
import { type Config, configSourceOf } from './config.ts';
import { type Finding, finding } from './finding.ts';

/** A warning of this, where the list is enabled. */
export function tcpIpWarnings(config: Config): Finding[] {
  if (!config.tcpIpEnabled) return [];
  const { name } = configSourceOf(config, 'tcpIpEnabled');
  const message =
    'join.tcp-ip joins nothing: its list of members is only kept and returned, members do not find ' +
    'one another by it';
  return [finding('warning', message, name)];
}
