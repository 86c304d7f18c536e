/**
 * The common parts of all stored data: the pool, the partitions and their sequences, the versions, and
 * the hashes of keys. A partition is created with its first cell.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { halfSipHash13, partitionOf } from '../hash.ts';
import { HybridClock } from '../hybrid-clock.ts';
import type { KeyWords } from '../key-words.ts';
import type { Version } from '../version.ts';
import { keyAt, keyLengthAt, ownerAt, versionHighAt, versionLowAt } from './cell.ts';
import { ExtentPool } from './extent-pool.ts';
import { MemoryMeter } from './memory-meter.ts';
import { Partition } from './partition.ts';
import { EXTENT_BYTES } from './slabs.ts';

/** In place of a cell's owner; no table of names has this number. */
const NO_OWNER = -0x8000_0000;

export interface CellStoreOptions {
  readonly partitionCount: number;
  readonly clock: Clock;
  /** Bytes handed out at most; Infinity by default. */
  readonly memoryBytesMax?: number;
  /** Bytes asked of the system ahead of their use; no more than `memoryBytesMax`, none by default. */
  readonly stockBytes?: number;
  /** The id of the data set, where it is known already (StoredEngine.identify). */
  readonly dataSetId?: Uint8Array;
  /** Eight bytes, for tests that need the same places at each run; random by default. */
  readonly hashSeed?: Buffer;
}

export class CellStore {
  readonly partitionCount: number;
  readonly clock: Clock;
  readonly meter: MemoryMeter;
  readonly pool: ExtentPool;
  readonly versions: HybridClock;
  /** While an engine is filled: the last read of its entries, in ms since 1970; undefined for now. */
  lastReadMs: number | undefined;
  /** The last sequence of each partition. */
  readonly sequences: Float64Array;
  /** Partitions of written names, for which the cleaner has not worked yet. */
  readonly debtors: Partition[] = [];
  readonly #partitions: (Partition | undefined)[];
  readonly #key0: number;
  readonly #key1: number;

  constructor(options: CellStoreOptions) {
    const { partitionCount, clock, stockBytes = 0 } = options;
    const { memoryBytesMax = Number.POSITIVE_INFINITY } = options;
    if (!Number.isInteger(partitionCount) || partitionCount < 1) {
      throw new RangeError(`Cannot make ${partitionCount} partitions: not a positive integer`);
    }
    this.partitionCount = partitionCount;
    this.clock = clock;
    const marginBytes = MemoryMeter.marginBytes(memoryBytesMax);
    this.meter = new MemoryMeter(memoryBytesMax, EXTENT_BYTES, marginBytes);
    this.pool = new ExtentPool(this.meter, clock, Math.min(stockBytes, memoryBytesMax));
    this.versions = new HybridClock(clock);
    if (options.dataSetId !== undefined) this.versions.identify(options.dataSetId);
    this.sequences = new Float64Array(partitionCount);
    this.#partitions = new Array(partitionCount).fill(undefined);
    const seed = options.hashSeed ?? randomBytes(8);
    this.#key0 = seed.readInt32LE(0);
    this.#key1 = seed.readInt32LE(4);
  }

  /** The time at which an entry that is written now counts as read, in ms since 1970. */
  get readMs(): number {
    const nowMs = this.clock.wall();
    return this.lastReadMs === undefined ? nowMs : Math.min(this.lastReadMs, nowMs);
  }

  /** The number of the partition of a key, or of a queue's name. */
  partitionOf(key: KeyWords): number {
    return partitionOf(key.words, 0, key.length, this.partitionCount);
  }

  /** The same, for the key of the cell at words[at]. */
  partitionOfKeyAt(words: Int32Array, at: number): number {
    return partitionOf(words, keyAt(words, at), keyLengthAt(words, at), this.partitionCount);
  }

  /** Undefined until its first write. */
  partition(number: number): Partition | undefined {
    return this.#partitions[number];
  }

  openPartition(number: number): Partition {
    const existing = this.#partitions[number];
    if (existing !== undefined) return existing;
    const partition = new Partition(number, this.pool, this.meter);
    this.#partitions[number] = partition;
    return partition;
  }

  /** The hash by which a partition's index finds the cell of `key` in `owner`. */
  hash(owner: number, key: KeyWords): number {
    return halfSipHash13(this.#key0, this.#key1, owner, key.words, 0, key.length);
  }

  /** A hash of `length` bytes with the same seed, for other tables. */
  hashOfWords(words: Int32Array, length: number): number {
    return halfSipHash13(this.#key0, this.#key1, NO_OWNER, words, 0, length);
  }

  /** The same as `hash`, for the cell at words[at]. */
  hashAt(words: Int32Array, at: number): number {
    const owner = ownerAt(words, at);
    const length = keyLengthAt(words, at);
    return halfSipHash13(this.#key0, this.#key1, owner, words, keyAt(words, at), length);
  }

  /** Sets the version to that of the cell, for address 0 to none. */
  readVersion(address: number, version: Version): Version {
    if (address === 0) return version.clear();
    const words = this.pool.words(address);
    const at = this.pool.at(address);
    return version.set(versionLowAt(words, at), versionHighAt(words, at));
  }

  /** A mutation of the partition has been made: its sequence is at least that now. */
  raise(number: number, sequence: number): void {
    if (sequence > this.sequences[number]!) this.sequences[number] = sequence;
  }

  /** A mutation of every partition has been made. */
  raiseAll(sequence: number): void {
    for (let number = 0; number < this.partitionCount; number++) this.raise(number, sequence);
  }

  /** The sequence that the next mutation of the partition gets. */
  next(number: number): number {
    return this.sequences[number]! + 1;
  }

  /** The sequence that the next mutation of every partition gets. */
  nextOfAll(): number {
    let last = 0;
    for (const sequence of this.sequences) last = Math.max(last, sequence);
    return last + 1;
  }
}
