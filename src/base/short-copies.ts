/**
 * Copies of short ranges of bytes out of a memory that has a DataView, word by word from any offset. A loop
 * over bytes takes four times as long; a call takes longer, too, as it needs a view of the range (bench:
 * short-copies).
 */
import { ownBuffer } from './own-buffer.ts';

/** Longer ranges are copied faster by a call. */
export const VIEWED_BYTES_MAX = 128;

/** A buffer with memory of its own, and a view of all of it. */
export class ViewedBytes {
  readonly bytes: Buffer;
  readonly view: DataView;

  constructor(length: number) {
    this.bytes = ownBuffer(length);
    this.view = new DataView(this.bytes.buffer);
  }

  static copyOf(bytes: Buffer): ViewedBytes {
    const copy = new ViewedBytes(bytes.length);
    copy.bytes.set(bytes);
    return copy;
  }

  get length(): number {
    return this.bytes.length;
  }
}

/** Copies bytes `start` to `end` of `source` to `at` in `target`. The ranges lie in different memories. */
export function copyViewed(
  target: DataView,
  at: number,
  source: DataView,
  start: number,
  end: number,
): void {
  const lastWord = end - 4;
  let to = at;
  let from = start;
  for (; from <= lastWord; from += 4, to += 4)
    target.setInt32(to, source.getInt32(from, true), true);
  if (from === end) return;
  // The last word again, up to the end.
  if (lastWord >= start)
    target.setInt32(at + lastWord - start, source.getInt32(lastWord, true), true);
  else for (; from < end; from++, to++) target.setUint8(to, source.getUint8(from));
}

/** Copies them into words from words[at] on, the last word padded with zero bytes. */
export function copyIntoWords(
  words: Int32Array,
  at: number,
  source: DataView,
  start: number,
  end: number,
): void {
  const lastWord = end - 4;
  let to = at;
  let from = start;
  for (; from <= lastWord; from += 4) words[to++] = source.getInt32(from, true);
  if (from === end) return;
  let word = source.getUint8(from);
  if (end - from > 1) word |= source.getUint8(from + 1) << 8;
  if (end - from > 2) word |= source.getUint8(from + 2) << 16;
  words[to] = word;
}
