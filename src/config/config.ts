/**
 * The effective configuration: each setting with its value and the value's source. Assignments come in
 * the order of rising weight: the last one of a setting counts. Every assignment is checked, also one
 * that a later one outweighs.
 */

import type { MachineMemory } from '../base/machine-memory.ts';
import { MEMORY_KEYS, type MemoryKey, memoryDefaults } from './memory-defaults.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import { PROBLEMS_MAX, quoted } from './problems.ts';
import { NO_SECURITY, type SecurityConfig } from './security.ts';
import { SECURITY_PATHS } from './security-paths.ts';
import { type AnySetting, isNamed, type NamedSetting, type Setting } from './setting.ts';
import { pathOf, rowOf, SETTING_KEYS, type SettingKey, type Settings } from './settings.ts';

/** The origin of a value, in the user's own words. */
export interface Source {
  readonly kind: 'default' | 'file' | 'environment' | 'flag';
  /** `--port`, `conf.yaml:3:7`, `GRID_CLUSTERNAME`; empty for a default. */
  readonly name: string;
  /** What a default was calculated from: `70 % of 256 MiB, container`. */
  readonly from?: string;
}

/** The value that a source gives a setting. */
export interface Assignment {
  readonly key: SettingKey;
  /** The free name, for settings that have one. */
  readonly name?: string;
  readonly text: string;
  readonly source: Source;
  /** The path that was set, where the source's name does not show it. */
  readonly subject?: string;
  /** The user's whole text, where `text` is a part of it. */
  readonly seen?: string;
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
export interface Config extends Values {
  /** By path, with free names filled in; by flag for a setting without a path. */
  readonly sources: ReadonlyMap<string, Source>;
  readonly security: SecurityConfig;
}

const DEFAULT: Source = { kind: 'default', name: '' };

/**
 * Throws TypeError for a value that is not of its setting's type and RangeError for one out of range.
 * The message names the source and the value seen.
 */
export function resolveConfig(assignments: readonly Assignment[], memory?: MachineMemory): Config {
  const { config, faults } = weighConfig(assignments, NO_SECURITY, memory);
  for (const fault of faults) throw fault;
  return config;
}

/** The configuration, and every fault of the assignments that it was made of. */
export function weighConfig(
  assignments: readonly Assignment[],
  security: SecurityConfig = NO_SECURITY,
  memory?: MachineMemory,
): {
  readonly config: Config;
  /** At most PROBLEMS_MAX, the first ones. */
  readonly faults: readonly Error[];
  readonly faultCount: number;
} {
  const values: Record<string, unknown> = {};
  const sources = new Map<string, Source>();
  const faults: Error[] = [];
  let faultCount = 0;
  for (const key of SETTING_KEYS) {
    const row = rowOf(key);
    values[key] = isNamed(row) ? new Map(row.fallback) : row.fallback;
    const names = isNamed(row) ? row.fallback.keys() : [''];
    for (const name of names) sources.set(pathOf(key, name), DEFAULT);
  }
  for (const assignment of assignments) {
    const row = rowOf(assignment.key);
    const name = isNamed(row) ? row.parseName(assignment.name ?? '') : '';
    const parsed = name === undefined ? ({ fault: 'range' } as const) : row.parse(assignment.text);
    if (name === undefined || 'fault' in parsed) {
      faultCount += 1;
      if (faultCount > PROBLEMS_MAX) continue;
      const isOutOfRange = 'fault' in parsed && parsed.fault === 'range';
      const said = refusal(assignment, row.expects, row.isSecret === true);
      const isNoName = name === undefined && isNamed(row);
      const message = isNoName ? said + nameHint(assignment, row) : said;
      faults.push(isOutOfRange ? new RangeError(message) : new TypeError(message));
      continue;
    }
    if (isNamed(row)) (values[assignment.key] as Map<string, unknown>).set(name, parsed.value);
    else values[assignment.key] = parsed.value;
    sources.set(pathOf(assignment.key, name), assignment.source);
  }
  setMemoryDefaults(values, sources, memory);
  const config = { ...values, sources, security } as unknown as Config;
  if (faultCount > 0) return { config, faults, faultCount };
  const contrary = contradictions(config);
  return { config, faults: contrary, faultCount: contrary.length };
}

/** Settings that no source gives get their defaults from the memory of the machine or container. */
function setMemoryDefaults(
  values: Record<string, unknown>,
  sources: Map<string, Source>,
  memory: MachineMemory | undefined,
): void {
  const isDefault = (key: MemoryKey): boolean => sources.get(pathOf(key)) === DEFAULT;
  const open = MEMORY_KEYS.filter(isDefault);
  const given = MEMORY_KEYS.filter((key) => !open.includes(key)).map((key) => [key, values[key]]);
  const defaults = memoryDefaults(Object.fromEntries(given), memory);
  for (const key of open) {
    const { value, from } = defaults[key];
    values[key] = value;
    if (from !== '') sources.set(pathOf(key), { ...DEFAULT, from });
  }
}

function contradictions(config: Config): Error[] {
  return [
    ...lonely(config, 'tlsCertificate', 'tlsKey'),
    ...lonely(config, 'tlsKey', 'tlsCertificate'),
    ...(config.tlsKeyStore === undefined ? lonely(config, 'tlsClientCa', 'tlsCertificate') : []),
    ...authenticationFaults(config),
    ...bodyFaults(config),
  ];
}

/** A body limit above the limit of all bytes in flight. The message names first the one that was set. */
function bodyFaults(config: Config): Error[] {
  const { bodyBytesMax, inFlightBytesMax } = config;
  if (bodyBytesMax <= inFlightBytesMax) return [];
  const isBodySaid = configSourceOf(config, 'bodyBytesMax').kind !== 'default';
  const message = isBodySaid
    ? `${cannotUse(config, 'bodyBytesMax')}: more than ${said(config, 'inFlightBytesMax')}`
    : `${cannotUse(config, 'inFlightBytesMax')}: less than ${said(config, 'bodyBytesMax')}`;
  return [new RangeError(message)];
}

/** Logins are required, and no user exists. */
function authenticationFaults(config: Config): Error[] {
  if (config.authentication === 'none' || config.security.isEnabled) return [];
  return [
    new TypeError(
      `${cannotUse(config, 'authentication')}: ${SECURITY_PATHS.isEnabled} is not true`,
    ),
  ];
}

/** A setting that has no effect without another one, which is missing. */
function lonely(config: Config, key: SettingKey, other: SettingKey): Error[] {
  if (config[key] === undefined || config[other] !== undefined) return [];
  const { kind, name } = configSourceOf(config, key);
  const missing = kind === 'flag' ? flagLike(name, rowOf(other)) : pathOf(other);
  return [new TypeError(`${cannotUse(config, key)}: ${missing} is not given`)];
}

/** The beginning of a message about a value that is valid by itself. */
function cannotUse(config: Config, key: SettingKey): string {
  const { kind, name } = configSourceOf(config, key);
  const place = pathOf(key);
  const subject = kind === 'file' ? `${name}: Cannot use ${place}` : `Cannot use ${name || place}`;
  return `${subject} "${config[key]}"`;
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

function refusal(assignment: Assignment, expects: string, isSecret: boolean): string {
  const { source, subject } = assignment;
  const seen = isSecret ? MASK : quoted(assignment.seen ?? assignment.text);
  const wanted = assignment.expects ?? expects;
  if (subject === undefined) return `Cannot use ${source.name} ${seen}: not ${wanted}`;
  return `${source.name}: Cannot use ${subject} ${seen}: not ${wanted}`;
}

/** The nearest known name, as a file has it. */
function nameHint({ name = '' }: Assignment, row: NamedSetting<string, unknown>): string {
  return hintOf(nearestNames(name, row.fallback.keys()));
}

/** Shown in the place of a secret. */
export const MASK = '****';
