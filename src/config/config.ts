/**
 * The effective configuration: each setting with its value and the value's source. Assignments come in
 * the order of rising weight: the last one of a setting counts. Every assignment is checked, also one
 * that a later one outweighs.
 */

import type { MachineMemory } from '../base/machine-memory.ts';
import { type Finding, finding, lineOf } from './finding.ts';
import { FINDINGS_MAX, quoted } from './finding-list.ts';
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
  type Setting,
} from './setting.ts';
import { pathOf, rowOf, SETTING_KEYS, type SettingKey, type Settings } from './settings.ts';
import { DEFAULT, type Source } from './source.ts';
import { pathText } from './statements.ts';
import { NO_WAN, type WanConfig } from './wan-config.ts';

/** The value that a source gives a setting. */
export interface Assignment {
  readonly key: SettingKey;
  /** The free name, for settings that have one. */
  readonly name?: string;
  readonly text: string;
  readonly source: Source;
  /** Steps of the path that was set, where the source's name does not show it. */
  readonly path?: readonly string[];
  /** The user's whole text, where `text` is a part of it. */
  readonly seen?: string;
  /** Whether the items of the list are added to those before. */
  readonly isAddition?: true;
  /** The texts that the source takes, where these differ from those of the setting. */
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
 * Value by setting. `instanceName` is undefined where none is configured: the member is then named
 * `gridnode-` and the bound port. `pathSegment` is undefined where none is configured: the dialect's
 * segment is then used. In `queueMaxSizes` 0 is no limit.
 */
export interface Config extends Values, WanConfig {
  /** By path, with free names filled in; by flag for a setting without a path. */
  readonly sources: ReadonlyMap<string, Source>;
  readonly security: SecurityConfig;
}

/**
 * Throws TypeError for a value that is not of its setting's type and RangeError for one out of range.
 * The message names the source and the value seen.
 */
export function resolveConfig(assignments: readonly Assignment[], memory?: MachineMemory): Config {
  const { config, faults } = weighConfig(assignments, NO_SECURITY, memory);
  const [fault] = faults;
  if (fault === undefined) return config;
  throw new (fault.isOutOfRange ? RangeError : TypeError)(lineOf(fault));
}

/** A finding about a value, which is not of its setting's type or is out of range. */
interface ValueFault extends Finding {
  readonly isOutOfRange: boolean;
}

/** A map or queue that a file names: its name, and its settings, which are 0 unless they are assigned. */
export interface Block {
  readonly name: string;
  readonly keys: readonly SettingKey[];
}

/** The configuration, and every fault of the assignments that it was made of. */
export function weighConfig(
  assignments: readonly Assignment[],
  security: SecurityConfig = NO_SECURITY,
  memory?: MachineMemory,
  blocks: readonly Block[] = [],
  hasPublishers = false,
): {
  readonly config: Config;
  /** At most FINDINGS_MAX, the first ones. */
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

/** Settings that no source gives get their defaults from the memory of the machine or container. */
function setMemoryDefaults(
  values: Record<string, unknown>,
  sources: Map<string, Source>,
  memory: MachineMemory | undefined,
  hasWan: boolean,
): void {
  const isDefault = (key: MemoryKey): boolean => sources.get(pathOf(key)) === DEFAULT;
  const open = MEMORY_KEYS.filter(isDefault);
  const given = MEMORY_KEYS.filter((key) => !open.includes(key)).map((key) => [key, values[key]]);
  const defaults = memoryDefaults(Object.fromEntries(given), memory, hasWan);
  for (const key of open) {
    const { value, from } = defaults[key];
    values[key] = value;
    if (from !== '') sources.set(pathOf(key), { ...DEFAULT, from });
  }
}

function contradictions(config: Config): ValueFault[] {
  return [
    ...lonely(config, 'tlsCertificate', 'tlsKey'),
    ...lonely(config, 'tlsKey', 'tlsCertificate'),
    ...(config.tlsKeyStore === undefined ? lonely(config, 'tlsClientCa', 'tlsCertificate') : []),
    ...lonely(config, 'engineTlsCertificate', 'engineTlsKey'),
    ...lonely(config, 'engineTlsKey', 'engineTlsCertificate'),
    ...authenticationFaults(config),
    ...bodyFaults(config),
    ...engineFaults(config),
  ];
}

/** A body limit above the limit of all bytes in flight. The message names first the one that was set. */
function bodyFaults(config: Config): ValueFault[] {
  const { bodyBytesMax, inFlightBytesMax } = config;
  if (bodyBytesMax <= inFlightBytesMax) return [];
  const isBodySaid = configSourceOf(config, 'bodyBytesMax').kind !== 'default';
  return isBodySaid
    ? cannotUse(config, 'bodyBytesMax', `more than ${said(config, 'inFlightBytesMax')}`, true)
    : cannotUse(config, 'inFlightBytesMax', `less than ${said(config, 'bodyBytesMax')}`, true);
}

/** Logins are required, and no user exists. */
function authenticationFaults(config: Config): ValueFault[] {
  if (config.authentication === 'none' || config.security.isEnabled) return [];
  return cannotUse(config, 'authentication', `${SECURITY_PATHS.isEnabled} is not true`);
}

/** The data would be kept twice: by servers and on the member's own disk. */
function engineFaults(config: Config): ValueFault[] {
  if (config.engineUrl === undefined || !config.persistenceEnabled) return [];
  return cannotUse(config, 'engineUrl', `beside ${said(config, 'persistenceEnabled')}`);
}

/** A setting that has no effect without another one, which is missing. */
function lonely(config: Config, key: SettingKey, other: SettingKey): ValueFault[] {
  if (config[key] === undefined || config[other] !== undefined) return [];
  const { kind, name } = configSourceOf(config, key);
  const missing = kind === 'flag' ? flagLike(name, rowOf(other)) : pathOf(other);
  return cannotUse(config, key, `${missing} is not given`);
}

/** The fault of a value that is valid by itself. */
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

/** The other value of such a message, with its source, if it has one. */
function said(config: Config, key: SettingKey): string {
  const { kind, name } = configSourceOf(config, key);
  const place = pathOf(key);
  const subject = kind === 'file' ? `${place} at ${name}` : name || place;
  return `${subject}, which is ${config[key]}`;
}

/** The source of a setting without free names. */
export function configSourceOf({ sources }: Pick<Config, 'sources'>, key: SettingKey): Source {
  return sources.get(pathOf(key)) ?? DEFAULT;
}

/** The row's flag in the form of the given one: the options of a program have other names than flags. */
function flagLike(given: string, { flags }: AnySetting): string {
  const flag = flags[0]?.name ?? '';
  return given.startsWith('--') ? flag : optionName(flag);
}

/** The name of a flag as an option of a program: `--tls-key` is `tlsKey`. */
export function optionName(flag: string): string {
  return flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function wrongValue({ source, path, seen, text, expects }: Assignment, row: AnySetting): string {
  const subject = path && pathText(path);
  const shown = isHidden(row, seen ?? text) ? MASK : quoted(seen ?? text);
  const advice = row.advice?.(seen ?? text);
  const more = advice === undefined ? '' : `; ${advice}`;
  return `Cannot use ${subject ?? source.name} ${shown}: not ${expects ?? row.expects}${more}`;
}

/** The nearest known name, as a file has it. */
function nameHint({ name = '' }: Assignment, row: NamedSetting<string, unknown>): string {
  return hintOf(nearestNames(name, row.fallback.keys()));
}
