/**
 * The frame of a file, of the header of a file, or of a message: what it is, and a checksum. All numbers
 * are little-endian.
 *
 *     0  magic: eight bytes that name the kind
 *     8  CRC-32 of all that follows, up to the length
 *    12  format
 *    16  length in bytes, from 0 on
 *    20  content
 */
import { checksum } from './checksum.ts';
import type { Viewed } from './copy-bytes.ts';

/** Offset of the content. */
export const FRAME_BYTES = 20;
const MAGIC_BYTES = 8;

/** A difference from a frame that was written. */
export interface FrameFault {
  readonly offset: number;
  /** The end of a sentence. */
  readonly what: string;
}

/** Writes the frame around the content, which ends at `length`. `magic`: eight Latin-1 characters. */
export function writeFrame(to: Viewed, length: number, magic: string, format: number): void {
  const { bytes, view } = to;
  bytes.write(magic, 'latin1');
  view.setUint32(12, format, true);
  view.setUint32(16, length, true);
  view.setInt32(8, checksum(to, 12, length, 0), true);
}

/**
 * Checks the frame of the first `bytesRead` bytes; its content must end at `length`. Returns its fault;
 * undefined if there is none. The format is not checked.
 */
export function frameFault(
  from: Viewed,
  bytesRead: number,
  magic: string,
  length = bytesRead,
): FrameFault | undefined {
  const { bytes, view } = from;
  if (bytesRead < FRAME_BYTES) return { offset: bytesRead, what: 'is cut off' };
  if (bytes.toString('latin1', 0, MAGIC_BYTES) !== magic) {
    return { offset: 0, what: `does not begin with ${JSON.stringify(magic)}` };
  }
  const stated = view.getUint32(16, true);
  if (stated < length) return { offset: stated, what: 'continues after its end' };
  if (stated > bytesRead) return { offset: bytesRead, what: 'is cut off' };
  if (checksum(from, 12, stated, 0) === view.getInt32(8, true)) return undefined;
  return { offset: 8, what: 'has a wrong checksum' };
}
