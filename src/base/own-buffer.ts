/**
 * A buffer whose memory is its own, from the first byte to the last, so that words and a DataView of
 * `buffer.buffer` are the same bytes. Node's documentation promises no more than that it is not of a
 * pool, so the rest is checked.
 */
import assert from 'node:assert';

/** Throws AssertionError with what differs where the memory of what `make` gives is not its own. */
export function ownBuffer(length: number, make = Buffer.allocUnsafeSlow): Buffer {
  const bytes = make(length);
  assert(bytes.byteOffset === 0, 'a buffer of its own begins its memory');
  assert(bytes.buffer.byteLength === length, 'a buffer of its own has no memory behind it');
  return bytes;
}
