/**
 * Warnings about settings that are valid but probably not intended: endpoint groups that change
 * data or state without credentials, permissions that are never checked, and settings without
 * effect. lost-settings.ts has those of the original that ask for functions this member lacks.
 * Tested by load.spec.ts.
 */
import { parseEngineUrl } from '../base/engine-url.ts';
import { isLoopback } from '../base/server-address.ts';
import type { EndpointGroup } from '../config/endpoint-group.ts';
import { type Finding, finding } from '../config/finding.ts';
import { pathOf } from '../config/setting.ts';
import { sourceOf } from '../config/setting-table.ts';
import { SECURITY_PATHS } from '../security/security-settings.ts';
import type { Config } from './config.ts';
import { SETTINGS, type SettingKey } from './settings.ts';

export function configWarnings(config: Config): Finding[] {
  return [...exposureWarnings(config), ...permissionWarnings(config), ...engineWarnings(config)];
}

function exposureWarnings(config: Config): Finding[] {
  const isHostSet = sourceOf(config, SETTINGS.host).kind !== 'default';
  const isInside =
    config.interfacesEnabled && !isHostSet
      ? config.interfaces.every(isLoopback)
      : isLoopback(config.host);
  const isCovered = (group: EndpointGroup) =>
    group === 'DATA' ? config.authentication !== 'none' : config.security.isEnabled;
  const groups = [...config.endpointGroups]
    .filter(([group, isEnabled]) => isEnabled && !HARMLESS.has(group) && !isCovered(group))
    .map(([group]) => group);
  if (!config.restEnabled || groups.length === 0) return [];
  const who = isInside ? 'used by any program on this machine' : 'reached from outside';
  const narrower = isInside
    ? ''
    : `network.interfaces or ${pathOf(SETTINGS.host)} narrows the address; `;
  const message =
    `Can be ${who} without credentials: ${groups.join(', ')}; ${narrower}` +
    `${SECURITY_PATHS.isEnabled} and ${pathOf(SETTINGS.authentication)} require a login`;
  return [finding('warning', message)];
}

function permissionWarnings({ security, authentication }: Config): Finding[] {
  if (security.permissions === undefined) return [];
  const missing = !security.isEnabled
    ? `${SECURITY_PATHS.isEnabled} is not true`
    : authentication === 'none' && `${pathOf(SETTINGS.authentication)} is "none"`;
  if (!missing) return [];
  return [finding('warning', `${SECURITY_PATHS.permissions} has no effect: ${missing}`)];
}

/** Warns about settings without effect, because servers store the data, or because none do. */
function engineWarnings(config: Config): Finding[] {
  const { engineUrl } = config;
  const engine = pathOf(SETTINGS.engineUrl);
  if (engineUrl === undefined) {
    return withoutEffect(config, OF_SERVERS, `${engine} is not set`);
  }
  const { isTls } = parseEngineUrl(engineUrl);
  return [
    ...withoutEffect(config, OF_OWN_DATA, `servers store the data (${engine})`),
    ...(isTls ? [] : withoutEffect(config, OF_TLS, `${engine} is not rediss://`)),
  ];
}

function withoutEffect(config: Config, keys: readonly SettingKey[], why: string): Finding[] {
  return keys
    .map((key) => ({ key, source: sourceOf(config, SETTINGS[key]) }))
    .filter(({ source }) => source.kind !== 'default')
    .map(({ key, source }) =>
      finding('warning', `${pathOf(SETTINGS[key])} has no effect: ${why}`, source.name),
    );
}

const OF_TLS = ['engineTlsCa', 'engineTlsCertificate', 'engineTlsKey'] as const;
const OF_SERVERS = [
  'engineUser',
  'enginePassword',
  'engineDeadlineMillis',
  'engineNoHeartbeatSeconds',
  'engineAllowEviction',
  ...OF_TLS,
] as const;
const OF_OWN_DATA = ['maxMemory', 'metricsNamesMax', 'wanQueueBytesMax'] as const;
const HARMLESS: ReadonlySet<string> = new Set(['CLUSTER_READ', 'HEALTH_CHECK']);
