/**
 * The effective configuration: each setting with its value and the source of the value. Assignments
 * are in order of increasing precedence: the last one of a setting is used. Every assignment is
 * checked, even if a later one overrides it.
 */

import type { MachineMemory } from '../base/machine-memory.ts';
import { type Finding, finding, lineOf } from './finding.ts';
import { FINDINGS_MAX, pathText, quoted } from './finding-list.ts';
import { MEMORY_KEYS, type MemoryKey, memoryDefaults } from './memory-defaults.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import { NO_SECURITY, type SecurityConfig } from './security.ts';
import { SECURITY_PATHS } from './security-paths.ts';
import {
  type AnySetting,
  isHidden,
  isNamed,
  MASK,
  type NamedSetting,
  notExpected,
  type Setting,
} from './setting.ts';
import { pathOf, rowOf, SETTING_KEYS, type SettingKey, type Settings } from './settings.ts';
import { DEFAULT, type Source } from './source.ts';

import { NO_WAN, type WanConfig } from './wan-config.ts';

/** A value that a source sets. */
export interface Assignment {
  readonly key: SettingKey;
  /** The free name, for settings that have one. */
  readonly name?: string;
  readonly text: string;
  readonly source: Source;
  /** Steps of the path that was set, if the source's name does not show it. */
  readonly path?: readonly string[];
  /** The user's whole text, if `text` is a part of it. */
  readonly seen?: string;
  /** Whether the items of the list are appended to those before. */
  readonly isAddition?: true;
  /** The texts that the source accepts, if they differ from the setting's. */
  readonly expects?: string;
}

/** The value of a row; for a row with free names, a value for each name. */
type ValueOf<Row> =
  Row extends NamedSetting<infer Name, infer Value>
    ? ReadonlyMap<Name, Value>
    : Row extends Setting<infer Value>
      ? Value
      : never;

type Values = { readonly [Key in SettingKey]: ValueOf<Settings[Key]> };

/**
 * Values by setting. If `instanceName` is undefined, the member is named `gridnode-` and the bound
 * port. If `pathSegment` is undefined, the dialect's segment is used. In `queueMaxSizes` 0 means no
 * limit.
 */
