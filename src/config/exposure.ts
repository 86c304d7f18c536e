/**
 * Warnings of settings that leave the member open: groups that change data or state and can be reached
 * from outside without credentials, and permissions that are never checked.
 */
import { isLoopback } from '../base/loopback.ts';
import { type Config, configSourceOf } from './config.ts';
import type { EndpointGroup } from './endpoint-group.ts';
import { SECURITY_PATHS } from './security-paths.ts';
import { pathOf } from './settings.ts';

export function exposureWarnings(config: Config): string[] {
  const isHostGiven = configSourceOf(config, 'host').kind !== 'default';
  const isInside =
    config.interfacesEnabled && !isHostGiven
      ? config.interfaces.every(isLoopback)
      : isLoopback(config.host);
  const isCovered = (group: EndpointGroup) =>
    group === 'DATA' ? config.authentication !== 'none' : config.security.isEnabled;
  const groups = [...config.endpointGroups]
    .filter(([group, isEnabled]) => isEnabled && !HARMLESS.has(group) && !isCovered(group))
    .map(([group]) => group);
  if (isInside || !config.restEnabled || groups.length === 0) return [];
  return [
    `Can be reached from outside without credentials: ${groups.join(', ')}; ` +
      `network.interfaces or ${pathOf('host')} narrows the address; ${SECURITY_PATHS.isEnabled} and ` +
      `${pathOf('authentication')} require a login`,
  ];
}

export function permissionWarnings({ security, authentication }: Config): string[] {
  if (security.permissions === undefined) return [];
  const missing = !security.isEnabled
    ? `${SECURITY_PATHS.isEnabled} is not true`
    : authentication === 'none' && `${pathOf('authentication')} is none`;
  return missing ? [`${SECURITY_PATHS.permissions} has no effect: ${missing}`] : [];
}

const HARMLESS: ReadonlySet<string> = new Set(['CLUSTER_READ', 'HEALTH_CHECK']);
