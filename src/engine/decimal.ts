/** Integers that are stored as text. */
import type { Span } from '../base/span.ts';

/** An optional minus and digits; 19 digits contain all 64-bit integers. */
const DECIMAL = /^-?\d{1,19}$/;
export const DECIMAL_BYTES_MAX = 20;
/** Maximum length of an integer from 0 to 2^53-1, in bytes. */
export const NATURAL_BYTES_MAX = 16;
/** The digits of the lower part of a longer number, and the first number with more digits. */
const LOW_DIGITS = 8;
const LOW_PART = 10 ** LOW_DIGITS;
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
  if (start === end || bytes[start] !== MINUS) return naturalIn(bytes, start, end);
  return -naturalIn(bytes, start + 1, end);
}

/**
 * Returns the integer from 0 to 2^53-1 whose digits the bytes are, up to 16; NaN if they are something
 * else.
 */
export function naturalIn(bytes: Buffer, start: number, end: number): number {
  if (start >= end || end - start > NATURAL_BYTES_MAX) return Number.NaN;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = bytes[at]! - DIGIT_0;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = 10 * value + digit;
  }
  return value <= Number.MAX_SAFE_INTEGER ? value : Number.NaN;
}

function writeShort(value: number, to: Buffer): number {
  if (value >= 0) return writeNatural(value, to, 0);
  to[0] = MINUS;
  return writeNatural(-value, to, 1);
}

/**
 * Writes the digits of an integer from 0 to 2^53-1, and returns the offset after them. Integers of 32 bits
 * are divided much faster than doubles, so a long number is divided only once as a double.
 */
export function writeNatural(value: number, to: Buffer, at: number): number {
  if (value < LOW_PART) return writeDigits(value, to, at, at + digitsOf(value));
  const high = Math.floor(value / LOW_PART);
  const middle = writeDigits(high, to, at, at + digitsOf(high));
  return writeDigits(value - high * LOW_PART, to, middle, middle + LOW_DIGITS);
}

/** Returns the number of digits of an integer below 10^8. */
function digitsOf(value: number): number {
  let digits = 1;
  for (let limit = 10; value >= limit; limit *= 10) digits++;
  return digits;
}

/** Writes the digits of an integer below 10^8 up to `end`, with zeros before them, and returns `end`. */
function writeDigits(value: number, to: Buffer, at: number, end: number): number {
  let rest = value | 0;
  for (let index = end - 1; index >= at; index--) {
    const tens = (rest / 10) | 0;
    to[index] = DIGIT_0 + (rest - 10 * tens);
    rest = tens;
  }
  return end;
}

export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}
