/**
 * How a cell lies in memory: everything about an entry, a queue's item, a part of a queue's ring,
 * or a name. In 32-bit words:
 *
 *     0    value length, bytes
 *     1    key length, bytes (24 bits), and flags (8 bits)
 *     2    owner: the map's id, the queue's id, or of a name the negative number of its table
 *     3    content type's id, 0 for none; of a ring's part its number; of a name its id
 *     4,5  version, low and high word: see hybrid-clock.ts
 *     then optional fields by flag (expiry; max idle and last access; number of reads and the last one;
 *     the maker), the key, the value, each from a whole word on; the cell is rounded up to a whole unit of
 *     8 bytes.
 *
 * The flags say what kind of cell it is and whether it is dead, that is, nothing refers to it and
 * its space can be used again. An item's key is its sequence in the queue. Bytes behind the key's
 * end are zero up to the word's, so that keys are hashed and compared by words.
 */
import { copyIntoWords, VIEWED_BYTES_MAX } from '../../base/short-copies.ts';
import type { Span } from '../../base/span.ts';
import { composeWords, type KeyWords } from '../key-words.ts';
import { UNIT_BYTES } from './extent-pool.ts';

export const HEADER_WORDS = 6;
export const KEY_BYTES_MAX = 2 ** 24 - 1;
export const VALUE_BYTES_MAX = 2 ** 30;
/** Reads are counted up to this. */
export const HITS_MAX = 2 ** 31 - 1;

const DEAD = 1;
export const KIND_ENTRY = 0;
export const KIND_ITEM = 2;
export const KIND_RING = 4;
export const KIND_NAME = 6;
const KIND_MASK = 6;
/** The cell has an expiry: milliseconds since 1970, low and high word. */
const HAS_EXPIRY = 8;
/**
 * Then a max idle, seconds, and the last access, seconds since 1970. The latter has 33 bits, which last until
 * 2242: the highest one is the top bit of the max idle's word.
 */
const HAS_MAX_IDLE = 16;
/** Then how often it has been read, and the last read, seconds since 1970: SECONDS_MAX from 2106 on. */
export const HAS_STATISTICS = 32;
/** Then the maker: the entry was merged, and has the version that another data set gave it. */
export const HAS_MAKER = 64;
/** The entry may go by itself. */
export const EXPIRES = HAS_EXPIRY | HAS_MAX_IDLE;
const FLAGS_SHIFT = 24;
const MAX_IDLE_MASK = 0x7fff_ffff;
const SECONDS_MAX = 0xffff_ffff;

/** Longer values are copied as bytes: the cost of a view is about that of 64 bytes in words. */
const VALUE_WORDS_BYTES_MAX = 64;

/** The flags of an entry; 0 for a time that it does not have. */
export function entryFlags(expiryMs: number, maxIdleSeconds: number): number {
  return KIND_ENTRY | (expiryMs === 0 ? 0 : HAS_EXPIRY) | (maxIdleSeconds === 0 ? 0 : HAS_MAX_IDLE);
}

/** Bytes of a whole cell. */
export function cellBytes(flags: number, keyLength: number, valueLength: number): number {
  const words = HEADER_WORDS + fieldWords(flags) + ((keyLength + 3) >>> 2);
  return Math.ceil((words * 4 + valueLength) / UNIT_BYTES) * UNIT_BYTES;
}

/** Bytes of the cell that stands at words[at]. */
export function bytesAt(words: Int32Array, at: number): number {
  return cellBytes(flagsAt(words, at), keyLengthAt(words, at), words[at]!);
}

export function valueLengthAt(words: Int32Array, at: number): number {
  return words[at]!;
}

export function keyLengthAt(words: Int32Array, at: number): number {
  return words[at + 1]! & KEY_BYTES_MAX;
}

export function flagsAt(words: Int32Array, at: number): number {
  return words[at + 1]! >>> FLAGS_SHIFT;
}

export function kindAt(words: Int32Array, at: number): number {
  return flagsAt(words, at) & KIND_MASK;
}

export function isDeadAt(words: Int32Array, at: number): boolean {
  return (flagsAt(words, at) & DEAD) !== 0;
}

export function markDeadAt(words: Int32Array, at: number): void {
  words[at + 1]! |= DEAD << FLAGS_SHIFT;
}

/** The cell's owner: a map, a queue, or a table of names. */
export function ownerAt(words: Int32Array, at: number): number {
  return words[at + 2]!;
}

