/**
 * Buffers to which bytes are appended. A full buffer is copied into a longer one, longer by at
 * least a quarter. So appending costs O(1) per byte, and at most a fifth of a grown buffer is
 * unused. Tested by http/content-buffers.spec.ts.
 */

/** Length of the shortest buffer, in bytes. */
const BYTES_MIN = 512;

/** Returns the buffer itself if it has `length` bytes, else a longer one with its first `used` bytes. */
export function growBuffer(buffer: Buffer, used: number, length: number): Buffer {
  if (length <= buffer.length) return buffer;
  const quarterLonger = buffer.length + (buffer.length >> 2);
  const longer = Buffer.allocUnsafeSlow(Math.max(BYTES_MIN, length, quarterLonger));
  buffer.copy(longer, 0, 0, used);
  return longer;
}
