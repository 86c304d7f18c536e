/**
 * What is wrong with a configuration, for the operator. However much that is, PROBLEMS_MAX of it are
 * told, the first ones, and of the others only how many there are: a message costs time, most of all
 * the search for the nearest known name, so that of a problem that is not told is not made.
 */
import { formatPlace, type Place } from './place.ts';

/** More than these nobody reads. */
export const PROBLEMS_MAX = 100;
/** Letters of a name or value that a message repeats. */
const LETTERS_QUOTED_MAX = 200;

export interface Problem {
  readonly at: Place;
  readonly message: string;
}

/** A problem as the operator reads it. */
export function formatProblem({ at, message }: Problem): string {
  return `${formatPlace(at)}: ${message}`;
}

export class Problems {
  readonly #told: Problem[] = [];
  #count = 0;

  /** The first of them, in the order found. */
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

/** The first lines, and where there are more, one that says how many. */
export function bounded(lines: readonly string[], count: number, things: string): string[] {
  const told = lines.slice(0, PROBLEMS_MAX);
  const left = count - told.length;
  return left === 0 ? told : [...told, `${left} more ${things} are not told`];
}

/** A text of the operator's in quotes; of a long one the beginning. */
export function quoted(text: string): string {
  return JSON.stringify(shortened(text));
}

export function shortened(text: string): string {
  return text.length <= LETTERS_QUOTED_MAX ? text : `${text.slice(0, LETTERS_QUOTED_MAX)}…`;
}
