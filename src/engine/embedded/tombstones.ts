/**
 * The tombstones. They record removals, so that older changes of another data set do not restore
 * removed entries: for a key, or for all keys of a map, the version up to which sets lose. They are
 * separate from the stored data and are neither found nor counted.
 *
 * A table of numbers, at most `tombstonesMax` rows, found by a hash (tombstone-hash.ts,
 * tombstone-index.ts). All are in one list from the oldest to the latest. They are dropped when
 * they are too old. A new one replaces the oldest if there are too many, or if no memory is left;
 * but not in a replay, as they had their memory before. Times are read from the version clock, in
 * seconds, so that a replay gets the same times.
 */
import assert from 'node:assert/strict';
import type { Clock, Timer } from '../../base/clock.ts';
import { EVERY_PARTITION } from '../../base/partition-number.ts';
import type { Span } from '../../base/span.ts';
import { CLEAR, DELETE, Mutation } from '../mutation.ts';
import type {
  MergeOptions,
  StoredVisitor,
  TombstoneCursor,
  TombstoneFigures,
} from '../stored-engine.ts';
import { msOf, type Version } from '../version.ts';
import type { CellStore } from './cell-store.ts';
import { IdColumns } from './id-columns.ts';
import type { PagedDoubles, PagedIntegers, PagedPairs } from './paged-array.ts';
import { HASH_BYTES, TombstoneHash } from './tombstone-hash.ts';
import { TombstoneIndex } from './tombstone-index.ts';

const RETENTION_MS = 86_400_000;
const TOMBSTONES_MAX = 1_000_000;
/** Tombstones that one step of the timer drops, and the pause before the next step. */
const STEP_COUNT = 1000;
const STEP_PAUSE_MS = 2;
/** The wall clock may be set; a change is noticed within this time, in ms. */
const TIMER_MS_MAX = 60_000;
/** Minimum interval between two reports of tombstones that were dropped early, in ms. */
const REPORT_INTERVAL_MS = 60_000;

export class Tombstones implements TombstoneFigures {
  readonly #store: CellStore;
  readonly #clock: Clock;
  readonly #retentionSeconds: number;
  readonly #countMax: number;
  readonly #onDropped: (droppedCount: number) => void;
  readonly #hash = new TombstoneHash();
  readonly #ids: IdColumns;
  readonly #index: TombstoneIndex;
  /** By tombstone: its version, second and partition, and its neighbours by age. */
  readonly #versions: PagedPairs;
  readonly #seconds: PagedIntegers;
  readonly #partitions: PagedIntegers;
  readonly #olders: PagedIntegers;
  readonly #newers: PagedIntegers;
  /** Numbers that rise along the list, for cursors. */
  readonly #serials: PagedDoubles;
  #oldest = 0;
  #latest = 0;
  #serial = 0;
  /** Number of tombstones of maps. */
  #mapCount = 0;
  droppedCount = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  readonly #step = () => this.#timerOnDue();
  readonly #message = new Mutation();

  constructor(store: CellStore, options: MergeOptions) {
    this.#store = store;
    this.#clock = store.clock;
    this.#retentionSeconds = Math.ceil((options.tombstoneRetentionMs ?? RETENTION_MS) / 1000);
    this.#countMax = Math.max(options.tombstonesMax ?? TOMBSTONES_MAX, 1);
    this.#onDropped = options.onTombstonesDropped ?? (() => {});
    const ids = new IdColumns(store.pool);
    this.#ids = ids;
    this.#index = new TombstoneIndex(store, ids);
    this.#versions = ids.pairs();
    this.#seconds = ids.integers();
    this.#partitions = ids.integers();
    this.#olders = ids.integers();
    this.#newers = ids.integers();
    this.#serials = ids.doubles();
  }

  get count(): number {
    return this.#ids.count;
  }

  /** Bytes of memory in use. */
  get bytes(): number {
    return this.#ids.columnBytes + this.#index.bytes;
  }

