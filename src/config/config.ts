/**
 * The effective configuration: for each setting its value and where that came from. Sources speak in
 * the order of rising weight, each as a list of assignments; the last word on a setting counts.
 * Every assignment is checked, also one that a later one outweighs.
 */
import type { NamedSetting, Setting } from './setting.ts';
import { SETTINGS, type SettingKey, type Settings } from './settings.ts';

/** Where a value came from, in the user's own words. */
export interface Source {
  readonly kind: 'default' | 'flag';
  /** `--port`; empty for a default. */
  readonly name: string;
}

/** What a source says about a setting. */
export interface Assignment {
  readonly key: SettingKey;
  /** For settings with free names: which one. */
  readonly name?: string;
  readonly text: string;
  readonly source: Source;
  /** The user's text, where it is more than `text`. */
  readonly seen?: string;
  /** What the source takes, where that is not what the setting takes. */
  readonly expects?: string;
}

/** The value of a row: one, or with free names one for each name. */
type ValueOf<Row> =
  Row extends NamedSetting<infer Name, infer Value>
    ? ReadonlyMap<Name, Value>
    : Row extends Setting<infer Value>
      ? Value
      : never;

type Values = { readonly [Key in SettingKey]: ValueOf<Settings[Key]> };

/**
 * Value by setting. `instanceName` is undefined when nobody named the member: then it is
 * `gridnode-` and the port that was bound. In `queueMaxSizes` 0 is no limit.
 */
export interface Config extends Values {
  /** By path, with free names filled in; by flag for a setting without a path. */
  readonly sources: ReadonlyMap<string, Source>;
}

const DEFAULT: Source = { kind: 'default', name: '' };

/**
 * Throws TypeError for a value not of its setting's type and RangeError for one out of range; the
 * message names the source and the value seen.
 */
export function resolveConfig(assignments: readonly Assignment[]): Config {
  const values: Record<string, unknown> = {};
  const sources = new Map<string, Source>();
  for (const key of Object.keys(SETTINGS) as SettingKey[]) {
    const row = rowOf(key);
    values[key] = isNamed(row) ? new Map(row.fallback) : row.fallback;
    const names = isNamed(row) ? row.fallback.keys() : [''];
    for (const name of names) sources.set(placeOf(row, name), DEFAULT);
  }
  for (const assignment of assignments) {
    const row = rowOf(assignment.key);
    const name = isNamed(row) ? row.parseName(assignment.name ?? '') : '';
    if (name === undefined) throw new RangeError(refusal(assignment, row.expects));
    const parsed = row.parse(assignment.text);
    if ('fault' in parsed) {
      const message = refusal(assignment, row.expects);
      throw parsed.fault === 'type' ? new TypeError(message) : new RangeError(message);
    }
    if (isNamed(row)) (values[assignment.key] as Map<string, unknown>).set(name, parsed.value);
    else values[assignment.key] = parsed.value;
    sources.set(placeOf(row, name), assignment.source);
  }
  const config = { ...values, sources } as unknown as Config;
  refuseContradictions(config);
  return config;
}

function refuseContradictions(config: Config): void {
  refuseLonely(config, 'tlsCertificate', 'tlsKey');
  refuseLonely(config, 'tlsKey', 'tlsCertificate');
  refuseLonely(config, 'tlsClientCa', 'tlsCertificate');
  const { bodyBytesMax, inFlightBytesMax, sources } = config;
  if (bodyBytesMax > inFlightBytesMax) {
    const said = ({ path = '' }: Row): string => sources.get(path)?.name || path;
    throw new RangeError(
      `Cannot use ${said(SETTINGS.bodyBytesMax)} "${bodyBytesMax}": more than ` +
        `${said(SETTINGS.inFlightBytesMax)}, which is ${inFlightBytesMax}`,
    );
  }
}

/** A setting that means nothing without another. */
function refuseLonely(config: Config, key: SettingKey, other: SettingKey): void {
  if (config[key] === undefined || config[other] !== undefined) return;
  const [place, missing] = [placeOf(rowOf(key), ''), placeOf(rowOf(other), '')];
  const source = config.sources.get(place)?.name || place;
  throw new TypeError(`Cannot use ${source} "${config[key]}": ${missing} is not given`);
}

type Row = Setting<unknown> | NamedSetting<string, unknown>;

function rowOf(key: SettingKey): Row {
  return SETTINGS[key];
}

function isNamed(row: Row): row is NamedSetting<string, unknown> {
  return 'parseName' in row;
}

function placeOf(row: Row, name: string): string {
  return row.path?.replace('{name}', () => name) ?? row.flags[0]?.name ?? '';
}

function refusal(assignment: Assignment, expects: string): string {
  const seen = assignment.seen ?? assignment.text;
  const wanted = assignment.expects ?? expects;
  return `Cannot use ${assignment.source.name} ${JSON.stringify(seen)}: not ${wanted}`;
}
