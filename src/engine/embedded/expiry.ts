/**
 * Removes expired entries: their time to live has ended, or they were not read for their max idle.
 * A read removes such an entry and does not find it (`read`); the memory of entries that are not
 * read is reclaimed in rounds. Each partition has a time before which none of its entries expires.
 * A round walks over the partitions whose time has passed, in short steps with pauses, and
 * determines the next such time. The next round begins after 15 times the working time of the last
 * one, between one and ten seconds, so that expiry uses a sixteenth of the processor, or more if
 * the limit of 10 s requires it.
 *
 * Times are wall-clock times, as they must mean the same after a restart. The removal of an expired
 * entry is a mutation, which the sinks are asked about; if they refuse it, the entry remains but is
 * not visible.
 */
import type { Timer } from '../../base/clock.ts';
import { EXPIRE, FROM_CLIENT, Mutation } from '../mutation.ts';
import {
  dueMsAt,
  EXPIRES,
  flagsAt,
  KIND_ENTRY,
  keyAt,
  keyLengthAt,
  kindAt,
  ownerAt,
  tagAt,
  touchAt,
  versionHighAt,
  versionLowAt,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Cleaner } from './cleaner.ts';
import { type Visitor, WALK_END } from './hash-index.ts';
import type { MapFlags } from './map-flags.ts';
import type { NameTable } from './name-table.ts';
import type { PagedPairs } from './paged-array.ts';
import type { PartialClears } from './partial-clears.ts';
import type { Partition } from './partition.ts';
import type { Recorder } from './recorder.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Tombstones } from './tombstones.ts';

/** Places visited between two readings of the clock; well under 0.1 ms. */
const PLACES_PER_CLOCK_READ = 128;
const STEP_MS = 1;
const PAUSE_MS = 2;
/**
 * Pause between the end of a round and the next: a multiple of its duration, with a minimum and a
 * maximum.
 */
const ROUND_PAUSE_SHARE = 15;
const ROUND_PAUSE_MS_MIN = 1000;
const ROUND_PAUSE_MS_MAX = 10_000;
/** The wall clock may be set; a change is noticed within this time, in ms. */
const TIMER_MS_MAX = 60_000;
const NEVER = Number.POSITIVE_INFINITY;

export class Expiry implements Visitor {
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #lives: PagedPairs;
  readonly #cleaner: Cleaner;
  readonly #recorder: Recorder;
  readonly #mapFlags: MapFlags;
  readonly #tombstones: Tombstones;
  readonly #partialClears: PartialClears;
  readonly #draft = new Mutation();
  /**
   * The partition being walked over, the position, and the earliest due time of the entries that
   * remain.
   */
  #partition: Partition | undefined;
  #place = WALK_END;
  #leftDueMs = NEVER;
  /** The wall clock as of the current step or read. */
  #wallMs = 0;
  /** Content types of the entries that a walk has removed. */
  readonly #types: number[] = [];
  readonly #owners: number[] = [];
  /** The partition with which the round continues, and its working time so far. */
  #next = 0;
  #workMs = 0;
  #timer: Timer | undefined;
  /** When the timer is due, by the wall clock; NEVER without a timer, 0 during a round. */
  #timerMs = NEVER;
  /** When the next round may begin, by the monotonic clock. */
  #restUntil = 0;
  readonly #step = () => this.#timerOnDue();
  readonly #begin = () => this.#roundOnDue();

  constructor(shared: SharedComponents, cleaner: Cleaner) {
    this.#store = shared.store;
    this.#names = shared.mapNames;
    this.#contentTypes = shared.contentTypes;
    this.#lives = shared.lives;
    this.#recorder = shared.recorder;
    this.#mapFlags = shared.mapFlags;
    this.#tombstones = shared.tombstones;
    this.#partialClears = shared.partialClears;
    this.#cleaner = cleaner;
  }