  /** Sets `version` to the version of the map's tombstone; to none if there is no tombstone. */
  ofMap(map: Span, version: Version): void {
    version.clear();
    if (this.#mapCount === 0) return;
    this.#hash.ofMap(map);
    this.#versions.get(this.#find(), version);
  }

  /** Sets `version` to the version of the key's tombstone; to none if there is no tombstone. */
  ofKey(map: Span, key: Span, version: Version): void {
    version.clear();
    if (this.#ids.count === 0) return;
    this.#hash.ofKey(map, key);
    this.#versions.get(this.#find(), version);
  }

  /**
   * Records the tombstone of a DELETE, EXPIRE or CLEAR that was made, unless a later one is
   * recorded.
   */
  add(removal: Mutation): void {
    if (removal.tombstone.isNone) return;
    this.#load(removal);
    this.#put(removal.partition, removal.tombstone, this.#nowSeconds());
  }

  /**
   * Records the tombstone of a removal that is made again. Its time is the time of its version, or
   * earlier.
   */
  addAgain(removal: Mutation): void {
    const { low, high } = removal.version;
    const ms = Math.max(this.#store.versions.ms, msOf(low, high));
    this.#load(removal);
    this.#put(removal.partition, removal.tombstone, Math.floor(ms / 1000));
  }

  /**
   * Records the tombstone of a removal of the key's entry; only its partition and tombstone are
   * read.
   */
  addOf(map: Span, key: Span, { partition, tombstone }: Mutation): void {
    this.#hash.ofKey(map, key);
    this.#put(partition, tombstone, this.#nowSeconds());
  }

  /** Restores a tombstone that `visit` passed to its visitor. */
  restore({ key, partition, version, tombstone }: Mutation): void {
    key.bytes.copy(this.#hash.bytes, 0, key.start, key.start + HASH_BYTES);
    // Its time has only whole seconds: a set that is written next must be later than the removal.
    this.#store.versions.restore(tombstone);
    this.#put(partition, tombstone, Math.floor(msOf(version.low, version.high) / 1000));
  }

  /** Whether the tombstone of the removal, or of a message of `visit`, is the recorded one. */
  has(removal: Mutation): boolean {
    if (removal.tombstone.isNone) return false;
    if (isFromVisit(removal) && isMergedMap(removal)) return true;
    if (this.#ids.count === 0) return false;
    if (isFromVisit(removal)) {
      removal.key.bytes.copy(this.#hash.bytes, 0, removal.key.start);
    } else this.#load(removal);
    const id = this.#find();
    const { low, high } = removal.tombstone;
    return id !== 0 && this.#versions.first(id) === low && this.#versions.second(id) === high;
  }

  /** Visits the tombstones; see StoredEngine.visitTombstones. */
  visit(cursor: TombstoneCursor, budget: number, visitor: StoredVisitor): boolean {
    if (cursor.endSerial === 0) cursor.endSerial = this.#serial;
    let id = this.#firstAfter(cursor);
    for (let rest = budget; this.#isBefore(id, cursor) && rest > 0; rest--) {
      cursor.id = id;
      cursor.serial = this.#serials.get(id);
      this.#pass(id, visitor);
      id = this.#newers.get(id);
    }
    return this.#isBefore(id, cursor);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Asserts that the list, the buckets and the counts are consistent. O(tombstones). */
  invariants(): void {
    let count = 0;
    let maps = 0;
    let before = 0;
    let serial = 0;
    for (let id = this.#oldest; id !== 0; id = this.#newers.get(id)) {
      assert.equal(this.#olders.get(id), before, 'the tombstone before');
      assert.ok(this.#serials.get(id) > serial, 'tombstones by age');
      this.#index.read(id, this.#hash.words);
      assert.equal(this.#find(), id, 'a tombstone is found');
      if (this.#partitions.get(id) === EVERY_PARTITION) maps++;
      serial = this.#serials.get(id);
      before = id;
      count++;
    }
    assert.equal(before, this.#latest, 'the latest tombstone');
    assert.deepEqual([count, maps], [this.#ids.count, this.#mapCount], 'counts of tombstones');
    assert.ok(count <= this.#countMax, 'maximum number of tombstones');
    this.#ids.invariants();
  }

  #nowSeconds(): number {
    const { versions } = this.#store;
    return Math.floor(Math.max(versions.ms, this.#clock.wall()) / 1000);
  }

  #load({ operation, name, key }: Mutation): void {
    if (operation === CLEAR) this.#hash.ofMap(name);
    else this.#hash.ofKey(name, key);
  }

  #find(): number {
    return this.#index.find(this.#hash.words);
  }

  #put(partition: number, version: Version, seconds: number): void {
    let id = this.#find();
    if (id !== 0) {
      if (!this.#versions.isBefore(id, version)) return;
      this.#unlist(id);
    } else {
      this.#makeRoom();
      id = this.#ids.allocate();
      this.#index.add(id, this.#hash.words, this.#ids.count);
      this.#partitions.set(id, partition);
      if (partition === EVERY_PARTITION) this.#mapCount++;
    }
    this.#versions.set(id, version.low, version.high);
    this.#seconds.set(id, seconds);
    this.#list(id);
    if (this.#timer === undefined) this.#arm();
  }

  #makeRoom(): void {
    const { meter } = this.#store;
    const { count } = this.#ids;
    if (count >= this.#countMax || (count > 0 && meter.exceedsWriteLimit && !meter.isFilling)) {
      if (!this.#isTooOld(this.#oldest)) this.#reportDropped();
      this.#drop(this.#oldest);
    }
  }

  #reportDropped(): void {
    this.droppedCount++;
    const nowMs = this.#clock.now();
    if (nowMs < this.#reportedMs + REPORT_INTERVAL_MS) return;
    this.#reportedMs = nowMs;
    this.#onDropped(this.droppedCount);
  }

  #drop(id: number): void {
    this.#unlist(id);
    this.#index.remove(id);
    if (this.#partitions.get(id) === EVERY_PARTITION) this.#mapCount--;
    this.#ids.free(id);
  }

  /** Appends the tombstone to the list as the latest. */
  #list(id: number): void {
    this.#olders.set(id, this.#latest);
    this.#newers.set(id, 0);
    if (this.#latest === 0) this.#oldest = id;
    else this.#newers.set(this.#latest, id);
    this.#latest = id;
    this.#serials.set(id, ++this.#serial);
  }

  #unlist(id: number): void {
    const older = this.#olders.get(id);
    const newer = this.#newers.get(id);
    if (older === 0) this.#oldest = newer;
    else this.#newers.set(older, newer);
    if (newer === 0) this.#latest = older;
    else this.#olders.set(newer, older);
  }

  /** Returns the first tombstone after the cursor. */
  #firstAfter({ id, serial }: TombstoneCursor): number {
    const isRecorded = id !== 0 && this.#ids.isUsed(id) && this.#serials.get(id) === serial;
    if (isRecorded) return this.#newers.get(id);
    let next = this.#oldest;
    while (next !== 0 && this.#serials.get(next) <= serial) next = this.#newers.get(next);
    return next;
  }

  /** Whether the tombstone exists and dates from before the first step of the visit. */
  #isBefore(id: number, { endSerial }: TombstoneCursor): boolean {
    return id !== 0 && this.#serials.get(id) <= endSerial;
  }

  #pass(id: number, visitor: StoredVisitor): void {
    const message = this.#message;
    const { words, bytes } = this.#hash;
    this.#index.read(id, words);
    const partition = this.#partitions.get(id);
    message.operation = partition === EVERY_PARTITION ? CLEAR : DELETE;
    message.partition = partition;
    message.key.set(bytes, 0, HASH_BYTES);
    const ms = this.#secondsOf(id) * 1000;
    message.version.set((ms % 2 ** 16) << 16, Math.floor(ms / 2 ** 16));
    this.#versions.get(id, message.tombstone);
    visitor.onStored(message);
  }

  /** Returns the seconds as unsigned: the column has 32 bits, which are enough until 2106. */
  #secondsOf(id: number): number {
    return this.#seconds.get(id) >>> 0;
  }

  #isTooOld(id: number): boolean {
    return this.#secondsOf(id) + this.#retentionSeconds <= this.#clock.wall() / 1000;
  }

  #arm(): void {
    if (this.#oldest === 0) return;
    const dueMs = (this.#secondsOf(this.#oldest) + this.#retentionSeconds) * 1000;
    const delayMs = Math.min(Math.max(dueMs - this.#clock.wall(), 1000), TIMER_MS_MAX);
    this.#timer = this.#clock.after(Math.ceil(delayMs), this.#step);
  }

  #timerOnDue(): void {
    this.#timer = undefined;
    let rest = STEP_COUNT;
    while (rest > 0 && this.#oldest !== 0 && this.#isTooOld(this.#oldest)) {
      this.#drop(this.#oldest);
      rest--;
    }
    if (rest === 0) this.#timer = this.#clock.after(STEP_PAUSE_MS, this.#step);
    else this.#arm();
  }
}

/** Whether the message is from StoredEngine.visitTombstones: it has no sequence. */
export function isFromVisit({ sequence, tombstone }: Mutation): boolean {
  return sequence === 0 && !tombstone.isNone;
}

/** Whether the message is for a map that changes were merged into: it has no hash for its key. */
export function isMergedMap({ operation, key }: Mutation): boolean {
  return operation === CLEAR && key.length === 0;
}
