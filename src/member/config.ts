/**
 * The effective configuration: the value of each setting, and the parts of it that are not rows of
 * the table. Checks settings that contradict one another. Tested by config.spec.ts.
 */
import type { MachineMemory } from '../base/machine-memory.ts';
import { finding, lineOf } from '../config/finding.ts';
import { type AnySetting, pathOf, type ValuesOf } from '../config/setting.ts';
import {
  type Assignment,
  type Block,
  optionName,
  resolveValues,
  sourceOf,
  type ValueFault,
} from '../config/setting-table.ts';
import { DEFAULT, type Source } from '../config/source.ts';
import { NO_SECURITY, type SecurityConfig } from '../security/security-config.ts';
import { SECURITY_PATHS } from '../security/security-settings.ts';
import { NO_WAN, type WanConfig } from '../wan/wan-config.ts';
import { MEMORY_KEYS, type MemoryKey, memoryDefaults } from './memory-defaults.ts';
import { SETTINGS, type SettingKey, TABLE } from './settings.ts';

/**
 * Values by setting. If `instanceName` is undefined, the member is named `gridnode-` and the bound
 * port. If `pathSegment` is undefined, the dialect's segment is used. In `queueMaxSizes` 0 means no
 * limit.
 */
export interface Config extends ValuesOf<typeof SETTINGS>, WanConfig {
  /** Sources by path, with free names filled in; by flag for a setting without a path. */
  readonly sources: ReadonlyMap<string, Source>;
  readonly security: SecurityConfig;
}

/**
 * Resolves the assignments. Throws TypeError for a value that is not of its setting's type and
 * RangeError for one out of range. The message names the source and the value.
 */
export function resolveConfig(assignments: readonly Assignment[], memory?: MachineMemory): Config {
  const { config, faults } = buildConfig(assignments, NO_SECURITY, memory);
  const [fault] = faults;
  if (fault === undefined) return config;
  throw new (fault.isOutOfRange ? RangeError : TypeError)(lineOf(fault));
}

/** Returns the configuration, and every fault of the assignments. */
export function buildConfig(
  assignments: readonly Assignment[],
  security: SecurityConfig = NO_SECURITY,
  memory?: MachineMemory,
  blocks: readonly Block[] = [],
  hasPublishers = false,
): {
  readonly config: Config;
  /** The first FINDINGS_MAX faults. */
  readonly faults: readonly ValueFault[];
  readonly faultCount: number;
} {
  const { values, sources, faults, faultCount } = resolveValues(TABLE, assignments, blocks);
  const groups = values.endpointGroups as Config['endpointGroups'];
  setMemoryDefaults(values, sources, memory, hasPublishers || groups.get('WAN') === true);
  const config = { ...values, ...NO_WAN, sources, security } as unknown as Config;
  if (faultCount > 0) return { config, faults, faultCount };
  const contrary = contradictions(config);
  return { config, faults: contrary, faultCount: contrary.length };
}

/** Sets the defaults that depend on the memory of the machine or container. */
function setMemoryDefaults(
  values: Record<string, unknown>,
  sources: Map<string, Source>,
  memory: MachineMemory | undefined,
  hasWan: boolean,
): void {
  const isDefault = (key: MemoryKey): boolean => sources.get(pathOf(SETTINGS[key])) === DEFAULT;
  const open = MEMORY_KEYS.filter(isDefault);
  const specified = MEMORY_KEYS.filter((key) => !open.includes(key)).map((key) => [
    key,
    values[key],
  ]);
  const defaults = memoryDefaults(Object.fromEntries(specified), memory, hasWan);
  for (const key of open) {
    const { value, from } = defaults[key];
    values[key] = value;
    if (from !== '') sources.set(pathOf(SETTINGS[key]), { ...DEFAULT, from });
  }
}

