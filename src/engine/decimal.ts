/** Integers that are stored as text. Tested by embedded/embedded-engine.spec.ts. */
import type { Span } from '../base/span.ts';

/** An optional minus and digits; 19 digits contain all 64-bit integers. */
const DECIMAL = /^-?\d{1,19}$/;
export const DECIMAL_BYTES_MAX = 20;
/** Maximum number of digits of a number without a BigInt. */
const SHORT_DIGITS = 16;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;

/** Returns the 64-bit integer that the bytes are the text of; undefined if they are something else. */
export function decimalIn(span: Span): bigint | undefined {
  const { bytes, start, end, length } = span;
  if (length > DECIMAL_BYTES_MAX) return undefined;
  const text = bytes.toString('latin1', start, end);
  if (!DECIMAL.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

/**
 * Writes the text of the sum of a number that is stored as text and another one to the buffer. Returns
 * its length; 0 if the text or the sum is not a 64-bit integer.
 */
export function writeSum(text: Span, by: bigint, to: Buffer): number {
  const old = shortIn(text);
  const more = Number(by);
  const sum = old + more;
  const isExact = Number.isSafeInteger(old) && Number.isSafeInteger(more);
  if (isExact && Number.isSafeInteger(sum)) return writeShort(sum, to);
  const value = decimalIn(text);
  return value === undefined || !isInt64(value + by) ? 0 : to.write(`${value + by}`, 'latin1');
}

/** Returns the number whose text has at most 16 digits; NaN if the bytes are something else. */
function shortIn({ bytes, start, end }: Span): number {
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (first >= end || end - first > SHORT_DIGITS) return Number.NaN;
  let value = 0;
  for (let at = first; at < end; at++) {
    const digit = bytes[at]! - DIGIT_0;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = 10 * value + digit;
  }
  return first === start ? value : -value;
}

function writeShort(value: number, to: Buffer): number {
  let rest = Math.abs(value);
  let length = value < 0 ? 2 : 1;
  for (let limit = 10; rest >= limit; limit *= 10) length++;
  if (value < 0) to[0] = MINUS;
  for (let at = length - 1; ; at--) {
    const tens = Math.floor(rest / 10);
    to[at] = DIGIT_0 + (rest - 10 * tens);
    if (tens === 0) return length;
    rest = tens;
  }
}

export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}
