/**
 * Warns of what strangers could reach: groups that change something, without credentials, and
 * permissions that nobody is asked for.
 */
import { isLoopback } from '../base/loopback.ts';
import type { Config } from './config.ts';
import type { EndpointGroup } from './endpoint-group.ts';

export function exposureWarnings(config: Config): string[] {
  const isHostGiven = config.sources.get('--host')?.kind !== 'default';
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
      'network.interfaces or --host narrows the address; security.enabled and ' +
      'network.rest-api.authentication ask who it is',
  ];
}

export function permissionWarnings({ security, authentication }: Config): string[] {
  if (security.permissions === undefined) return [];
  const missing = !security.isEnabled
    ? 'security.enabled is not true'
    : authentication === 'none' && 'network.rest-api.authentication is none';
  return missing ? [`security.client-permissions restricts nobody: ${missing}`] : [];
}

const HARMLESS: ReadonlySet<string> = new Set(['CLUSTER_READ', 'HEALTH_CHECK']);