/** The content type's id; of a ring's part its number, of a name its id. */
export function tagAt(words: Int32Array, at: number): number {
  return words[at + 3]!;
}

/** Index of the key's first word. */
export function keyAt(words: Int32Array, at: number): number {
  return at + HEADER_WORDS + fieldWords(flagsAt(words, at));
}

/** Index of the value's first word; times 4, of its first byte. */
export function valueAt(words: Int32Array, at: number): number {
  return keyAt(words, at) + ((keyLengthAt(words, at) + 3) >>> 2);
}

/** The whole number that an item's key is. */
export function numberKeyAt(words: Int32Array, at: number): number {
  const key = keyAt(words, at);
  return words[key + 1]! * 0x1_0000_0000 + (words[key]! >>> 0);
}

/** Whether the cell at words[at] is that of `key` in `owner`. */
export function hasKeyAt(words: Int32Array, at: number, owner: number, key: KeyWords): boolean {
  if (words[at + 2] !== owner || keyLengthAt(words, at) !== key.length) return false;
  const count = key.wordCount;
  const keyWords = key.words;
  const from = keyAt(words, at);
  for (let index = 0; index < count; index++) {
    if (words[from + index] !== keyWords[index]) return false;
  }
  return true;
}

/** Writes header, without the version, and key; the optional fields and the value follow. */
export function writeHead(
  words: Int32Array,
  at: number,
  flags: number,
  owner: number,
  tag: number,
  key: KeyWords,
  valueLength: number,
): void {
  words[at] = valueLength;
  words[at + 1] = key.length | (flags << FLAGS_SHIFT);
  words[at + 2] = owner;
  words[at + 3] = tag;
  const count = key.wordCount;
  const keyWords = key.words;
  const to = at + HEADER_WORDS + fieldWords(flags);
  for (let index = 0; index < count; index++) words[to + index] = keyWords[index]!;
}

export function writeVersion(words: Int32Array, at: number, low: number, high: number): void {
  words[at + 4] = low;
  words[at + 5] = high;
}

/** Copies the span's bytes into the cell's value. `bytes` and `words` are the same memory. */
export function writeValue(words: Int32Array, bytes: Buffer, at: number, value: Span): void {
  const to = valueAt(words, at);
  const length = value.end - value.start;
  if (value.words !== undefined && length <= VALUE_WORDS_BYTES_MAX * 4) {
    copyWords(words, to, value.words, value.start >>> 2, (length + 3) >>> 2);
  } else if (value.view !== undefined && length <= VIEWED_BYTES_MAX) {
    copyIntoWords(words, to, value.view, value.start, value.end);
  } else if (length <= VALUE_WORDS_BYTES_MAX)
    composeWords(words, to, value.bytes, value.start, length);
  else bytes.set(value.bytes.subarray(value.start, value.end), to * 4);
}

function copyWords(
  words: Int32Array,
  to: number,
  source: Int32Array,
  from: number,
  count: number,
): void {
  for (let index = 0; index < count; index++) words[to + index] = source[from + index]!;
}

export function versionLowAt(words: Int32Array, at: number): number {
  return words[at + 4]!;
}

export function versionHighAt(words: Int32Array, at: number): number {
  return words[at + 5]!;
}

/** Writes the optional fields that the head's flags have. */
export function writeFields(
  words: Int32Array,
  at: number,
  expiryMs: number,
  maxIdleSeconds: number,
  wallMs: number,
): void {
  const flags = flagsAt(words, at);
  if ((flags & HAS_EXPIRY) !== 0) {
    words[at + HEADER_WORDS] = expiryMs | 0;
    words[at + HEADER_WORDS + 1] = Math.floor(expiryMs / 0x1_0000_0000);
  }
  if ((flags & HAS_MAX_IDLE) === 0) return;
  const idle = at + HEADER_WORDS + expiryWords(flags);
  words[idle] = maxIdleSeconds;
  writeAccess(words, idle, wallMs);
}

/** Writes the last access of the max idle at words[idle]. */
function writeAccess(words: Int32Array, idle: number, wallMs: number): void {
  const seconds = Math.floor(wallMs / 1000);
  const maxIdleSeconds = words[idle]! & MAX_IDLE_MASK;
  words[idle] = seconds > SECONDS_MAX ? ~MAX_IDLE_MASK | maxIdleSeconds : maxIdleSeconds;
  words[idle + 1] = seconds;
}