export interface Config extends Values, WanConfig {
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

/** A finding about a value that is not of its setting's type or is out of range. */
interface ValueFault extends Finding {
  readonly isOutOfRange: boolean;
}

/** A map or queue that a file names, and its settings, which are 0 unless they are assigned. */
export interface Block {
  readonly name: string;
  readonly keys: readonly SettingKey[];
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
  const values: Record<string, unknown> = {};
  const sources = new Map<string, Source>();
  const faults: ValueFault[] = [];
  let faultCount = 0;
  for (const key of SETTING_KEYS) {
    const row = rowOf(key);
    values[key] = isNamed(row) ? new Map(row.fallback) : row.fallback;
    const names = isNamed(row) ? row.fallback.keys() : [''];
    for (const name of names) sources.set(pathOf(key, name), DEFAULT);
  }
  for (const { name, keys } of blocks) {
    for (const key of keys) (values[key] as Map<string, unknown>).set(name, 0);
  }
  for (const assignment of assignments) {
    const row = rowOf(assignment.key);
    const name = isNamed(row) ? row.parseName(assignment.name ?? '') : '';
    const parsed = name === undefined ? ({ fault: 'range' } as const) : row.parse(assignment.text);
    if (name === undefined || 'fault' in parsed) {
      faultCount += 1;
      if (faultCount > FINDINGS_MAX) continue;
      const isOutOfRange = 'fault' in parsed && parsed.fault === 'range';
      const isNoName = name === undefined && isNamed(row);
      const hint = isNoName ? nameHint(assignment, row) : '';
      const message = wrongValue(assignment, row) + hint;
      const place = assignment.path === undefined ? '' : assignment.source.name;
      faults.push({ ...finding('error', message, place), isOutOfRange });
      continue;
    }
    if (isNamed(row)) (values[assignment.key] as Map<string, unknown>).set(name, parsed.value);
    else if (assignment.isAddition === undefined) values[assignment.key] = parsed.value;
    else {
      const before = values[assignment.key] as readonly unknown[];
      values[assignment.key] = [...before, ...(parsed.value as readonly unknown[])];
    }
    sources.set(pathOf(assignment.key, name), assignment.source);
  }
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
  const isDefault = (key: MemoryKey): boolean => sources.get(pathOf(key)) === DEFAULT;
  const open = MEMORY_KEYS.filter(isDefault);
  const specified = MEMORY_KEYS.filter((key) => !open.includes(key)).map((key) => [
    key,
    values[key],
  ]);
  const defaults = memoryDefaults(Object.fromEntries(specified), memory, hasWan);
  for (const key of open) {
    const { value, from } = defaults[key];
    values[key] = value;
    if (from !== '') sources.set(pathOf(key), { ...DEFAULT, from });
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
  const isBodySet = configSourceOf(config, 'bodyBytesMax').kind !== 'default';
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

/** Returns a fault if the data would be stored twice: by servers and on the disk of the member. */
function engineFaults(config: Config): ValueFault[] {
  if (config.engineUrl === undefined || !config.persistenceEnabled) return [];
  return cannotUse(
    config,
    'engineUrl',
    `it cannot be combined with ${settingText(config, 'persistenceEnabled')}`,
  );
}

/** Returns a fault if a setting is set without another one that it needs. */
function missingCompanion(config: Config, key: SettingKey, other: SettingKey): ValueFault[] {
  if (config[key] === undefined || config[other] !== undefined) return [];
  const { kind, name } = configSourceOf(config, key);
  const missing = kind === 'flag' ? flagLike(name, rowOf(other)) : pathOf(other);
  return cannotUse(config, key, `${missing} is not given`);
}

/** Returns the fault of a value that is valid by itself. */
function cannotUse(
  config: Config,
  key: SettingKey,
  reason: string,
  isOutOfRange = false,
): ValueFault[] {
  const { kind, name } = configSourceOf(config, key);
  const [place, subject] = kind === 'file' ? [name, ''] : ['', name];
  const message = `Cannot use ${subject || pathOf(key)} "${config[key]}": ${reason}`;
  return [{ ...finding('error', message, place), isOutOfRange }];
}

/** Returns the name, source and value of another setting, for a message. */
function settingText(config: Config, key: SettingKey): string {
  const { kind, name } = configSourceOf(config, key);
  const place = pathOf(key);
  const subject = kind === 'file' ? `${place} at ${name}` : name || place;
  return `${subject}, which is ${config[key]}`;
}

/** Returns the source of a setting without free names. */
export function configSourceOf({ sources }: Pick<Config, 'sources'>, key: SettingKey): Source {
  return sources.get(pathOf(key)) ?? DEFAULT;
}

/**
 * Returns the row's flag in the form of the other one: programs pass options, whose names differ
 * from flags.
 */
function flagLike(specified: string, { flags }: AnySetting): string {
  const flag = flags[0]?.name ?? '';
  return specified.startsWith('--') ? flag : optionName(flag);
}

/** Returns the name of a flag as an option of a program: `--tls-key` is `tlsKey`. */
export function optionName(flag: string): string {
  return flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function wrongValue({ source, path, seen, text, expects }: Assignment, row: AnySetting): string {
  const subject = path && pathText(path);
  const whole = seen ?? text;
  const shown = isHidden(row, whole) ? MASK : quoted(whole);
  const reason = notExpected(expects === undefined ? row : { ...row, expects }, whole);
  return `Cannot use ${subject ?? source.name} ${shown}: ${reason}`;
}

/** Returns a hint with the nearest known name, as it is written in a file. */
function nameHint({ name = '' }: Assignment, row: NamedSetting<string, unknown>): string {
  return hintOf(nearestNames(name, row.fallback.keys()));
}
