/**
 * Percent-decoding of path parts (RFC 3986 section 2.1): bytes to bytes, UTF-8 is not required, and
 * `+` remains a plus. Only parts with escapes are copied. The file also decodes form values.
 */
import assert from 'node:assert';
import { Slices } from '../base/slices.ts';
import type { Span } from '../base/span.ts';
import type { RequestHead } from '../http/request-head.ts';

/** Whether two hexadecimal digits follow each `%` between `start` and `end`. */
export function hasValidEscapes(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (bytes[at] !== 0x25) continue;
    if (at + 2 >= end || hexadecimal(bytes, at + 1) < 0) return false;
    at += 2;
  }
  return true;
}

/**
 * Sets the span to the decoded part of a path: bytes `start` to `end` of the target, which must have
 * only valid escapes. Without escapes it is a view of the target.
 */
export function readPart(
  { target, escaped }: RequestHead,
  start: number,
  end: number,
  part: Span,
): Span {
  const { bytes } = target;
  const from = target.start + start;
  const to = target.start + end;
  if (!escaped) return part.setViewed(bytes, target.view, from, to);
  const decoded = Buffer.allocUnsafe(end - start);
  return part.set(decoded, 0, decode(bytes, from, to, decoded));
}

/** Decodes the bytes into `decoded` and returns the number of bytes written. */
function decode(bytes: Buffer, start: number, end: number, decoded: Buffer): number {
  let used = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === 0x25) {
      const value = hexadecimal(bytes, at + 1);
      if (value < 0) assert.fail('the escapes have been checked');
      decoded[used++] = value;
      at += 2;
    } else decoded[used++] = byte;
  }
  return used;
}

/** Decodes a form value, in which `+` is a space; returns undefined for an invalid escape. */
export function decodeFormValue(value: Buffer): Buffer | undefined {
  const decoded = Buffer.allocUnsafeSlow(value.length);
  let used = 0;
  for (let at = 0; at < value.length; at++) {
    let byte = value[at] as number;
    if (byte === 0x25) {
      byte = at + 2 < value.length ? hexadecimal(value, at + 1) : -1;
      if (byte < 0) return undefined;
      at += 2;
    } else if (byte === 0x2b) byte = 0x20;
    decoded[used++] = byte;
  }
  return decoded.subarray(0, used);
}

/** Decodes a form value of several MiB in slices; returns undefined for an invalid escape. */
export async function decodeLongFormValue(value: Buffer): Promise<Buffer | undefined> {
  const slices = new Slices();
  const pieces: Buffer[] = [];
  for (let start = 0; start < value.length; ) {
    let end = Math.min(start + PIECE_BYTES, value.length);
    // An escape is not split: if one begins in the last two bytes, the piece ends before it.
    const percent = end < value.length ? value.lastIndexOf(0x25, end - 1) : -1;
    if (percent >= end - 2) end = percent;
    const decoded = decodeFormValue(value.subarray(start, end));
    if (decoded === undefined) return undefined;
    pieces.push(decoded);
    start = end;
    const pause = slices.pause();
    if (pause !== undefined) await pause;
  }
  return Buffer.concat(pieces);
}

const PIECE_BYTES = 16_384;

/** Returns the value of two hexadecimal digits; negative if one of them is not a digit. */
function hexadecimal(bytes: Buffer, at: number): number {
  return (
    ((DIGITS[bytes[at] as number] as number) << 4) | (DIGITS[bytes[at + 1] as number] as number)
  );
}

/** Value of each byte as a hexadecimal digit; -1 for other bytes. */
const DIGITS = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  DIGITS[digit.charCodeAt(0)] = value;
  DIGITS[digit.toUpperCase().charCodeAt(0)] = value;
}
