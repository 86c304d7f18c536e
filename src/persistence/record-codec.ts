/**
 * The records of log segments and snapshots. All numbers are little-endian. A record starts at a
 * multiple of 8 bytes and is padded to the next one with zeros.
 *
 *     0  CRC-32C of all that follows, including the padding, seeded by the segment (segment.ts)
 *     4  length in bytes, without the padding
 *     8  type, one byte: an Operation (../engine/mutation.ts), or one of those below
 *     9  flags, one byte: of a mutation 1 has a lifetime, 2 has a path, 4 has two further words,
 *        8 has a maker; zero in other records
 *    10  partition, two bytes; 65535 stands for every partition
 *    12  sequence: lower 32 bits, at 16 the upper ones
 *    20  version: low word, at 24 high word
 *
 * Mutations continue:
 *
 *    28  length of the name, at 32 of the key, at 36 of the content type, in bytes
 *    40  OFFER, REMOVE, RETURN: item, a double; others: life of the map, low and high word
 *    48  only with a lifetime: expiry in ms since 1970, a double; at 56 max idle in s; at 60 zero
 *        only with two further words: of a SET the number of reads of the entry and the time of the
 *        last one in s since 1970; of a DELETE, EXPIRE or CLEAR the version of its tombstone, low
 *        and high word
 *        only with a maker, in a SET or DELETE: the first four bytes of the id of the other data set
 *        that assigned the version
 *        only with a path: the number of its data sets, 1 to 16, four bytes; then their ids, 16
 *        bytes each: the data set in which the change was made, then those through which it passed
 *        then name, key, content type, each padded with zeros to a multiple of 4; then the value
 *
 * MARK: everything before the position in the version field (low: offset, high: segment) had been
 * synced when the record was written. SEAL: the last record of a segment; the sequence is the
 * number of the next segment; the low word is 1 if that segment was already durable, 2 if, in
 * addition, a start of a member named it (control-records.ts). A SEAL with the sequence 0 is the
 * end of a log: to continue the log, a SEAL with a number is written directly after it. PARTITION,
 * in snapshots: the sequence of that partition when its visit started.
 *
 * A DELETE or CLEAR with the sequence 0, in snapshots, is a tombstone, which removes nothing: the
 * key is the 16-byte hash by which it is found, and the version contains its time. Without a key it
 * records that changes of other data sets were merged into the map, or into every map if the name
 * is empty.
 *
 * Unknown types from 128 up are optional: the data is complete without them. Readers skip them, and
 * a rewritten segment omits them, as it omits each MARK. Unknown types below 128 and mutations with
 * unknown flags are refused, because without them the data would be wrong.
 *
 * Records of the log contain the paths of their changes, and compaction, backup, restore and repair
 * preserve them. Records of snapshots have no path, as entries in memory have none. When such an
 * entry is sent to another data set, its version prevents an endless cycle: the data set it came
 * from already has that version.
 *
 * Records are written to and read from a Page. They are read in place: the spans of the mutation
 * point into the page.
 */
import assert from 'node:assert';
import { EVERY_PARTITION } from '../base/partition-number.ts';
import type { Span } from '../base/span.ts';
import {
  DATA_SET_ID_BYTES,
  type Mutation,
  OFFER,
  type Operation,
  PATH_LENGTH_MAX,
  RETURN,
  SET,
} from '../engine/mutation.ts';
import type { Version } from '../engine/version.ts';
import { checksum } from './checksum.ts';
import { copyPadded, type Page, wholeWords } from './page.ts';

export const MARK = 16;
export const SEAL = 17;
export const PARTITION = 18;
/** Lowest type of the records that are skipped if they are unknown. */
export const SKIPPED_TYPE_MIN = 128;

/** Length of MARK, SEAL and PARTITION, including padding, in bytes. */
export const CONTROL_RECORD_BYTES = 32;
/** Minimum length of a record, without padding, in bytes. */
export const RECORD_BYTES_MIN = CONTROL_RECORD_BYTES - 4;

