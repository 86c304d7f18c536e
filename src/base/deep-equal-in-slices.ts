/**
 * Deep equality of two values, in slices of time: the elements of arrays and maps are compared one
 * by one; the order of a map's entries does not matter. Tested by member/reloader.spec.ts.
 */
import { isDeepStrictEqual } from 'node:util';
import { Slices } from './slices.ts';

export async function isDeepEqualInSlices(
  one: unknown,
  other: unknown,
  slices = new Slices(),
): Promise<boolean> {
  if (one === other) return true;
  const pairs = pairsOf(one, other);
  if (pairs === undefined) return isDeepStrictEqual(one, other);
  for (const [a, b] of pairs) {
    if (a !== b && !(await isDeepEqualInSlices(a, b, slices))) return false;
    const pause = slices.pause();
    if (pause !== undefined) await pause;
  }
  return true;
}

/** Returns the pairs that have to be equal; undefined if the values are compared as a whole. */
function pairsOf(one: unknown, other: unknown): Iterable<readonly [unknown, unknown]> | undefined {
  if (one instanceof Map && other instanceof Map && one.size === other.size) {
    return pairsByName(one, other);
  }
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    return pairsByIndex(one, other);
  }
  return undefined;
}

function* pairsByName(one: ReadonlyMap<unknown, unknown>, other: ReadonlyMap<unknown, unknown>) {
  for (const [name, value] of one)
    yield [value, other.has(name) ? other.get(name) : ABSENT] as const;
}

function* pairsByIndex(one: readonly unknown[], other: readonly unknown[]) {
  for (const [index, item] of one.entries()) yield [item, other[index]] as const;
}

/** Equal to no value. */
const ABSENT = Symbol('absent');
