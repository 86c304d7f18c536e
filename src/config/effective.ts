/**
 * The statements that count: of those with the same path the last one. They are kept in a tree by the
 * steps of their paths: paths written out would repeat a long name for each setting below it.
 */
import type { Statement } from './statements.ts';

interface Branch {
  /** Index of its statement among all; -1 for none. */
  index: number;
  below: Map<string, Branch> | undefined;
}

export class Effective {
  readonly #root: Branch = { index: -1, below: undefined };
  readonly #statements: Statement[] = [];

  constructor(statements: readonly Statement[]) {
    for (const statement of statements) this.#put(statement);
  }

  /** `path`: names joined by dots; none of the names has a dot itself. */
  get(path: string): Statement | undefined {
    let branch: Branch | undefined = this.#root;
    for (const step of path.split('.')) branch = branch?.below?.get(step);
    return branch && this.#statements[branch.index];
  }

  values(): readonly Statement[] {
    return this.#statements;
  }

  #put(statement: Statement): void {
    let branch = this.#root;
    for (const step of statement.path) {
      branch.below ??= new Map();
      let next = branch.below.get(step);
      if (next === undefined) {
        next = { index: -1, below: undefined };
        branch.below.set(step, next);
      }
      branch = next;
    }
    if (branch.index < 0) branch.index = this.#statements.push(statement) - 1;
    else this.#statements[branch.index] = statement;
  }
}
