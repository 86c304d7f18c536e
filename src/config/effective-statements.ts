/**
 * The effective statements: the last one of each path. They are stored in a tree by the steps of
 * their paths, because joined paths would repeat a long name for each setting below it.
 * Tested by member/load.spec.ts.
 */
import type { Statement } from './statements.ts';

interface Branch {
  /** Index of its statement; -1 if it has none. */
  index: number;
  below: Map<string, Branch> | undefined;
}

export class Effective {
  readonly #root: Branch = { index: -1, below: undefined };
  readonly #statements: Statement[] = [];

  constructor(statements: readonly Statement[]) {
    for (const statement of statements) this.#put(statement);
  }

  /**
   * Returns the effective statement. `path`: names joined by dots; no name may contain a dot
   * itself.
   */
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
