/**
 * Reclaims the entries of cleared maps. A clear only retires the map's id: its entries can no
 * longer be found, but remain in the partitions' indexes until a pass over all of them has removed
 * them. Then the id may be reused. One pass serves every id that was retired before it began. Each
 * write to a partition that the pass has not finished does a little of its work. A timer does the
 * rest, in short steps with pauses that leave the processor to requests. It keeps an idle process
 * neither busy nor alive.
 */
import assert from 'node:assert/strict';
import type { Clock, Timer } from '../../base/clock.ts';
import { KIND_ENTRY, kindAt, ownerAt, tagAt } from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Cleaner } from './cleaner.ts';
import type { Expiry } from './expiry.ts';
import { type Visitor, WALK_END } from './hash-index.ts';
import type { NameTable } from './name-table.ts';
import type { Partition } from './partition.ts';
import type { SharedComponents } from './shared-components.ts';

/** Places of the index visited for each write: a partition is finished after count/8 writes. */
const PLACES_PER_WRITE = 16;
/** Places visited between two readings of the clock; well under 0.1 ms. */
const PLACES_PER_CLOCK_READ = 128;
const STEP_MS = 1;
const PAUSE_MS = 2;
/** Places that a write without memory visits; about 1 ms. */
const PLACES_WHEN_FULL = 8192;

export class Sweeper implements Visitor {
  readonly #store: CellStore;
  readonly #clock: Clock;
  readonly #maps: NameTable;
  readonly #contentTypes: NameTable;
  readonly #cleaner: Cleaner;
  readonly #expiry: Expiry;
  /** Ids that the current pass serves, and those for the next one. */
  #serving: number[] = [];
  #waiting: number[] = [];
  /** Number of partitions that the pass has not finished, and one below which all are finished. */
  #remaining = 0;
  #lowest = 0;
  #timer: Timer | undefined;
  readonly #step = () => this.#timerOnDue();
  /** During a walk: its partition, and the content types of the removed entries. */
  #partition: Partition | undefined;
  readonly #types: number[] = [];

  constructor(shared: SharedComponents, cleaner: Cleaner, expiry: Expiry) {
    this.#store = shared.store;
    this.#clock = shared.store.clock;
    this.#maps = shared.mapNames;
    this.#contentTypes = shared.contentTypes;
    this.#cleaner = cleaner;
    this.#expiry = expiry;
  }

  /** Whether entries of cleared maps may remain. */
  get busy(): boolean {
    return this.#serving.length > 0;
  }

  /** Registers a retired map id, whose entries are to be removed. */
  add(id: number): void {
    this.#waiting.push(id);
    if (!this.busy) this.#begin();
  }

  /** Does the share of the work that is due with a write to the partition. */
  pay(partition: Partition): void {
    if (partition.sweptTo < WALK_END) this.#sweep(partition, PLACES_PER_WRITE);
  }

  /** Tries to reclaim memory for a write. Returns whether some may have been reclaimed. */
  help(): boolean {
    if (!this.busy) return this.#expiry.help(PLACES_WHEN_FULL);
    for (let places = 0; places < PLACES_WHEN_FULL; places += PLACES_PER_CLOCK_READ) {
      const partition = this.#lowestLeft();
      if (partition === undefined) break;
      this.#sweep(partition, PLACES_PER_CLOCK_READ);
    }
    return true;
  }

  /** Removes the remaining entries of every cleared map, at once. */
  finish(): void {
    for (let partition = this.#first(); partition !== undefined; partition = this.#first()) {
      this.#sweep(partition, Number.POSITIVE_INFINITY);
    }
  }

  /**
   * Asserts that the count of unfinished partitions is correct. Returns the retired ids.
   * O(partitions).
   */
  invariants(): Set<number> {
    let remaining = 0;
    for (let number = 0; number < this.#store.partitionCount; number++) {
      const partition = this.#store.partition(number);
      if (partition === undefined || partition.sweptTo === WALK_END) continue;
      assert.ok(number >= this.#lowest, 'the lowest unfinished partition');
      remaining++;
    }
    assert.equal(this.#remaining, remaining, 'unfinished partitions');
    assert.equal(this.busy, remaining > 0, 'ids of the current pass');
    assert.ok(this.busy || this.#waiting.length === 0, 'ids for the next pass');
    assert.equal(this.#types.length, 0, 'content types to be released');
    return new Set([...this.#serving, ...this.#waiting]);
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Removes the entry if its map is retired; see Visitor. */
  visit(address: number): boolean {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    if (kindAt(words, at) !== KIND_ENTRY || this.#maps.address(ownerAt(words, at)) !== 0) {
      return false;
    }
    // Released later: a release may change the index that is being walked over.
    if (tagAt(words, at) !== 0) this.#types.push(tagAt(words, at));
    this.#partition!.log.kill(address);
    return true;
  }

  #begin(): void {
    this.#serving = this.#waiting;
    this.#waiting = [];
    this.#lowest = 0;
    for (let number = 0; number < this.#store.partitionCount; number++) {
      const partition = this.#store.partition(number);
      if (partition === undefined || partition.count === 0) continue;
      partition.sweptTo = 0;
      this.#remaining++;
    }
    if (this.#remaining === 0) this.#end();
    else this.#timer ??= this.#clock.after(PAUSE_MS, this.#step);
  }

  #end(): void {
    for (const id of this.#serving) this.#maps.recycle(id);
    this.#serving = [];
    if (this.#waiting.length > 0) this.#begin();
  }

  #sweep(partition: Partition, places: number): void {
    this.#partition = partition;
    partition.sweptTo = partition.walk(partition.sweptTo, places, this);
    this.#partition = undefined;
    while (this.#types.length > 0) this.#contentTypes.release(this.#types.pop()!);
    partition.shrink();
    this.#cleaner.pay(partition);
    if (partition.sweptTo < WALK_END) return;
    this.#remaining--;
    if (this.#remaining === 0) this.#end();
  }

  #timerOnDue(): void {
    this.#timer = undefined;
    const until = this.#clock.now() + STEP_MS;
    do {
      const partition = this.#lowestLeft();
      if (partition === undefined) return;
      this.#sweep(partition, PLACES_PER_CLOCK_READ);
    } while (this.#clock.now() < until);
    if (this.busy) this.#timer ??= this.#clock.after(PAUSE_MS, this.#step);
  }

  /** Returns the first unfinished partition, of this pass or the next. */
  #first(): Partition | undefined {
    return this.busy ? this.#lowestLeft() : undefined;
  }

  #lowestLeft(): Partition | undefined {
    for (; this.#lowest < this.#store.partitionCount; this.#lowest++) {
      const partition = this.#store.partition(this.#lowest);
      if (partition !== undefined && partition.sweptTo < WALK_END) return partition;
    }
    return undefined;
  }
}
