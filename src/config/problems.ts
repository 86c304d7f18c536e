/**
 * The problems of a configuration, for the operator. The first PROBLEMS_MAX are listed; of the others
 * only the number is. A message takes time to make, most of all the search for the nearest known name,
 * so the message of a problem that is not listed is not made.
 */
import { formatPlace, type Place } from './place.ts';

/** No operator reads more than these. */
export const PROBLEMS_MAX = 100;
/** Characters of a name or value that a message repeats. */
const LETTERS_QUOTED_MAX = 200;

export interface Problem {
  readonly at: Place;
  readonly message: string;
}

/** The line that the operator reads. */
export function formatProblem({ at, message }: Problem): string {
  return `${formatPlace(at)}: ${message}`;
}

export class Problems {
  readonly #told: Problem[] = [];
  #count = 0;

  /** The first PROBLEMS_MAX problems, in the order found. */
  get told(): readonly Problem[] {
    return this.#told;
  }

  get count(): number {
    return this.#count;
  }

  add(at: Place, message: () => string): void {
    this.#count += 1;
    if (this.#told.length < PROBLEMS_MAX) this.#told.push({ at, message: message() });
  }

  addAll(others: Problems): void {
    this.#count += others.count;
    for (const problem of others.told) {
      if (this.#told.length < PROBLEMS_MAX) this.#told.push(problem);
    }
  }
}

/** The first PROBLEMS_MAX lines, and where there are more, one with the number of the others. */
export function bounded(lines: readonly string[], count: number, things: string): string[] {
  const told = lines.slice(0, PROBLEMS_MAX);
  const left = count - told.length;
  return left === 0 ? told : [...told, `${left} more ${things} are not shown`];
}

/** A text of the operator in quotes; only the beginning of a long one. */
export function quoted(text: string): string {
  return JSON.stringify(shortened(text));
}

export function shortened(text: string): string {
  return text.length <= LETTERS_QUOTED_MAX ? text : `${text.slice(0, LETTERS_QUOTED_MAX)}…`;
}
