/**
 * Copies short ranges of bytes from a memory that has a DataView, word by word, from any offset. A
 * loop over bytes takes four times as long. A call of `copy` is slower as well, since it needs a
 * view of the range (bench: short-copies).
 */

import type { Span } from './span.ts';
import { unpooledBuffer } from './unpooled-buffer.ts';

/** Length up to which copying through a DataView is faster than a call of `copy`, in bytes. */
export const VIEWED_BYTES_MAX = 128;
/** Length up to which copying from aligned words is faster than a call of `copy`, in bytes. */
const WORDS_BYTES_MAX = 192;
/** Length up to which a loop over bytes is faster than a call of `copy`, in bytes. */
const LOOP_BYTES_MAX = 40;

/** A buffer with a DataView of its bytes. */
export interface Viewed {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export function viewed(bytes: Buffer): Viewed {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
}

/** A buffer that spans its whole ArrayBuffer, and a DataView of it. */
export class ViewedBytes implements Viewed {
  readonly bytes: Buffer;
  readonly view: DataView;

  constructor(length: number) {
    this.bytes = unpooledBuffer(length);
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

/**
 * Copies the span to `at` in the target, which must be long enough. The two must be in different
 * memories.
 */
export function copySpan(target: Viewed, at: number, span: Span): void {
  const { words, start, end } = span;
  if (words !== undefined && end - start <= WORDS_BYTES_MAX) copyWords(target, at, words, span);
  else copyRange(target, at, span.bytes, span.view, start, end);
}

/**
 * Copies bytes `start` to `end` of `bytes` to `at` in the target, under the rules of copySpan.
 * `view`: a DataView of the memory of `bytes`, if available.
 */
export function copyRange(
  target: Viewed,
  at: number,
  bytes: Buffer,
  view: DataView | undefined,
  start: number,
  end: number,
): void {
  const length = end - start;
  if (view !== undefined && length <= VIEWED_BYTES_MAX) {
    copyViewed(target.view, at, view, start, end);
  } else if (length > LOOP_BYTES_MAX) bytes.copy(target.bytes, at, start, end);
  else for (let from = start, to = at; from < end; ) target.bytes[to++] = bytes[from++]!;
}

function copyWords(
  target: Viewed,
  at: number,
  words: Int32Array,
  { bytes, start, end }: Span,
): void {
  let to = at;
  let word = start >> 2;
  const wordsEnd = word + ((end - start) >> 2);
  for (; word < wordsEnd; word++, to += 4) target.view.setInt32(to, words[word]!, true);
  for (let from = word << 2; from < end; ) target.bytes[to++] = bytes[from++]!;
}

/**
 * Copies bytes `start` to `end` of `source` to `at` in `target`. The ranges must be in different
 * memories.
 */
function copyViewed(
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
  // Copies the last four bytes again, which include the remaining ones.
  if (lastWord >= start)
    target.setInt32(at + lastWord - start, source.getInt32(lastWord, true), true);
  else for (; from < end; from++, to++) target.setUint8(to, source.getUint8(from));
}

/**
 * Copies bytes `start` to `end` of `source` into words from words[at] on; the last word is padded
 * with zero bytes.
 */
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
