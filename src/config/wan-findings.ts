/** Input and findings of the readers of WAN replication in a file. Tested by wan.spec.ts. */
import { FindingList } from './finding-list.ts';
import { isSecretName } from './interpretation.ts';
import { RefusedList } from './refused-settings.ts';
import { MASK } from './setting.ts';
import { type Source, sourceAt } from './source.ts';
import type { NamedBlock, Statement, WrittenSection } from './statements.ts';

/** A value of the effective configuration that is not in a row of the table of settings. */
interface WanValue {
  readonly steps: readonly string[];
  readonly value: string | number | boolean;
  readonly source: Source;
}

/** The findings of the readers, in addition to the settings themselves. */
export class WanFindings {
  /** The statements that have been used. */
  readonly used = new Set<Statement>();
  readonly problems = new FindingList();
  readonly refused = new RefusedList();
  readonly values: WanValue[] = [];
  readonly warnings = new FindingList('warning');

  /**
   * Adds the value of a statement that is neither shown nor refused yet. `steps`: those of its path
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

export interface WanText {
  /** In order of increasing precedence. */
  readonly statements: readonly Statement[];
  readonly blocks: readonly NamedBlock[];
  readonly written: readonly WrittenSection[];
}
