/** Integers that are stored as text. Tested by embedded/embedded-engine.spec.ts. */
import type { Span } from '../base/span.ts';

/** An optional minus and digits; 19 digits contain all 64-bit integers. */
const DECIMAL = /^-?\d{1,19}$/;
const DECIMAL_BYTES_MAX = 20;

/** Returns the 64-bit integer that the bytes are the text of; undefined if they are something else. */
export function decimalIn(span: Span): bigint | undefined {
  const { bytes, start, end, length } = span;
  if (length > DECIMAL_BYTES_MAX) return undefined;
  const text = bytes.toString('latin1', start, end);
  if (!DECIMAL.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}
