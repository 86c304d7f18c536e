/**
 * Finds the known name that a misspelt one probably means: the one with the fewest wrong letters.
 * An extra letter, a missing letter, a different letter, and two swapped letters each count as one
 * (optimal string alignment). Otherwise a name that it abbreviates. Tested by bounds.spec.ts.
 */

import { quoted } from './finding-list.ts';

/**
 * Number of wrong letters allowed in a name of SLIP_NAME_LENGTH_MIN letters or more, if names are
 * free.
 */
const SLIP_LETTERS_MAX = 2;
/**
 * Minimum length of a name for SLIP_LETTERS_MAX; in a shorter one a single wrong letter is allowed.
 */
const SLIP_NAME_LENGTH_MIN = 6;

/** Minimum length of an abbreviation. */
const ABBREVIATION_LENGTH_MIN = 3;

/**
 * Returns the nearest names, all at the same distance: within a third of a name's letters, at least
 * two. If all names are further away, those of which the seen one may be an abbreviation: `ttl` of
 * `timeToLiveSeconds`.
 */
export function nearestNames(seen: string, names: Iterable<string>): readonly string[] {
  const known = [...names];
  const near = nearestWithin(seen, known, (name) => Math.max(2, Math.ceil(name.length / 3)));
  if (near.length > 0 || seen.length < ABBREVIATION_LENGTH_MIN) return near;
  return known.filter((name) => initialsOf(name).startsWith(seen.toLowerCase()));
}

/** Returns the first letters of the words of a name, in lower case. */
function initialsOf(name: string): string {
  const words = name.split(/[-_.]|(?=[A-Z])/);
  return words.map((word) => word.slice(0, 1).toLowerCase()).join('');
}

/**
 * Returns the nearest names where other names are also allowed, so that fewer wrong letters count
 * as a slip.
 */
export function slippedNames(seen: string, names: Iterable<string>): readonly string[] {
  return nearestWithin(seen, names, ({ length }) =>
    length < SLIP_NAME_LENGTH_MIN ? 1 : SLIP_LETTERS_MAX,
  );
}

function nearestWithin(
  seen: string,
  names: Iterable<string>,
  limitOf: (name: string) => number,
): readonly string[] {
  let nearest: string[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const limit = Math.min(limitOf(name), fewest);
    if (Math.abs(name.length - seen.length) > limit) continue;
    const letters = distance(seen.toLowerCase(), name.toLowerCase(), limit);
    if (letters > limit) continue;
    if (letters < fewest) nearest = [];
    fewest = letters;
    nearest.push(name);
  }
  return nearest;
}

/** Returns `; did you mean "port"?`, or an empty text. */
export function hintOf(names: readonly string[]): string {
  const question = questionOf(names);
  return question === undefined ? '' : `; ${question}`;
}

/** Returns `did you mean "port"?`, or undefined. */
export function questionOf(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : `did you mean ${names.map(quoted).join(' or ')}?`;
}

/** Returns the number of wrong letters, or any number above `limit` if there are more. */
function distance(a: string, b: string, limit: number): number {
  const beyond = limit + 1;
  let before: number[] = [];
  let leastAbove = 0;
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    // Further from the diagonal, every distance exceeds the limit.
    const from = Math.max(1, row - limit);
    const to = Math.min(b.length, row + limit);
    const current: number[] = Array(b.length + 1).fill(beyond);
    if (row <= limit) current[0] = row;
    let least = current[from - 1] ?? beyond;
    for (let column = from; column <= to; column++) {
      const isSame = a[row - 1] === b[column - 1];
      let letters = Math.min(
        (above[column] ?? beyond) + 1,
        (current[column - 1] ?? beyond) + 1,
        (above[column - 1] ?? beyond) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        letters = Math.min(letters, (before[column - 2] ?? beyond) + 1);
      }
      current[column] = letters;
      least = Math.min(least, letters);
    }
    // Swapped letters are counted from the row above this one to the one below it.
    if (least > limit && leastAbove >= limit) return beyond;
    leastAbove = least;
    before = above;
    above = current;
  }
  return above[b.length] ?? beyond;
}
