/**
 * The keys of the store, format 1. Each partition has a hash tag, so that its keys share a slot of
 * Redis Cluster; the tags are spread evenly over the slots. The tag precedes any name, as names may
 * contain braces. The length and the name of the cluster follow, so that several clusters can share
 * a server; then the kind of the key and the name of the map or queue:
 *
 *     {TAG}LENGTH:CLUSTER/KIND:NAME
 *
 * A partition with changes that are replicated to or from other clusters (marked-scripts.ts,
 * merge-scripts.ts) also has:
 *
 *     t:      the clock, a number of microseconds since 1970 in decimal digits: no change of a map with
 *             a reference, and none that was merged, has a version later than the one made of the next
 *             number (partition-clock.ts)
 *     d:      the tombstones, a hash. A field is the length of the map's name in decimal digits, a
 *             colon, the name, then the key; without a key it is the tombstone of the whole map. The
 *             value is the version, 8 bytes; the server's time in seconds, 4 bytes; a letter: d
 *             deleted, e expired, c cleared, C cleared in part; and the origin (stored-value.ts) unless
 *             the change was made here, all big-endian
 *     o:      the fields of the tombstones in the order of their time, a list: the version, then the
 *             field. An element whose version differs from that of its field has been replaced
 *     s:LANE  the mark of a lane of a source, for a day: its epoch, the first number of its latest
 *             section, the last number merged, and the number of that section's entries that were
 *             not taken, four doubles. LANE is the id of the source's data set, 16 bytes, the SHA-256
 *             of its names of replication and publisher, the lane, 2 bytes, and 1 for entries of a
 *             synchronisation, otherwise 0
 *     p:NAME  the marks of a publisher: the keys that wait, a sorted set by the number of the last
 *             change. An element has the form of a field of tombstones; without a key it is a clear.
 *             NAME is that of the publisher (../marked-changes.ts)
 *     l:      the clears of maps under way whose names belong to the partition, a hash by the map's
 *             name: the version, then the origin unless the clear was made here
 *
 * Tested by changing-servers.spec.ts.
 */
import { ViewedBytes } from '../../base/copy-bytes.ts';
import { Span } from '../../base/span.ts';
import { partitionOf } from '../hash.ts';
import { KeyWords } from '../key-words.ts';

/** Number of slots in Redis Cluster. */
export const SLOT_COUNT = 16384;

/**
 * Kinds of keys: each is the index of its letter in LETTERS. MAP is the hash of a map's entries.
 */
export const MAP = 0;
/** The expiry times of a map's entries: a sorted set beside the hash. */
export const EXPIRIES = 1;
/** The maps of a partition that have such a set: a sorted set by their earliest expiry time. */
export const EXPIRING = 2;
/** The items of a queue. */
export const ITEMS = 3;
/** The items that were returned to a queue; they are polled first. */
export const RETURNED = 4;
/** The counters of a queue. */
export const QUEUE = 5;
/** The members with polls that wait at a queue. */
export const WAITING = 6;
/** The items of a partition that members hold. */
export const HELD = 7;
/** The marks of holds that have ended in a partition. */
export const MARKS = 8;
/** The channel on which a member is notified of new items in the queues of a partition. */
export const WAKE_UPS = 9;
/** A number during an addition: a hash that exists only within a script. */
export const SUM = 10;
/** The clock of a partition. */
export const CLOCK = 11;
/** The tombstones of a partition, and their order. */
export const TOMBSTONES = 12;
export const TOMBSTONE_ORDER = 13;
/** The mark of a lane of another cluster's publisher. */
export const SOURCE = 14;
/** The marks of a publisher. */
export const MARKED = 15;
/** The clears under way. */
export const CLEARS = 16;

const LETTERS = 'mxeqrnwhkuatdospl';
/** The kind of the keys that store the cluster's members and state. */
const CLUSTER_LETTER = 'c';

export type KeyKind = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16;

export class Layout {
  readonly partitionCount: number;
  readonly #tags: readonly string[];
  readonly #slots: Uint16Array;
  readonly #owner: string;
  /** By tag. */
  #partitions: ReadonlyMap<string, number> | undefined;
  /** By kind, then partition. Those of a kind share one block of memory. */
  readonly #prefixes: Span[][] = [];
  readonly #key = new KeyWords();

  constructor(clusterName: string, partitionCount: number) {
    this.partitionCount = partitionCount;
    this.#tags = tagsOf(partitionCount);
    this.#slots = Uint16Array.from(this.#tags, (tag) => slotOfTag(tag));
    this.#owner = `${Buffer.byteLength(clusterName)}:${clusterName}/`;
  }