/** Sets the span to the stored value: also to its words, which are faster to copy. */
export function nameValue(words: Int32Array, bytes: Buffer, at: number, value: Span): void {
  const start = valueAt(words, at) * 4;
  value.set(bytes, start, start + valueLengthAt(words, at));
  value.words = words;
}

/** Writes the number of reads and the last one, where the head's flags have them. */
export function writeStatistics(
  words: Int32Array,
  at: number,
  hits: number,
  lastAccessSeconds: number,
): void {
  const field = statisticsAt(words, at);
  if (field === 0) return;
  words[field] = hits;
  words[field + 1] = lastAccessSeconds;
}

/** A read of the entry is counted, where it has statistics. */
export function countReadAt(words: Int32Array, at: number, wallMs: number): void {
  const field = statisticsAt(words, at);
  if (field === 0) return;
  words[field] = Math.min(words[field]! + 1, HITS_MAX);
  words[field + 1] = Math.min(Math.floor(wallMs / 1000), SECONDS_MAX);
}

export function hitsAt(words: Int32Array, at: number): number {
  const field = statisticsAt(words, at);
  return field === 0 ? 0 : words[field]!;
}

/** In seconds since 1970; 0 for none. */
export function lastAccessSecondsAt(words: Int32Array, at: number): number {
  const field = statisticsAt(words, at);
  return field === 0 ? 0 : words[field + 1]! >>> 0;
}

/** Index of the statistics' first word; 0 without. */
function statisticsAt(words: Int32Array, at: number): number {
  const flags = flagsAt(words, at);
  if ((flags & HAS_STATISTICS) === 0) return 0;
  return at + HEADER_WORDS + expiryWords(flags) + ((flags & HAS_MAX_IDLE) >>> 3);
}

/** Writes the maker, where the head's flags have it. */
export function writeMaker(words: Int32Array, at: number, maker: number): void {
  const flags = flagsAt(words, at);
  if ((flags & HAS_MAKER) !== 0) words[at + HEADER_WORDS + fieldWords(flags) - 1] = maker;
}

/** The data set that gave the version; 0 for this one. */
export function makerAt(words: Int32Array, at: number): number {
  const flags = flagsAt(words, at);
  return (flags & HAS_MAKER) === 0 ? 0 : words[at + HEADER_WORDS + fieldWords(flags) - 1]!;
}

/** The entry has been read. */
export function touchAt(words: Int32Array, at: number, wallMs: number): void {
  const flags = flagsAt(words, at);
  if ((flags & HAS_MAX_IDLE) === 0) return;
  writeAccess(words, at + HEADER_WORDS + expiryWords(flags), wallMs);
}

/** When the entry's time to live ends, in ms since 1970; 0 for never. */
export function expiryMsAt(words: Int32Array, at: number): number {
  if ((flagsAt(words, at) & HAS_EXPIRY) === 0) return 0;
  const field = at + HEADER_WORDS;
  return words[field + 1]! * 0x1_0000_0000 + (words[field]! >>> 0);
}

export function maxIdleSecondsAt(words: Int32Array, at: number): number {
  const flags = flagsAt(words, at);
  if ((flags & HAS_MAX_IDLE) === 0) return 0;
  return words[at + HEADER_WORDS + expiryWords(flags)]! & MAX_IDLE_MASK;
}

/** When the entry goes unless it is read, in ms since 1970; Infinity for never. */
export function dueMsAt(words: Int32Array, at: number): number {
  const flags = flagsAt(words, at);
  const dueMs = (flags & HAS_EXPIRY) === 0 ? Number.POSITIVE_INFINITY : expiryMsAt(words, at);
  if ((flags & HAS_MAX_IDLE) === 0) return dueMs;
  const idle = at + HEADER_WORDS + expiryWords(flags);
  const seconds = (words[idle + 1]! >>> 0) + (words[idle]! < 0 ? SECONDS_MAX + 1 : 0);
  // A read in the last access's second counts from that second's end.
  return Math.min(dueMs, ((words[idle]! & MAX_IDLE_MASK) + seconds + 1) * 1000);
}

/** Words of the optional fields. */
function fieldWords(flags: number): number {
  const times = expiryWords(flags) + ((flags & HAS_MAX_IDLE) >>> 3);
  return times + ((flags & HAS_STATISTICS) >>> 4) + ((flags & HAS_MAKER) >>> 6);
}

function expiryWords(flags: number): number {
  return (flags & HAS_EXPIRY) >>> 2;
}
