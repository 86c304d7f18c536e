/**
 * Copies spans of bytes: to any offset of a memory that has a DataView, or into words. Short spans are
 * copied word by word if their memory is accessible as words or through a DataView, and otherwise by a
 * loop over bytes, which takes four times as long. Long ones are copied by a call, which takes as long as
 * the words of some hundred bytes (bench: short-copies).
 */

import type { Span } from './span.ts';
import { unpooledBuffer } from './unpooled-buffer.ts';

// Lengths up to which each way is faster than a call of `copy`, in bytes.
const WORDS_BYTES_MAX = 192;
const VIEWED_BYTES_MAX = 128;
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

/** A buffer without bytes. */
export const NO_VIEWED_BYTES = new ViewedBytes(0);

/**
 * Copies the span to `at` in the target, which must be long enough. The two must be in different
 * memories.
 */
export function copySpan(target: Viewed, at: number, span: Span): void {
  const { words, view, start, end } = span;
  const length = end - start;
  if (words !== undefined && length <= WORDS_BYTES_MAX) copyFromWords(target, at, words, span);
  else if (view !== undefined && length <= VIEWED_BYTES_MAX)
    copyFromView(target.view, at, view, start, end);
  else copyFromBytes(target.bytes, at, span);
}

function copyFromWords(
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

function copyFromView(
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

function copyFromBytes(target: Buffer, at: number, { bytes, start, end }: Span): void {
  if (end - start > LOOP_BYTES_MAX) bytes.copy(target, at, start, end);
  else for (let from = start, to = at; from < end; ) target[to++] = bytes[from++]!;
}

/**
 * Copies the span into words from words[at] on; the last word is padded with zero bytes. `bytes` is the
 * same memory as `words`. The span must be in another memory, or not overlap.
 */
export function copyIntoWords(words: Int32Array, bytes: Buffer, at: number, span: Span): void {
  const { view, start, end } = span;
  if (span.words === undefined && view !== undefined && end - start <= VIEWED_BYTES_MAX)
    copyViewIntoWords(words, at, view, start, end);
  else copyOtherIntoWords(words, bytes, at, span);
}

function copyViewIntoWords(
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

function copyOtherIntoWords(words: Int32Array, bytes: Buffer, at: number, span: Span): void {
  const { words: source, start, end } = span;
  const length = end - start;
  const last = at + (length >> 2);
  const rest = length & 3;
  if (source !== undefined && length <= WORDS_BYTES_MAX) {
    let from = start >> 2;
    for (let to = at; to < last; to++) words[to] = source[from++]!;
    if (rest !== 0) words[last] = source[from]! & ((1 << (rest << 3)) - 1);
    return;
  }
  if (rest !== 0) words[last] = 0;
  copyFromBytes(bytes, at << 2, span);
}

/** Copies `count` words to words[to] of the target; the ranges must not overlap. */
export function copyWords(
  target: Int32Array,
  to: number,
  source: Int32Array,
  from: number,
  count: number,
): void {
  if (count << 2 > WORDS_BYTES_MAX) target.set(source.subarray(from, from + count), to);
  else for (let index = 0; index < count; index++) target[to + index] = source[from + index]!;
}
