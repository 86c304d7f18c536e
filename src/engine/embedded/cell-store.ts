/**
 * The components that all stored data shares: the pool, the partitions and their sequences, the
 * versions, and the hashes of keys. A partition is created with its first cell.
 * Tested by embedded-engine.spec.ts.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { halfSipHash13, partitionOf } from '../hash.ts';
import { HybridClock } from '../hybrid-clock.ts';
import type { KeyWords } from '../key-words.ts';
import { FROM_CLIENT, type Mutation, type Operation } from '../mutation.ts';
import type { Version } from '../version.ts';
import { keyAt, keyLengthAt, ownerAt, versionHighAt, versionLowAt } from './cell.ts';
import { ExtentPool } from './extent-pool.ts';
import { MemoryMeter } from './memory-meter.ts';
import { Partition } from './partition.ts';
import { EXTENT_BYTES } from './slabs.ts';

/** Replaces a cell's owner in hashes; no table of names has this number. */
const NO_OWNER = -0x8000_0000;

export interface CellStoreOptions {
  readonly partitionCount: number;
  readonly clock: Clock;
  /** Maximum number of allocated bytes; Infinity by default. */
  readonly memoryBytesMax?: number;
  /** Bytes requested from the system ahead of their use; at most `memoryBytesMax`, 0 by default. */
  readonly stockBytes?: number;
  /** The id of the data set, if it is already known (StoredEngine.identify). */
  readonly dataSetId?: Uint8Array;
  /** Eight bytes, for tests that need the same positions in every run; random by default. */
  readonly hashSeed?: Buffer;
}

export class CellStore {
  readonly partitionCount: number;
  readonly clock: Clock;
  readonly meter: MemoryMeter;
  readonly pool: ExtentPool;
  readonly versions: HybridClock;
  /**
   * During a refill: the last read of its entries, in ms since 1970; undefined for the current
   * time.
   */
  lastReadMs: number | undefined;
  /** The last sequence of each partition. */
  readonly sequences: Float64Array;
  /** Partitions of written names that the cleaner has not yet worked on. */
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

  /** The time at which an entry that is written now counts as last read, in ms since 1970. */
  get readMs(): number {
    const nowMs = this.clock.wall();
    return this.lastReadMs === undefined ? nowMs : Math.min(this.lastReadMs, nowMs);
  }

  /** Returns the partition number of a key, or of a queue's name. */
  partitionOf(key: KeyWords): number {
    return partitionOf(key.words, 0, key.length, this.partitionCount);
  }

  /** Returns the partition number of the key of the cell at words[at]. */
  partitionOfKeyAt(words: Int32Array, at: number): number {
    return partitionOf(words, keyAt(words, at), keyLengthAt(words, at), this.partitionCount);
  }

  /** Returns the partition, undefined until its first write. */
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

  /** Returns the hash by which a partition's index finds the cell of `key` in `owner`. */
  hash(owner: number, key: KeyWords): number {
    return halfSipHash13(this.#key0, this.#key1, owner, key.words, 0, key.length);
  }

  /** Returns the hash of `length` bytes with the same seed, for other tables. */
  hashOfWords(words: Int32Array, length: number): number {
    return halfSipHash13(this.#key0, this.#key1, NO_OWNER, words, 0, length);
  }

  /** Returns the index hash of the cell at words[at]; see `hash`. */
  hashAt(words: Int32Array, at: number): number {
    const owner = ownerAt(words, at);
    const length = keyLengthAt(words, at);
    return halfSipHash13(this.#key0, this.#key1, owner, words, keyAt(words, at), length);
  }

  /** Returns the unsigned hash, independent of the one above, of the key of the cell at words[at]. */
  secondHashAt(words: Int32Array, at: number): number {
    const length = keyLengthAt(words, at);
    return halfSipHash13(this.#key0, this.#key1, NO_OWNER, words, keyAt(words, at), length) >>> 0;
  }

  /** Sets `version` to the version of the cell; to none if the address is 0. */
  readVersion(address: number, version: Version): Version {
    if (address === 0) return version.clear();
    const words = this.pool.words(address);
    const at = this.pool.at(address);
    return version.set(versionLowAt(words, at), versionHighAt(words, at));
  }

  /** Begins a caller's mutation: the partition's next one, with the clock's current version. */
  begin(draft: Mutation, operation: Operation, partition: number): void {
    draft.operation = operation;
    draft.origin = FROM_CLIENT;
    draft.version.set(this.versions.low, this.versions.high);
    draft.partition = partition;
    draft.sequence = this.next(partition);
  }

  /** Raises the partition's sequence to at least the sequence of a mutation that has been made. */
  raise(number: number, sequence: number): void {
    if (sequence > this.sequences[number]!) this.sequences[number] = sequence;
  }

  /** Raises every partition's sequence to at least the sequence of a mutation of all partitions. */
  raiseAll(sequence: number): void {
    for (let number = 0; number < this.partitionCount; number++) this.raise(number, sequence);
  }

  /** Returns the sequence of the partition's next mutation. */
  next(number: number): number {
    return this.sequences[number]! + 1;
  }

  /** Returns the sequence of the next mutation of every partition. */
  nextOfAll(): number {
    let last = 0;
    for (const sequence of this.sequences) last = Math.max(last, sequence);
    return last + 1;
  }
}
