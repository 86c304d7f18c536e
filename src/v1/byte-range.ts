/** The Range field with one range of bytes (RFC 9110 section 14). Tested by v1-actions.spec.ts. */

/** The bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** No byte of the value is in the range. */
export const UNSATISFIABLE = 'unsatisfiable';

/** Digits beyond these are more than any length. */
const RANGE = /^bytes=[\t ]*(\d{1,15})?-(\d{1,15})?[\t ]*$/i;

/**
 * Returns the range of a value of `length` bytes; undefined for the whole value: a field that is
 * invalid, has another unit or several ranges is ignored.
 */
export function rangeIn(
  text: string,
  length: number,
): ByteRange | typeof UNSATISFIABLE | undefined {
  const [whole, first, last] = RANGE.exec(text) ?? [];
  if (whole === undefined || (first === undefined && last === undefined)) return undefined;
  if (first === undefined) {
    const count = Math.min(Number(last), length);
    return count === 0 ? UNSATISFIABLE : { start: length - count, end: length };
  }
  const start = Number(first);
  const end = last === undefined ? length : Math.min(Number(last) + 1, length);
  if (last !== undefined && Number(last) < start) return undefined;
  return start >= length ? UNSATISFIABLE : { start, end };
}
