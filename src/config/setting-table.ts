/**
 * The table of the settings: the rows of all parts of a member, in the order of help and
 * documentation, with their flags. The readers of files and variables get it as an argument and
 * know no row themselves. Sources assign values to the settings in order of increasing precedence:
 * the last assignment of a setting is used. Every assignment is checked, even if a later one
 * overrides it. Tested by member/config.spec.ts.
 */
import assert from 'node:assert';
import { valueFault } from '../base/argument-faults.ts';
import { type Finding, finding } from './finding.ts';
import { FINDINGS_MAX, pathText, quoted } from './finding-list.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import type { SectionRows } from './section-reading.ts';
import {
  type AnySetting,
  type Flag,
  isHidden,
  isNamed,
  MASK,
  notExpected,
  pathOf,
} from './setting.ts';
import { DEFAULT, type Source } from './source.ts';
import { type Statement, textOfSteps } from './statements.ts';

export type SettingRows = Readonly<Record<string, AnySetting>>;

export class SettingTable {
  readonly keys: readonly string[];
  /** The rows of the table, and those of sections of which there are several. */
  readonly all: readonly AnySetting[];
  /** Patterns that have an effect in addition to the rows. */
  readonly patterns: readonly string[];
  /** The paths of all rows, in the form of document-schema.ts. */
  readonly ownPaths: readonly string[];
  readonly #rows: SettingRows;
  /** Settings by pattern; for a list also by that of its items, with `.[]`. */
  readonly #keys: ReadonlyMap<string, string>;
  /** Index of the step with the free name, by the pattern of a path or alias. */
  readonly #nameSteps: ReadonlyMap<string, number>;

