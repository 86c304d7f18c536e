/**
 * Removes entries that have ended and that nobody reads: those of cleared maps, those that a merged
 * clear has ended, and those that have expired. All three are found by one walk over the index.
 *
 * Each partition has a time before which none of its entries ends (`Partition.dueMs`). A timer is
 * set for the earliest of these times; without one, nothing runs. A round walks over the partitions
 * whose time has passed, in short steps with pauses, and determines their next times. The next
 * round begins after 15 times the working time of the last one, between one and ten seconds, so
 * that it uses a sixteenth of the processor, or more if the limit of 10 s requires it.
 *
 * A clear only retires the map's id. The next round visits every partition; when it has ended, the
 * id may be reused. One round serves every id that was retired before it began. It begins without
 * a pause, and each write does a share of it, so that a map that is cleared and filled again and
 * again needs little more memory.
 *
 * Times are wall-clock times, as they must mean the same after a restart. An idle engine has no
 * timer, or one that does not keep the process alive.
 */
import assert from 'node:assert/strict';
import type { Timer } from '../../base/clock.ts';
import { bytesAt, dueMsAt, KIND_ENTRY, kindAt, ownerAt, tagAt } from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Cleaner } from './cleaner.ts';
import type { Expiry } from './expiry.ts';
import { type Visitor, WALK_END } from './hash-index.ts';
import type { MapFlags } from './map-flags.ts';
import type { NameTable } from './name-table.ts';
import type { PagedDoubles } from './paged-array.ts';
import type { Partition } from './partition.ts';
import type { SharedComponents } from './shared-components.ts';

/** Places of the index visited between two readings of the clock; well under 0.1 ms. */
const PLACES_PER_CLOCK_READ = 128;
/**
 * Places visited for each write while entries of cleared maps may remain. Without them, a map that
 * is cleared and filled in turns of 10,000 writes uses four times as much memory.
 */
const PLACES_PER_WRITE = 8;
/**
 * Places that a write without memory visits. After 1 ms instead, more writes fail: an extent is
 * free only when most of its partition has been visited.
 */
const PLACES_WHEN_FULL = 8192;
const STEP_MS = 1;
const PAUSE_MS = 2;
/** Pause between two rounds: a multiple of the working time, with a minimum and a maximum. */
const ROUND_PAUSE_SHARE = 15;
const ROUND_PAUSE_MS_MIN = 1000;
const ROUND_PAUSE_MS_MAX = 10_000;
/** The wall clock may be set; a change is noticed within this time, in ms. */
const TIMER_MS_MAX = 60_000;
const NEVER = Number.POSITIVE_INFINITY;

/** A walk over one partition. */
interface Cursor {
  readonly partition: Partition;
  place: number;
  /** The earliest due time of the entries that remain. */
  leftDueMs: number;
}

export class Sweeper implements Visitor {
  readonly #store: CellStore;
  readonly #maps: NameTable;
  readonly #contentTypes: NameTable;
  readonly #mapBytes: PagedDoubles;
  readonly #mapFlags: MapFlags;
  readonly #cleaner: Cleaner;
  readonly #expiry: Expiry;
  /** Ids of cleared maps: those that the current round serves, and those for the next one. */
  #serving: number[] = [];
  #waiting: number[] = [];
  #isUnderWay = false;
  /** The partition that is being walked over, if any, and the number of the next one. */
  #cursor: Cursor | undefined;
  #next = 0;
  /** The wall clock as of the current step. */
  #wallMs = 0;
  /** Working time of the round so far. */
  #workMs = 0;
  /** When the next round may begin, by the monotonic clock. */
  #restUntil = 0;
  #timer: Timer | undefined;
  /** When something is due, by the wall clock; 0 during a round, NEVER without a timer. */
  #timerMs = NEVER;
  readonly #step = () => this.#timerOnDue();
  /** Content types and maps of the entries that a walk has removed. */
  readonly #types: number[] = [];
  readonly #owners: number[] = [];

