/**
 * A buffer that spans its whole ArrayBuffer, so that typed arrays and a DataView over
 * `buffer.buffer` address the same bytes. Node's documentation only guarantees that the buffer is
 * not pooled, so the rest is asserted.
 */
import assert from 'node:assert';

/** Throws AssertionError if a buffer returned by `make` does not span its whole ArrayBuffer. */
export function unpooledBuffer(length: number, make = Buffer.allocUnsafeSlow): Buffer {
  const bytes = make(length);
  assert(bytes.byteOffset === 0, 'the buffer begins at byte 0 of its ArrayBuffer');
  assert(bytes.buffer.byteLength === length, 'the buffer ends where its ArrayBuffer ends');
  return bytes;
}