  /** Returns the partition of a map's key, or of a queue by its name. */
  partitionOf(name: Span): number {
    const { words, length } = this.#key.load(name);
    return partitionOf(words, 0, length, this.partitionCount);
  }

  /** Returns the slot of the partition's keys. */
  slotOf(partition: number): number {
    return this.#slots[partition]!;
  }

  /** Returns the prefix of the partition's keys of a kind; the name follows it. */
  prefix(kind: KeyKind, partition: number): Span {
    this.#prefixes[kind] ??= this.#prefixesOf(kind);
    return this.#prefixes[kind][partition]!;
  }

  /** Returns the partition's key of a kind and name. */
  key(kind: KeyKind, partition: number, name: Buffer): Buffer {
    return Buffer.concat([this.prefix(kind, partition).toBuffer(), name]);
  }

  /** Returns the key of a value of the cluster itself. All such keys share a slot. */
  clusterKey(name: string): Buffer {
    return Buffer.from(`{${this.#tags[0]}}${this.#owner}${CLUSTER_LETTER}:${name}`);
  }

  /** Returns the partition of a key of the kind; undefined if it is no such key of this cluster. */
  partitionOfKey(kind: KeyKind, key: Buffer): number | undefined {
    this.#partitions ??= new Map(this.#tags.map((tag, partition) => [tag, partition]));
    const partition = this.#partitions.get(key.toString('latin1', 1, key.indexOf('}')));
    if (partition === undefined) return undefined;
    const { bytes, start, length } = this.prefix(kind, partition);
    const isOne = bytes.compare(key, 0, length, start, start + length) === 0;
    return isOne ? partition : undefined;
  }

  /**
   * Returns the pattern of the keys of some kinds whose names begin with the prefix, in the syntax
   * of SCAN.
   */
  scanPattern(kinds: readonly KeyKind[], prefix: Buffer): Buffer {
    const letters = kinds.map((kind) => LETTERS[kind]).join('');
    const owner = escapedPattern(Buffer.from(this.#owner).toString('latin1'));
    const name = escapedPattern(prefix.toString('latin1'));
    return Buffer.from(`{*}${owner}[${letters}]:${name}*`, 'latin1');
  }

  /**
   * Returns the pattern of all keys, or channels, of a kind, in the syntax of access control lists.
   */
  pattern(kind: KeyKind): string {
    return this.#pattern(LETTERS[kind]!);
  }

  /** The pattern of the keys that store the cluster's members and state. */
  get clusterKeyPattern(): string {
    return this.#pattern(CLUSTER_LETTER);
  }

  /** Replaces spaces, which access control lists do not accept. */
  #pattern(letter: string): string {
    const owner = escapedPattern(this.#owner).replaceAll(' ', '?');
    return `{*}${owner}${letter}:*`;
  }

  #prefixesOf(kind: KeyKind): Span[] {
    const texts = this.#tags.map((tag) => `{${tag}}${this.#owner}${LETTERS[kind]}:`);
    const { bytes, view } = ViewedBytes.copyOf(Buffer.from(texts.join('')));
    let end = 0;
    return texts.map((text) => {
      const start = end;
      end += Buffer.byteLength(text);
      return new Span().setViewed(bytes, view, start, end);
    });
  }
}

/** Returns the pattern that matches only the text. */
function escapedPattern(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&');
}

/** The tags of the last layout. Computing them takes milliseconds; members mostly share them. */
let lastTags: readonly string[] = [];

/**
 * Returns the tag of each partition: a number in base 36 that hashes to the slot chosen for the
 * partition.
 */
function tagsOf(partitionCount: number): readonly string[] {
  if (lastTags.length === partitionCount) return lastTags;
  const tags: string[] = new Array(partitionCount).fill('');
  const wanted = new Map<number, number[]>();
  for (let partition = 0; partition < partitionCount; partition++) {
    const slot = Math.floor((partition * SLOT_COUNT) / partitionCount);
    wanted.set(slot, [...(wanted.get(slot) ?? []), partition]);
  }
  for (let number = 0; wanted.size > 0; number++) {
    const tag = number.toString(36);
    const slot = slotOfTag(tag);
    const partitions = wanted.get(slot);
    if (partitions === undefined) continue;
    tags[partitions.shift()!] = tag;
    if (partitions.length === 0) wanted.delete(slot);
  }
  lastTags = tags;
  return tags;
}

/** CRC-16/XMODEM of the tag, as specified by Redis Cluster. */
function slotOfTag(tag: string): number {
  let crc = 0;
  for (let at = 0; at < tag.length; at++) {
    crc ^= tag.charCodeAt(at) << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc % SLOT_COUNT;
}
