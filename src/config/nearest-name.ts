/**
 * Which known name somebody may have meant: the one with the fewest letters wrong, where a letter
 * too many, too few, another, or two changed about count as one (optimal string alignment).
 */

/** Letters that may be wrong where other names are allowed, too. */
export const SLIP_LETTERS_MAX = 2;

/**
 * The names that are nearest, all as near, within `lettersMax` (by default a third of a name's letters,
 * at least two); none where all are further away.
 */
export function nearestNames(
  seen: string,
  names: Iterable<string>,
  lettersMax?: number,
): readonly string[] {
  let nearest: string[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const limit = lettersMax ?? Math.max(SLIP_LETTERS_MAX, Math.ceil(name.length / 3));
    if (Math.abs(name.length - seen.length) > Math.min(limit, fewest)) continue;
    const letters = distance(seen.toLowerCase(), name.toLowerCase());
    if (letters > Math.min(limit, fewest)) continue;
    if (letters < fewest) nearest = [];
    fewest = letters;
    nearest.push(name);
  }
  return nearest;
}

/** `; did you mean "port"?`, or nothing. */
export function hintOf(names: readonly string[]): string {
  if (names.length === 0) return '';
  return `; did you mean ${names.map((name) => JSON.stringify(name)).join(' or ')}?`;
}

function distance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      let least = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        least = Math.min(least, (before[column - 2] ?? 0) + 1);
      }
      current.push(least);
    }
    before = above;
    above = current;
  }
  return above[b.length] ?? 0;
}