  constructor(shared: SharedComponents, cleaner: Cleaner, expiry: Expiry) {
    this.#store = shared.store;
    this.#maps = shared.mapNames;
    this.#contentTypes = shared.contentTypes;
    this.#mapBytes = shared.mapBytes;
    this.#mapFlags = shared.mapFlags;
    this.#cleaner = cleaner;
    this.#expiry = expiry;
  }

  /** Whether entries of cleared maps may remain. */
  get isClearing(): boolean {
    return this.#serving.length > 0 || this.#waiting.length > 0;
  }

  /** Registers a written entry that can expire. */
  add(partition: Partition, address: number): void {
    const { pool } = this.#store;
    const dueMs = dueMsAt(pool.words(address), pool.at(address));
    const cursor = this.#cursor;
    if (partition === cursor?.partition) cursor.leftDueMs = Math.min(cursor.leftDueMs, dueMs);
    if (dueMs >= partition.dueMs) return;
    partition.dueMs = dueMs;
    if (dueMs < this.#timerMs) this.#schedule(dueMs);
  }

  /** Retires the id of a cleared map: its entries are no longer found, and are to be removed. */
  retire(id: number): void {
    this.#maps.retire(id);
    if (this.#waiting.push(id) === 1) this.#setTimer(0, PAUSE_MS);
  }

  /** Has the entries that merged clears have ended (see MapFlags.end) removed. */
  removeEnded(): void {
    this.#mapFlags.hasEndedEntries = true;
    for (let number = 0; number < this.#store.partitionCount; number++) {
      const partition = this.#store.partition(number);
      if (partition !== undefined) partition.dueMs = 0;
    }
    if (this.#cursor !== undefined) this.#cursor.leftDueMs = 0;
    if (this.#timerMs > 0) this.#schedule(0);
  }

  /** Does the share of the work that is due with a write. */
  pay(): void {
    if (this.isClearing) this.#advance(PLACES_PER_WRITE);
  }

  /** Tries to reclaim memory for a write. Returns whether some may have been reclaimed. */
  help(): boolean {
    this.#wallMs = this.#store.clock.wall();
    if (this.#timerMs > this.#wallMs) return false;
    let places = PLACES_WHEN_FULL;
    for (; places > 0 && this.#timerMs <= this.#wallMs; places -= PLACES_PER_CLOCK_READ) {
      this.#advance(PLACES_PER_CLOCK_READ);
    }
    return true;
  }

  /** Removes every entry that is due, at once. */
  finishDue(): void {
    this.#wallMs = this.#store.clock.wall();
    if (this.#timerMs > this.#wallMs) return;
    const cursor = this.#cursor;
    for (let number = 0; number < this.#store.partitionCount; number++) {
      const partition = this.#store.partition(number);
      if (partition === undefined || partition.dueMs > this.#wallMs) continue;
      this.#open(partition);
      while (this.#cursor !== undefined) this.#walk(PLACES_PER_CLOCK_READ);
    }
    this.#cursor = cursor;
  }

  /** Removes the remaining entries of every cleared map, at once. Nothing expires meanwhile. */
  finishClears(): void {
    this.#wallMs = -1;
    while (this.isClearing) this.#advance(NEVER);
  }

  /** Returns a time before which the partition has no due entry that a round will not visit. */
  knownDueMs(partition: Partition): number {
    const cursor = this.#cursor;
    return partition === cursor?.partition
      ? Math.min(partition.dueMs, cursor.leftDueMs)
      : partition.dueMs;
  }

  /** Asserts that the fields are consistent. Returns the retired ids. */
  invariants(): Set<number> {
    assert.ok(this.#isUnderWay || this.#cursor === undefined, 'a walk of a round');
    assert.ok(this.#isUnderWay || this.#serving.length === 0, 'ids of the current round');
    assert.ok(!this.isClearing || this.#timerMs === 0, 'a timer for cleared maps');
    assert.deepEqual([this.#types, this.#owners], [[], []], 'names to be released');
    return new Set([...this.#serving, ...this.#waiting]);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Removes the entry if it has ended; see Visitor. */
  visit(address: number): boolean {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    if (kindAt(words, at) !== KIND_ENTRY) return false;
    const cursor = this.#cursor!;
    const map = ownerAt(words, at);
    if (this.#maps.address(map) !== 0) {
      const dueMs = this.#expiry.dueMs(words, at);
      if (dueMs > this.#wallMs || !this.#expiry.end(cursor.partition, address)) {
        cursor.leftDueMs = Math.min(cursor.leftDueMs, dueMs);
        return false;
      }
      this.#owners.push(map);
      this.#mapBytes.add(map, -bytesAt(words, at));
    }
    // Released later: a release may change the index that is being walked over.
    if (tagAt(words, at) !== 0) this.#types.push(tagAt(words, at));
    cursor.partition.log.kill(address);
    return true;
  }

  #timerOnDue(): void {
    const { clock } = this.#store;
    const began = clock.now();
    this.#wallMs = clock.wall();
    for (let now = began; now < began + STEP_MS; now = clock.now()) {
      if (!this.#advance(PLACES_PER_CLOCK_READ)) return;
    }
    this.#workMs += clock.now() - began;
    this.#setTimer(0, PAUSE_MS);
  }

  /** Walks over places of the round's next partition. Returns false at the end of the round. */
  #advance(places: number): boolean {
    if (!this.#isUnderWay) this.#begin();
    while (this.#cursor === undefined && this.#next < this.#store.partitionCount) {
      const partition = this.#store.partition(this.#next++);
      if (partition === undefined) continue;
      if (this.#serving.length > 0 || partition.dueMs <= this.#wallMs) this.#open(partition);
    }
    if (this.#cursor === undefined) this.#end();
    else this.#walk(places);
    return this.#isUnderWay;
  }

  #begin(): void {
    this.#isUnderWay = true;
    this.#timerMs = 0;
    this.#workMs = 0;
    this.#next = 0;
    this.#serving = this.#waiting;
    this.#waiting = [];
  }

  #open(partition: Partition): void {
    this.#cursor = { partition, place: 0, leftDueMs: NEVER };
  }

  #walk(places: number): void {
    const cursor = this.#cursor!;
    const { partition } = cursor;
    cursor.place = partition.walk(cursor.place, places, this);
    while (this.#types.length > 0) this.#contentTypes.release(this.#types.pop()!);
    while (this.#owners.length > 0) this.#maps.release(this.#owners.pop()!);
    partition.shrink();
    this.#cleaner.pay(partition);
    if (cursor.place < WALK_END) return;
    partition.dueMs = cursor.leftDueMs;
    this.#cursor = undefined;
  }

  #end(): void {
    this.#isUnderWay = false;
    for (const id of this.#serving) this.#maps.recycle(id);
    this.#serving = [];
    const pauseMs = Math.max(this.#workMs * ROUND_PAUSE_SHARE, ROUND_PAUSE_MS_MIN);
    this.#restUntil = this.#store.clock.now() + Math.min(pauseMs, ROUND_PAUSE_MS_MAX);
    let dueMs = NEVER;
    for (let number = 0; number < this.#store.partitionCount; number++) {
      dueMs = Math.min(dueMs, this.#store.partition(number)?.dueMs ?? NEVER);
    }
    if (dueMs > 0) this.#mapFlags.hasEndedEntries = false;
    if (this.#waiting.length > 0) this.#setTimer(0, PAUSE_MS);
    else this.#schedule(dueMs);
  }

  /** Sets the timer for a round at this time, or later after the pause. */
  #schedule(dueMs: number): void {
    const { clock } = this.#store;
    const dueInMs = Math.min(Math.max(dueMs - clock.wall(), 0), TIMER_MS_MAX);
    this.#setTimer(dueMs, Math.ceil(Math.max(dueInMs, this.#restUntil - clock.now())));
  }

  #setTimer(dueMs: number, delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = dueMs === NEVER ? undefined : this.#store.clock.after(delayMs, this.#step);
    this.#timerMs = dueMs;
  }
}
