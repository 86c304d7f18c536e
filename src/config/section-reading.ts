/**
 * Reads rows, the settings of a section of which there are several, such as a publisher or a map,
 * and collects the findings of the reader of such sections. Tested by wan/wan-reading.spec.ts.
 */
import { FindingList } from './finding-list.ts';
import { isSecretName } from './interpretation.ts';
import { RefusedList } from './refused-settings.ts';
import { isHidden, MASK, notExpected, type Setting } from './setting.ts';
import { DEFAULT, type Place, type Source, sourceAt } from './source.ts';
import { isOfType, type Statement } from './statements.ts';

/** A value outside the table of settings: of users, permissions, or WAN replication. */
export interface StructuredValue {
  /** Steps of its path; an item of a list is `[n]`. */
  readonly steps: readonly string[];
  /** Masked if it is secret. */
  readonly value: string | number | boolean;
  readonly source: Source;
}

export class SectionReading {
  /** The statements that have been used. */
  readonly used = new Set<Statement>();
  readonly problems = new FindingList();
  readonly refused = new RefusedList();
  /** The values to show. */
  readonly values: StructuredValue[] = [];
  readonly warnings = new FindingList('warning');

  /** Reads the rows that are set; an invalid value is a problem. */
  rows<Rows extends SectionRows>(
    rows: Rows,
    statements: ReadonlyMap<keyof Rows, Statement>,
  ): RowReading<Rows> {
    for (const statement of statements.values()) this.used.add(statement);
    return readRows(rows, statements, (key, statement) => {
      const row = rows[key] as Setting<unknown>;
      const { text } = statement;
      // A text of another type is a problem reported elsewhere.
      if (!isOfType(statement)) return;
      const seen = isHidden(row, text) ? MASK : undefined;
      this.problems.refuseText(statement, () => notExpected(row, text), seen);
    });
  }

  /** Shows the value of a row, set at the place or else by default. */
  show(steps: readonly string[], row: Setting<unknown>, value: unknown, at?: Place): void {
    const shown = row.isSecret ? MASK : (value as StructuredValue['value']);
    this.values.push({ steps, value: shown, source: at === undefined ? DEFAULT : sourceAt(at) });
  }

  /**
   * Shows the text of a statement that is neither used nor refused yet. `steps`: those of its path
   * in YAML.
   */
  showOnce(statement: Statement, steps = statement.path): void {
    if (this.used.has(statement)) return;
    this.used.add(statement);
    const { path, text, at } = statement;
    const value = isSecretName(path.at(-1)) ? MASK : text;
    this.values.push({ steps, value, source: sourceAt(at) });
  }

  refuse(statement: Statement, reason: string): void {
    this.used.add(statement);
    this.refused.add(statement, reason);
  }
}

/** The rows of a section, by key. */
export type SectionRows = Readonly<Record<string, Setting<unknown>>>;

export interface RowReading<Rows extends SectionRows> {
  /** The values that are set and valid. */
  readonly values: { readonly [Key in keyof Rows]?: Rows[Key]['fallback'] };
  /** The rows whose values are invalid. */
  readonly wrong: Set<keyof Rows>;
}

/** Reads the rows that are set, in their order. `complain` reports an invalid value. */
export function readRows<Rows extends SectionRows>(
  rows: Rows,
  statements: ReadonlyMap<keyof Rows, Statement>,
  complain: (key: keyof Rows, statement: Statement) => void,
): RowReading<Rows> {
  const values: Record<string, unknown> = {};
  const wrong = new Set<keyof Rows>();
  for (const [key, row] of Object.entries(rows)) {
    const statement = statements.get(key);
    if (statement === undefined) continue;
    const isRightType = isOfType(statement);
    if (row.isBlankMissing && isRightType && statement.text.trim() === '') continue;
    const parsed = isRightType ? row.parse(statement.text) : undefined;
    if (parsed !== undefined && 'value' in parsed) values[key] = parsed.value;
    else {
      wrong.add(key);
      complain(key, statement);
    }
  }
  return { values: values as RowReading<Rows>['values'], wrong };
}

/** Returns the values of the rows if none is set. */
export function defaultsOf<Rows extends SectionRows>(
  rows: Rows,
): { readonly [Key in keyof Rows]: Rows[Key]['fallback'] } {
  const all = Object.entries(rows).map(([key, { fallback }]) => [key, fallback]);
  return Object.fromEntries(all);
}
