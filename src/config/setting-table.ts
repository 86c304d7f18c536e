/**
 * The table of the settings: the rows of all parts of a member, in the order of help and
 * documentation. The readers of files, variables and flags get it as an argument and know no row
 * themselves. Tested by member/config.spec.ts.
 */
import assert from 'node:assert';
import type { SectionRows } from './section-reading.ts';
import { type AnySetting, pathOf } from './setting.ts';
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

/** Whether the last step, and no other one, is a free name of a property. */
export function isProperty(pattern: string): boolean {
  const isLast = pattern.indexOf('{name}') === pattern.length - '{name}'.length;
  return isLast && pattern.endsWith('properties.{name}');
}