  constructor(
    rows: SettingRows,
    sections: readonly SectionRows[] = [],
    patterns: readonly string[] = [],
  ) {
    this.#rows = rows;
    this.keys = Object.keys(rows);
    this.all = [rows, ...sections].flatMap((each) => Object.values<AnySetting>(each));
    this.patterns = patterns;
    this.ownPaths = this.all.flatMap(({ path, isList, isOwnList }) => {
      // Properties may have any name.
      if (path === undefined || path.includes('.properties.')) return [];
      return [...(isOwnList || !isList ? [path] : []), ...(isList ? [`${path}.[]`] : [])];
    });
    this.#keys = new Map(
      Object.entries(rows).flatMap(([key, row]) =>
        [pathOf(row), ...(row.aliases ?? [])].flatMap((path) => [
          [path, key] as const,
          [`${path}.[]`, key] as const,
        ]),
      ),
    );
    this.#nameSteps = new Map(
      [...this.#keys.keys()]
        .map((pattern) => [pattern, pattern.split('.').indexOf('{name}')] as const)
        .filter(([, step]) => step >= 0),
    );
  }

  rowOf(key: string): AnySetting {
    const row = this.#rows[key];
    assert(row !== undefined, 'a key of the table');
    return row;
  }

  /** Returns the path of a setting, or its flag: see pathOf in setting.ts. */
  pathOf(key: string, name?: string): string {
    return pathOf(this.rowOf(key), name);
  }

  /** Returns the setting that the statement sets, or undefined. */
  keyOf({ path, pattern }: Statement): string | undefined {
    const key = this.#keys.get(pattern);
    // A path with a free name can be a setting only as a property, by the property's name.
    return key ?? (isProperty(pattern) ? this.#keys.get(textOfSteps(path)) : undefined);
  }

  /** Whether it is the pattern of a setting with a free name. */
  hasName(pattern: string): boolean {
    return this.#nameSteps.has(pattern);
  }

  /** Returns the free name in the path of a statement that sets such a setting. */
  nameIn({ path, pattern }: Statement): string {
    return path[this.#nameSteps.get(pattern) ?? -1] ?? '';
  }
}

/** Returns the paths and aliases of the rows. */
export function patternsOf(rows: readonly AnySetting[]): string[] {
  return rows.flatMap(({ path, aliases = [] }) =>
    path === undefined ? aliases : [path, ...aliases],
  );
}

/** Whether the last step, and no other one, is a free name of a property. */
export function isProperty(pattern: string): boolean {
  const isLast = pattern.indexOf('{name}') === pattern.length - '{name}'.length;
  return isLast && pattern.endsWith('properties.{name}');
}

/** A value that a source sets. */
export interface Assignment<Key extends string = string> {
  /** Key of its setting. */
  readonly key: Key;
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

/** A finding about a value that is not of its setting's type or is out of range. */
export interface ValueFault extends Finding {
  readonly isOutOfRange: boolean;
}

/** A map or queue that a file names, and its settings, which are 0 unless they are assigned. */
export interface Block {
  readonly name: string;
  readonly keys: readonly string[];
}

/** The values by key, and their sources. */
interface Resolution {
  readonly values: Record<string, unknown>;
  /** Sources by path, with free names filled in; by flag for a setting without a path. */
  readonly sources: Map<string, Source>;
  /** The first FINDINGS_MAX faults. */
  readonly faults: readonly ValueFault[];
  readonly faultCount: number;
}

/** Returns the values, and every fault of the assignments. */
export function resolveValues(
  table: SettingTable,
  assignments: readonly Assignment[],
  blocks: readonly Block[],
): Resolution {
  const values: Record<string, unknown> = {};
  const sources = new Map<string, Source>();
  const faults: ValueFault[] = [];
  let faultCount = 0;
  for (const key of table.keys) {
    const row = table.rowOf(key);
    values[key] = isNamed(row) ? new Map(row.fallback) : row.fallback;
    const names = isNamed(row) ? row.fallback.keys() : [''];
    for (const name of names) sources.set(pathOf(row, name), DEFAULT);
  }
  for (const { name, keys } of blocks) {
    for (const key of keys) (values[key] as Map<string, unknown>).set(name, 0);
  }
  for (const assignment of assignments) {
    const row = table.rowOf(assignment.key);
    const name = isNamed(row) ? row.parseName(assignment.name ?? '') : '';
    const parsed = name === undefined ? ({ fault: 'range' } as const) : row.parse(assignment.text);
    if (name === undefined || 'fault' in parsed) {
      faultCount += 1;
      if (faultCount > FINDINGS_MAX) continue;
      const isOutOfRange = 'fault' in parsed && parsed.fault === 'range';
      const isNoName = name === undefined && isNamed(row);
      const known = isNoName ? row.fallback.keys() : [];
      const hint = hintOf(nearestNames(assignment.name ?? '', known));
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
    sources.set(pathOf(row, name), assignment.source);
  }
  return { values, sources, faults, faultCount };
}

/** A configuration with its sources. */
export interface Sourced {
  /** Sources by path, with free names filled in; by flag for a setting without a path. */
  readonly sources: ReadonlyMap<string, Source>;
}

/** Returns the source of a setting without free names. */
export function sourceOf({ sources }: Sourced, row: AnySetting): Source {
  return sources.get(pathOf(row)) ?? DEFAULT;
}

function wrongValue({ source, path, seen, text, expects }: Assignment, row: AnySetting): string {
  const subject = path && pathText(path);
  const whole = seen ?? text;
  const shown = isHidden(row, whole) ? MASK : quoted(whole);
  const reason = notExpected(expects === undefined ? row : { ...row, expects }, whole);
  return `Cannot use ${subject ?? source.name} ${shown}: ${reason}`;
}

export interface SettingFlag {
  readonly key: string;
  readonly row: AnySetting;
  readonly flag: Flag;
  /** Its meaning, with unit, range and default. */
  readonly help: string;
}

/** Returns every flag of a setting, in the order of the table. */
export function flagsOf(table: SettingTable): readonly SettingFlag[] {
  return table.keys.flatMap((key) => {
    const row = table.rowOf(key);
    return row.flags.map((flag) => ({ key, row, flag, help: helpOf(row, flag) }));
  });
}

/**
 * Returns the assignments of a flag with this text; several if the text stands for several names.
 * Throws TypeError if the text does not have the flag's form.
 */
export function assignmentsOf({ key, flag }: SettingFlag, text: string): readonly Assignment[] {
  const source = { kind: 'flag', name: flag.name } as const;
  const implied = Object.entries(flag.implies ?? {}).map(([implied, text]) => ({
    key: implied,
    text,
    source,
  }));
  const expects = flag.expects === undefined ? {} : { expects: flag.expects };
  if (flag.split === undefined) return [{ key, text, source, ...expects }, ...implied];
  const parts = flag.split(text);
  if (parts === undefined) {
    const wanted = flag.expects ?? flag.argument;
    throw valueFault(`Cannot use ${flag.name} ${JSON.stringify(text)}: not ${wanted}`);
  }
  const assignments = parts.map(([name, value]) => ({
    key,
    name,
    text: value,
    source,
    seen: text,
    ...expects,
  }));
  return [...assignments, ...implied];
}

/** Returns the name of a flag as an option of a program: `--tls-key` is `tlsKey`. */
export function optionName(flag: string): string {
  return flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function helpOf(row: AnySetting, flag: Flag): string {
  if (flag.about !== undefined) return flag.about;
  const unit = row.unit === undefined ? '' : `, in ${row.unit}`;
  const fallback = row.fallbackText ?? String(row.fallback);
  return `${row.about} (${row.expects}${unit}; default ${fallback})`;
}