function contradictions(config: Config): ValueFault[] {
  return [
    ...missingCompanion(config, 'tlsCertificate', 'tlsKey'),
    ...missingCompanion(config, 'tlsKey', 'tlsCertificate'),
    ...(config.tlsKeyStore === undefined
      ? missingCompanion(config, 'tlsClientCa', 'tlsCertificate')
      : []),
    ...missingCompanion(config, 'engineTlsCertificate', 'engineTlsKey'),
    ...missingCompanion(config, 'engineTlsKey', 'engineTlsCertificate'),
    ...authenticationFaults(config),
    ...bodyFaults(config),
    ...engineFaults(config),
  ];
}

/**
 * Returns a fault if the body limit exceeds the limit of all bytes in flight. The message starts
 * with the setting that was set.
 */
function bodyFaults(config: Config): ValueFault[] {
  const { bodyBytesMax, inFlightBytesMax } = config;
  if (bodyBytesMax <= inFlightBytesMax) return [];
  const isBodySet = sourceOf(config, SETTINGS.bodyBytesMax).kind !== 'default';
  return isBodySet
    ? cannotUse(
        config,
        'bodyBytesMax',
        `more than ${settingText(config, 'inFlightBytesMax')}`,
        true,
      )
    : cannotUse(
        config,
        'inFlightBytesMax',
        `less than ${settingText(config, 'bodyBytesMax')}`,
        true,
      );
}

/** Returns a fault if logins are required but security, and with it every user, is off. */
function authenticationFaults(config: Config): ValueFault[] {
  if (config.authentication === 'none' || config.security.isEnabled) return [];
  return cannotUse(config, 'authentication', `${SECURITY_PATHS.isEnabled} is not true`);
}

/**
 * Returns a fault if the data would be stored twice, by servers and on the disk of the member, or if a
 * request could have a longer content type than a value on servers can have.
 */
function engineFaults(config: Config): ValueFault[] {
  if (config.engineUrl === undefined) return [];
  if (config.headerBytesMax > ENGINE_HEADER_BYTES_MAX) {
    const reason = `more than ${ENGINE_HEADER_BYTES_MAX} with an engine on servers`;
    return cannotUse(config, 'headerBytesMax', reason, true);
  }
  if (!config.persistenceEnabled) return [];
  return cannotUse(
    config,
    'engineUrl',
    `it cannot be combined with ${settingText(config, 'persistenceEnabled')}`,
  );
}

/** Maximum of `header-bytes-max` with an engine on servers: a content type has a length of 16 bits. */
const ENGINE_HEADER_BYTES_MAX = 65_536;

/** Returns a fault if a setting is set without another one that it needs. */
function missingCompanion(config: Config, key: SettingKey, other: SettingKey): ValueFault[] {
  if (config[key] === undefined || config[other] !== undefined) return [];
  const { kind, name } = sourceOf(config, SETTINGS[key]);
  const missing = kind === 'flag' ? flagLike(name, SETTINGS[other]) : pathOf(SETTINGS[other]);
  return cannotUse(config, key, `${missing} is not given`);
}

/** Returns the fault of a value that is valid by itself. */
function cannotUse(
  config: Config,
  key: SettingKey,
  reason: string,
  isOutOfRange = false,
): ValueFault[] {
  const { kind, name } = sourceOf(config, SETTINGS[key]);
  const [place, subject] = kind === 'file' ? [name, ''] : ['', name];
  const message = `Cannot use ${subject || pathOf(SETTINGS[key])} "${config[key]}": ${reason}`;
  return [{ ...finding('error', message, place), isOutOfRange }];
}

/** Returns the name, source and value of another setting, for a message. */
function settingText(config: Config, key: SettingKey): string {
  const { kind, name } = sourceOf(config, SETTINGS[key]);
  const place = pathOf(SETTINGS[key]);
  const subject = kind === 'file' ? `${place} at ${name}` : name || place;
  return `${subject}, which is ${config[key]}`;
}

/**
 * Returns the row's flag in the form of the other one: programs pass options, whose names differ
 * from flags.
 */
function flagLike(specified: string, { flags }: AnySetting): string {
  const flag = flags[0]?.name ?? '';
  return specified.startsWith('--') ? flag : optionName(flag);
}