const MUTATION_BYTES = 48;
const LIFETIME_BYTES = 16;
const WORDS_BYTES = 8;
const MAKER_BYTES = 4;
const PATH_COUNT_BYTES = 4;
const HAS_LIFETIME = 1;
const HAS_PATH = 2;
const HAS_WORDS = 4;
const HAS_MAKER = 8;
const KNOWN_FLAGS = HAS_LIFETIME | HAS_PATH | HAS_WORDS | HAS_MAKER;
const EVERY = 0xffff;
/** Maximum length of a record, in bytes. The length of a value has at most 30 bits. */
const RECORD_BYTES_MAX = 2 ** 31 - 8;
/** Returns the length of the mutation's record, including padding, in bytes. */
export function recordBytes(mutation: Mutation): number {
  const { name, key, contentType, value, path } = mutation;
  let fixed = MUTATION_BYTES + (hasLifetime(mutation) ? LIFETIME_BYTES : 0);
  if (hasWords(mutation)) fixed += WORDS_BYTES;
  if (mutation.maker !== 0) fixed += MAKER_BYTES;
  if (path.length > 0) fixed += pathBytes(path);
  const named = wholeWords(name.length) + wholeWords(key.length) + wholeWords(contentType.length);
  return padded(fixed + named + value.length);
}

/**
 * Writes the mutation at `at`, where there must be room for recordBytes. Returns the offset after
 * it.
 */
export function writeMutation(page: Page, at: number, mutation: Mutation, seed: number): number {
  const { name, key, contentType, value, path } = mutation;
  const { bytes, words, doubles } = page;
  const word = at >> 2;
  writeFixed(page, at, mutation.operation, mutation.partition, mutation.sequence, mutation.version);
  words[word + 7] = name.length;
  words[word + 8] = key.length;
  words[word + 9] = contentType.length;
  if (isOfItem(mutation.operation)) {
    doubles[(at >> 3) + 5] = mutation.item;
  } else {
    words[word + 10] = mutation.life.low;
    words[word + 11] = mutation.life.high;
  }
  let end = at + MUTATION_BYTES;
  if (hasLifetime(mutation)) {
    bytes[at + 9] = HAS_LIFETIME;
    doubles[end >> 3] = mutation.expiryMs;
    words[(end >> 2) + 2] = mutation.maxIdleSeconds;
    words[(end >> 2) + 3] = 0;
    end += LIFETIME_BYTES;
  }
  if (hasWords(mutation)) {
    const isSet = mutation.operation === SET;
    bytes[at + 9]! |= HAS_WORDS;
    words[end >> 2] = isSet ? mutation.hits : mutation.tombstone.low;
    words[(end >> 2) + 1] = isSet ? mutation.lastAccessSeconds : mutation.tombstone.high;
    end += WORDS_BYTES;
  }
  if (mutation.maker !== 0) {
    bytes[at + 9]! |= HAS_MAKER;
    words[end >> 2] = mutation.maker;
    end += MAKER_BYTES;
  }
  if (path.length > 0) {
    bytes[at + 9]! |= HAS_PATH;
    words[end >> 2] = path.length / DATA_SET_ID_BYTES;
    end = copyPadded(page, end + PATH_COUNT_BYTES, path);
  }
  end = copyPadded(page, end, name);
  end = copyPadded(page, end, key);
  end = copyPadded(page, end, contentType);
  copyPadded(page, end, value);
  end += value.length;
  return finish(page, at, end, seed);
}

/**
 * Returns the length of the record at `at`, including padding, in bytes; 0 unless there is a record
 * with a correct checksum that ends by `end`.
 */
