/**
 * Percent-encoding of path parts (RFC 3986 section 2.1): bytes to bytes, UTF-8 not required, `+` is
 * a plus. Parts of one request are decoded into one buffer, which the next request uses again.
 */
import { Span } from '../base/span.ts';

/** Whether each `%` from `start` to `end` has two hexadecimal digits behind it. */
export function hasOnlyWholeEscapes(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (bytes[at] !== 0x25) continue;
    if (at + 2 >= end || hexadecimal(bytes, at + 1) < 0) return false;
    at += 2;
  }
  return true;
}

export class PercentDecoder {
  readonly #buffer: Buffer;
  #used = 0;

  /** `bytesMax`: the longest target. */
  constructor(bytesMax: number) {
    this.#buffer = Buffer.allocUnsafeSlow(bytesMax);
  }

  /** What the bytes mean, in a buffer of their own. Their escapes must be whole. */
  static decode(bytes: Buffer): Buffer {
    const decoded = new Span();
    new PercentDecoder(bytes.length).decode(bytes, 0, bytes.length, decoded);
    return decoded.toBuffer();
  }

  /** What was decoded before is not needed any more. */
  reset(): void {
    this.#used = 0;
  }

  /** Sets `decoded` to what the part means. Its escapes must be whole. */
  decode(bytes: Buffer, start: number, end: number, decoded: Span): void {
    const buffer = this.#buffer;
    const from = this.#used;
    let used = from;
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === 0x25) {
        buffer[used++] = hexadecimal(bytes, at + 1);
        at += 2;
      } else buffer[used++] = byte;
    }
    this.#used = used;
    decoded.set(buffer, from, used);
  }
}

/** The value of two hexadecimal digits; negative when they are none. */
function hexadecimal(bytes: Buffer, at: number): number {
  return (
    ((DIGITS[bytes[at] as number] as number) << 4) | (DIGITS[bytes[at + 1] as number] as number)
  );
}

/** Value of each byte as a hexadecimal digit; -1 for others. */
const DIGITS = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  DIGITS[digit.charCodeAt(0)] = value;
  DIGITS[digit.toUpperCase().charCodeAt(0)] = value;
}
