/**
 * The effective values: each setting with its value and the source of the value. Assignments are in
 * order of increasing precedence: the last one of a setting is used. Every assignment is checked,
 * even if a later one overrides it. Tested by member/config.spec.ts.
 */
import { type Finding, finding } from './finding.ts';
import { FINDINGS_MAX, pathText, quoted } from './finding-list.ts';
import { hintOf, nearestNames } from './nearest-name.ts';
import {
  type AnySetting,
  isHidden,
  isNamed,
  MASK,
  type NamedSetting,
  notExpected,
  pathOf,
} from './setting.ts';
import type { SettingTable } from './setting-table.ts';
import { DEFAULT, type Source } from './source.ts';

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

/** Returns a hint with the nearest known name, as it is written in a file. */
function nameHint({ name = '' }: Assignment, row: NamedSetting<string, unknown>): string {
  return hintOf(nearestNames(name, row.fallback.keys()));
}