  /** Registers a written entry that can expire. */
  add(partition: Partition, address: number): void {
    const { pool } = this.#store;
    const dueMs = dueMsAt(pool.words(address), pool.at(address));
    if (partition === this.#partition) this.#leftDueMs = Math.min(this.#leftDueMs, dueMs);
    if (dueMs >= partition.dueMs) return;
    partition.dueMs = dueMs;
    if (dueMs < this.#timerMs) this.#arm(dueMs);
  }

  /** Handles a read of the entry. Returns whether it still exists; an expired entry is removed. */
  read(partition: Partition, address: number): boolean {
    const { pool, clock } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    if ((flagsAt(words, at) & EXPIRES) === 0 && !this.#partialClears.isActive) return true;
    this.#wallMs = clock.wall();
    if (dueMsAt(words, at) > this.#wallMs && !this.#partialClears.has(words, at)) {
      touchAt(words, at, this.#wallMs);
      return true;
    }
    if (!this.#ends(partition, address)) return false;
    const type = tagAt(words, at);
    const owner = ownerAt(words, at);
    partition.remove(this.#store.hashAt(words, at), address);
    if (type !== 0) this.#contentTypes.release(type);
    this.#names.release(owner);
    this.#cleaner.pay(partition);
    return false;
  }

  /** Whether the entry, of any partition, has expired and must not be visible. */
  hasExpired(words: Int32Array, at: number): boolean {
    if ((flagsAt(words, at) & EXPIRES) === 0) return false;
    return dueMsAt(words, at) <= this.#store.clock.wall();
  }

  /**
   * Schedules a round over all partitions, to remove the entries of a partial clear
   * (partial-clears.ts).
   */
  beginPartialClear(): void {
    for (let number = 0; number < this.#store.partitionCount; number++) {
      const partition = this.#store.partition(number);
      if (partition !== undefined) partition.dueMs = 0;
    }
    this.#leftDueMs = 0;
    if (this.#timerMs > 0) this.#arm(0);
  }

  /** Removes everything that is due, at once. */
  finish(): void {
    if (this.#timerMs === NEVER) return;
    this.#wallMs = this.#store.clock.wall();
    if (this.#partition !== undefined) this.#walk(NEVER);
    for (let number = 0; number < this.#store.partitionCount; number++) {
      if (this.#open(number)) this.#walk(NEVER);
    }
  }

  /** Visits up to `places` places at which an entry may be due; returns whether there were any. */
  help(places: number): boolean {
    if (this.#timerMs === NEVER) return false;
    this.#wallMs = this.#store.clock.wall();
    if (this.#partition === undefined && !this.#openNext(0)) return false;
    this.#walk(places);
    return true;
  }

  /** Returns a time before which the partition has no due entry that a round will not visit. */
  knownDueMs(partition: Partition): number {
    return partition === this.#partition
      ? Math.min(partition.dueMs, this.#leftDueMs)
      : partition.dueMs;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Removes the entry if it is due; see Visitor. */
  visit(address: number): boolean {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    if (kindAt(words, at) !== KIND_ENTRY) return false;
    const isCleared = this.#partialClears.has(words, at);
    if (!isCleared && (flagsAt(words, at) & EXPIRES) === 0) return false;
    const owner = ownerAt(words, at);
    // Entries of cleared maps are left to the sweeper.
    if (this.#names.address(owner) === 0) return false;
    const dueMs = isCleared ? 0 : dueMsAt(words, at);
    if (dueMs > this.#wallMs || !this.#ends(this.#partition!, address)) {
      this.#leftDueMs = Math.min(this.#leftDueMs, dueMs);
      return false;
    }
    // Released later: a release may change the index that is being walked over.
    if (tagAt(words, at) !== 0) this.#types.push(tagAt(words, at));
    this.#owners.push(owner);
    this.#partition!.log.kill(address);
    return true;
  }

  /** Whether the sinks consent to the removal of the entry; if so, they are notified of it. */
  #ends(partition: Partition, address: number): boolean {
    const store = this.#store;
    const sequence = store.next(partition.number);
    const owner = ownerAt(store.pool.words(address), store.pool.at(address));
    const keepsTombstone = this.#mapFlags.isActive && this.#mapFlags.keepsTombstones(owner);
    if (this.#recorder.isActive || keepsTombstone) {
      const bytes = store.pool.bytes(address);
      const words = store.pool.words(address);
      const at = store.pool.at(address);
      const key = keyAt(words, at) * 4;
      const draft = this.#draft;
      store.versions.tick();
      draft.operation = EXPIRE;
      draft.origin = FROM_CLIENT;
      draft.partition = partition.number;
      draft.sequence = sequence;
      this.#names.name(owner, draft.name);
      draft.key.set(bytes, key, key + keyLengthAt(words, at));
      draft.version.set(store.versions.low, store.versions.high);
      draft.replaced.set(versionLowAt(words, at), versionHighAt(words, at));
      this.#lives.get(owner, draft.life);
      draft.tombstone.clear();
      // The map's tombstone covers a partial clear's entries. An expiry leaves a tombstone just
      // below the entry's version: a set of that version whose life ends later still wins.
      if (this.#partialClears.has(words, at)) this.#partialClears.read(owner, draft.version);
      else if (keepsTombstone) draft.tombstone.copyFrom(draft.replaced).stepBack();
      if (!this.#admits(owner)) return false;
      this.#recorder.recordIfAdmitted(draft);
      this.#tombstones.add(draft);
    }
    store.raise(partition.number, sequence);
    return true;
  }

  #admits(owner: number): boolean {
    if (!this.#recorder.isActive) return true;
    if (!this.#mapFlags.isActive) return this.#recorder.admits(this.#draft);
    return this.#recorder.admits(this.#draft, this.#mapFlags.sinksOf(owner));
  }

  /** Begins to walk over the partition, if an entry may be due in it. */
  #open(number: number): boolean {
    const partition = this.#store.partition(number);
    if (partition === undefined || partition.dueMs > this.#wallMs) return false;
    this.#partition = partition;
    this.#place = 0;
    this.#leftDueMs = NEVER;
    return true;
  }

  /** Begins with the first partition, from `from` on, in which an entry may be due. */
  #openNext(from: number): boolean {
    for (this.#next = from; this.#next < this.#store.partitionCount; this.#next++) {
      if (this.#open(this.#next)) return true;
    }
    return false;
  }

  /** Walks over up to `places` places of the current partition. */
  #walk(places: number): void {
    const partition = this.#partition!;
    for (let rest = places; rest > 0 && this.#place < WALK_END; rest -= PLACES_PER_CLOCK_READ) {
      this.#place = partition.walk(this.#place, PLACES_PER_CLOCK_READ, this);
      while (this.#types.length > 0) this.#contentTypes.release(this.#types.pop()!);
      while (this.#owners.length > 0) this.#names.release(this.#owners.pop()!);
      partition.shrink();
      this.#cleaner.pay(partition);
    }
    if (this.#place < WALK_END) return;
    partition.dueMs = this.#leftDueMs;
    this.#partition = undefined;
    this.#next = partition.number + 1;
  }

  #roundOnDue(): void {
    this.#next = 0;
    this.#workMs = 0;
    this.#timerMs = 0;
    this.#timerOnDue();
  }

  #timerOnDue(): void {
    const { clock } = this.#store;
    const began = clock.now();
    this.#wallMs = clock.wall();
    let now = began;
    let isDone = false;
    while (!isDone && now < began + STEP_MS) {
      isDone = this.#partition === undefined && !this.#openNext(this.#next);
      if (!isDone) this.#walk(PLACES_PER_CLOCK_READ);
      now = clock.now();
    }
    this.#workMs += now - began;
    if (isDone) this.#rest(now);
    else this.#timer = clock.after(PAUSE_MS, this.#step);
  }

  /** Ends the round. */
  #rest(now: number): void {
    const pauseMs = Math.max(this.#workMs * ROUND_PAUSE_SHARE, ROUND_PAUSE_MS_MIN);
    this.#restUntil = now + Math.min(pauseMs, ROUND_PAUSE_MS_MAX);
    this.#timer = undefined;
    this.#timerMs = NEVER;
    let dueMs = NEVER;
    for (let number = 0; number < this.#store.partitionCount; number++) {
      dueMs = Math.min(dueMs, this.#store.partition(number)?.dueMs ?? NEVER);
    }
    if (dueMs > 0) this.#partialClears.endAll();
    if (dueMs < NEVER) this.#arm(dueMs);
  }

  #arm(dueMs: number): void {
    const { clock } = this.#store;
    const dueInMs = Math.min(Math.max(dueMs - clock.wall(), 0), TIMER_MS_MAX);
    const delayMs = Math.ceil(Math.max(dueInMs, this.#restUntil - clock.now()));
    this.#timer?.cancel();
    this.#timer = clock.after(delayMs, this.#begin);
    this.#timerMs = dueMs;
  }
}