export function checkRecord(page: Page, at: number, end: number, seed: number): number {
  const { words } = page;
  if (at + CONTROL_RECORD_BYTES > end) return 0;
  const word = at >> 2;
  const length = words[word + 1]!;
  if (length < RECORD_BYTES_MIN || length > RECORD_BYTES_MAX) return 0;
  const paddedLength = padded(length);
  if (paddedLength > end - at) return 0;
  const sum = checksum(page, word + 1, (at + paddedLength) >> 2, seed);
  return sum === words[word] ? paddedLength : 0;
}

/** Returns the length field of the record at `at`, which excludes padding and is not verified. */
export function lengthAt(page: Page, at: number): number {
  return page.words[(at >> 2) + 1]!;
}

/** Returns the length of the record at `at`, including padding. It is not verified. */
export function paddedLengthAt(page: Page, at: number): number {
  return padded(lengthAt(page, at));
}

export function typeAt(page: Page, at: number): number {
  return page.bytes[at + 8]!;
}

function flagsAt(page: Page, at: number): number {
  return page.bytes[at + 9]!;
}

export function partitionAt(page: Page, at: number): number {
  const partition = page.words[(at >> 2) + 2]! >>> 16;
  return partition === EVERY ? EVERY_PARTITION : partition;
}

export function sequenceAt(page: Page, at: number): number {
  const word = at >> 2;
  return (page.words[word + 3]! >>> 0) + page.words[word + 4]! * 2 ** 32;
}

/** Returns the low word of the version, which is the offset in a MARK. */
export function lowAt(page: Page, at: number): number {
  return page.words[(at >> 2) + 5]!;
}

/** Returns the high word of the version, which is the segment in a MARK. */
export function highAt(page: Page, at: number): number {
  return page.words[(at >> 2) + 6]!;
}

/**
 * Describes the unknown type or flags of the record, for a message; undefined if there are none.
 */
export function unknownIn(page: Page, at: number): string | undefined {
  const type = typeAt(page, at);
  if (type < SET || type > PARTITION || (type > RETURN && type < MARK)) return `type ${type}`;
  const flags = flagsAt(page, at) & ~KNOWN_FLAGS;
  return type > RETURN || flags === 0 ? undefined : `flags ${flags}`;
}

/** Whether the record is a mutation with consistent lengths. Its checksum is not verified. */
export function isMutation(page: Page, at: number): boolean {
  const type = typeAt(page, at);
  if (type < SET || type > RETURN) return false;
  const { words } = page;
  const word = at >> 2;
  const flags = flagsAt(page, at);
  let end = MUTATION_BYTES + ((flags & HAS_LIFETIME) !== 0 ? LIFETIME_BYTES : 0);
  if (flags > HAS_LIFETIME) {
    if ((flags & ~KNOWN_FLAGS) !== 0) return false;
    if ((flags & HAS_WORDS) !== 0) end += WORDS_BYTES;
    if ((flags & HAS_MAKER) !== 0) end += MAKER_BYTES;
    if ((flags & HAS_PATH) !== 0) {
      const count = words[(at + end) >> 2]!;
      if (!(count >= 1 && count <= PATH_LENGTH_MAX)) return false;
      end += PATH_COUNT_BYTES + count * DATA_SET_ID_BYTES;
    }
  }
  for (let field = 7; field <= 9; field++) {
    const length = words[word + field]!;
    if (length < 0 || length > RECORD_BYTES_MAX) return false;
    end += wholeWords(length);
  }
  return end <= words[word + 1]!;
}

/** Sets the mutation to the content of the record. Its spans point into the page. */
export function readMutation(page: Page, at: number, mutation: Mutation): void {
  const { bytes, words, doubles } = page;
  const word = at >> 2;
  mutation.operation = bytes[at + 8] as Operation;
  mutation.partition = partitionAt(page, at);
  mutation.sequence = sequenceAt(page, at);
  mutation.version.set(words[word + 5]!, words[word + 6]!);
  const isItem = isOfItem(mutation.operation);
  mutation.item = isItem ? doubles[(at >> 3) + 5]! : 0;
  if (isItem) mutation.life.clear();
  else mutation.life.set(words[word + 10]!, words[word + 11]!);
  let start = at + MUTATION_BYTES;
  mutation.expiryMs = 0;
  mutation.maxIdleSeconds = 0;
  const flags = flagsAt(page, at);
  if ((flags & HAS_LIFETIME) !== 0) {
    mutation.expiryMs = doubles[start >> 3]!;
    mutation.maxIdleSeconds = words[(start >> 2) + 2]!;
    start += LIFETIME_BYTES;
  }
  const isLonger = (flags & HAS_WORDS) !== 0;
  const field = start >> 2;
  mutation.setWords(isLonger ? words[field]! : 0, isLonger ? words[field + 1]! : 0);
  if (isLonger) start += WORDS_BYTES;
  mutation.maker = (flags & HAS_MAKER) === 0 ? 0 : words[start >> 2]!;
  if ((flags & HAS_MAKER) !== 0) start += MAKER_BYTES;
  if ((flags & HAS_PATH) !== 0) {
    const length = words[start >> 2]! * DATA_SET_ID_BYTES;
    start = setSpan(mutation.path, page, start + PATH_COUNT_BYTES, length);
  } else if (mutation.path.length > 0) mutation.path.clear();
  start = setSpan(mutation.name, page, start, words[word + 7]!);
  start = setSpan(mutation.key, page, start, words[word + 8]!);
  start = setSpan(mutation.contentType, page, start, words[word + 9]!);
  setSpan(mutation.value, page, start, at + words[word + 1]! - start);
}

/** Sets the span to a field and returns the offset of the next one. */
function setSpan(span: Span, { bytes, words }: Page, start: number, length: number): number {
  span.set(bytes, start, start + length);
  span.words = words;
  return start + wholeWords(length);
}

/** Writes the fields that are common to all records. */
export function writeFixed(
  { words }: Page,
  at: number,
  type: number,
  partition: number,
  sequence: number,
  { low, high }: Pick<Version, 'low' | 'high'>,
): void {
  const word = at >> 2;
  words[word + 2] = type | ((partition === EVERY_PARTITION ? EVERY : partition) << 16);
  words[word + 3] = sequence | 0;
  words[word + 4] = Math.floor(sequence / 2 ** 32);
  words[word + 5] = low;
  words[word + 6] = high;
}

/** Pads the record and sets its length and checksum. Returns the offset after it. */
export function finish(page: Page, at: number, end: number, seed: number): number {
  const { words } = page;
  const next = at + padded(end - at);
  if ((at & 7) !== 0 || next > page.bytes.length) assert.fail('a record fits into its page');
  // `copyPadded` has padded up to a whole word.
  if (wholeWords(end) < next) words[wholeWords(end) >> 2] = 0;
  words[(at >> 2) + 1] = end - at;
  words[at >> 2] = checksum(page, (at >> 2) + 1, next >> 2, seed);
  return next;
}

/** Whether the operation concerns a queue item: OFFER, REMOVE or RETURN. */
function isOfItem(operation: Operation): boolean {
  return operation >= OFFER;
}

function pathBytes({ length }: Span): number {
  const count = length / DATA_SET_ID_BYTES;
  assert(Number.isInteger(count) && count <= PATH_LENGTH_MAX, 'a path of 16 data sets at most');
  return PATH_COUNT_BYTES + length;
}

function hasLifetime(mutation: Mutation): boolean {
  return mutation.expiryMs !== 0 || mutation.maxIdleSeconds !== 0;
}

function hasWords(mutation: Mutation): boolean {
  const { operation } = mutation;
  if (operation === SET) return mutation.hits !== 0 || mutation.lastAccessSeconds !== 0;
  return operation < OFFER && !mutation.tombstone.isNone;
}

function padded(length: number): number {
  return (length + 7) & ~7;
}
