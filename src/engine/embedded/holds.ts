/**
 * Open holds: items that were taken and are neither gone nor returned. Also the items that have
 * returned.
 *
 * An item has this life cycle on every engine. A hold is open in the two middle states:
 *
 *     waiting --take--> held --removal--> leaving --acknowledge--> gone
 *        ^               |                   |
 *        +----return-----+-------return------+
 *
 *     waiting  In its queue, counted and visible. A take makes it held.
 *     held     Out of its queue, for one take. Its removal is not made: if the process ends, the
 *              item is back in its queue. The engine moves it on when the removal is made, and
 *              back if the removal cannot be made.
 *     leaving  Removed, and recorded as removed; the take's result refers to it. The end of the
 *              process loses it. `acknowledge` moves it: on if it was delivered, back if not.
 *     gone     Removed for good. Without a hold an item is gone as soon as it is removed.
 *
 * The embedded engine passes through `held` within one call, so every item in this table is
 * leaving. An engine whose removal takes time, as on a distributed store, remains in `held` between
 * its two steps, and returns the item of a take that is cancelled meanwhile. With leases, a take
 * will have its result in `held`: its `acknowledge` makes the removal, or is LOST if the lease had
 * ended before.
 *
 * A returned item goes back to its old place near the front of its queue: each queue keeps a list
 * of returned items, ordered by sequence. As items mostly return in the order taken, a search
 * begins at the end of the list. Tested by waiters.spec.ts.
 */
import assert from 'node:assert/strict';
import { growArray } from '../../base/grow-array.ts';
import { TicketTable } from '../../base/ticket-table.ts';
import type { IdColumns } from './id-columns.ts';
import type { PagedIntegers } from './paged-array.ts';

export class Holds {
  readonly #table = new TicketTable();
  /** By place: the item, and for a returned item the place of the next one, or 0. */
  #queues = new Int32Array(this.#table.capacity);
  #sequences = new Float64Array(this.#table.capacity);
  #next = new Int32Array(this.#table.capacity);
  /** By queue: the held items. */
  readonly #held = new Map<number, Set<number>>();
  /** By queue: the number of returned items, and their list. */
  readonly #returned: PagedIntegers;
  readonly #firsts: PagedIntegers;
  readonly #lasts: PagedIntegers;
  #count = 0;

  constructor(queues: IdColumns) {
    this.#returned = queues.integers();
    this.#firsts = queues.integers();
    this.#lasts = queues.integers();
  }

  /** Number of open holds of all queues. */
  get count(): number {
    return this.#count;
  }

  /** Whether any item of the queue is held. */
  holdsAny(queue: number): boolean {
    return this.#count > 0 && this.#held.has(queue);
  }

  /** Returns the number of held items of the queue. */
  held(queue: number): number {
    return this.#held.get(queue)?.size ?? 0;
  }

  isHeld(queue: number, sequence: number): boolean {
    return this.#count > 0 && this.#held.get(queue)?.has(sequence) === true;
  }

  /** Returns the number of returned items of the queue. */
  returned(queue: number): number {
    return this.#returned.get(queue);
  }

  /** Returns the sequence of the returned item after `skip` others. */
  returnedAt(queue: number, skip: number): number {
    let place = this.#firsts.get(queue);
    for (let count = 0; count < skip; count++) place = this.#next[place]!;
    return this.#sequences[place]!;
  }

  /** Holds an item. Returns the hold, a ticket for the functions below. */
  add(queue: number, sequence: number): number {
    const items = this.#held.get(queue) ?? new Set();
    this.#held.set(queue, items.add(sequence));
    this.#count++;
    return this.#table.ticketOf(this.#allocate(queue, sequence));
  }

  /** Adds an item as if it had been held and returned. */
  addReturned(queue: number, sequence: number): void {
    this.#insert(this.#allocate(queue, sequence), queue);
  }

  /** Returns the number of returned items before this one. */
  returnedBefore(queue: number, sequence: number): number {
    let count = 0;
    let place = this.#firsts.get(queue);
    for (; this.#sequences[place]! < sequence; place = this.#next[place]!) count++;
    return count;
  }

  /** Removes the returned item after `skip` others; returns its sequence. */
  takeReturned(queue: number, skip: number): number {
    let before = 0;
    let place = this.#firsts.get(queue);
    for (let count = 0; count < skip; count++) {
      before = place;
      place = this.#next[place]!;
    }
    const next = this.#next[place]!;
    if (before === 0) this.#firsts.set(queue, next);
    else this.#next[before] = next;
    if (next === 0) this.#lasts.set(queue, before);
    this.#returned.set(queue, this.#returned.get(queue) - 1);
    this.#table.free(place);
    return this.#sequences[place]!;
  }

  /** Returns the place of a hold, or 0 if it has ended. */
  place(hold: number): number {
    return this.#table.indexOf(hold);
  }

  queueAt(place: number): number {
    return this.#queues[place]!;
  }

  sequenceAt(place: number): number {
    return this.#sequences[place]!;
  }

  /** Ends a hold; the item is gone. */
  end(place: number): void {
    const queue = this.#queues[place]!;
    const items = this.#held.get(queue);
    if (items?.delete(this.#sequences[place]!) !== true) assert.fail('the hold has already ended');
    if (items.size === 0) this.#held.delete(queue);
    this.#count--;
    this.#table.free(place);
  }

  /** Ends a hold; the item returns. */
  return(place: number): void {
    const queue = this.#queues[place]!;
    const sequence = this.#sequences[place]!;
    this.end(place);
    this.addReturned(queue, sequence);
  }

  /**
   * Asserts that the counts match the holds, and that only these queues have held items. O(holds).
   */
  invariants(queues: readonly number[]): void {
    this.#table.invariants();
    let count = 0;
    for (const [queue, items] of this.#held) {
      assert.ok(items.size > 0 && queues.includes(queue), 'a queue with holds');
      count += items.size;
    }
    assert.equal(count, this.#count, 'open holds');
    for (const queue of queues) count += this.#checkReturned(queue);
    assert.equal(count, this.#table.count, 'open holds and returned items');
  }

  /** Asserts that the list is in order. Returns its length. */
  #checkReturned(queue: number): number {
    let count = 0;
    let last = 0;
    for (let place = this.#firsts.get(queue); place !== 0; place = this.#next[place]!) {
      assert.equal(this.#queues[place], queue, 'queue of a returned item');
      const sequence = this.#sequences[place]!;
      assert.ok(last === 0 || this.#sequences[last]! < sequence, 'order of returned items');
      assert.ok(!this.isHeld(queue, sequence), 'a returned item is not held');
      last = place;
      count++;
    }
    assert.equal(this.#lasts.get(queue), last, 'the last returned item');
    assert.equal(this.#returned.get(queue), count, 'returned items');
    return count;
  }

  #allocate(queue: number, sequence: number): number {
    const place = this.#table.allocate();
    const { capacity } = this.#table;
    this.#queues = growArray(this.#queues, capacity);
    this.#sequences = growArray(this.#sequences, capacity);
    this.#next = growArray(this.#next, capacity);
    this.#queues[place] = queue;
    this.#sequences[place] = sequence;
    return place;
  }

  #insert(place: number, queue: number): void {
    const sequence = this.#sequences[place]!;
    const last = this.#lasts.get(queue);
    let before = 0;
    if (last !== 0 && this.#sequences[last]! < sequence) {
      before = last;
    } else {
      let after = this.#firsts.get(queue);
      while (after !== 0 && this.#sequences[after]! < sequence) {
        before = after;
        after = this.#next[after]!;
      }
    }
    const next = before === 0 ? this.#firsts.get(queue) : this.#next[before]!;
    this.#next[place] = next;
    if (before === 0) this.#firsts.set(queue, place);
    else this.#next[before] = place;
    if (next === 0) this.#lasts.set(queue, place);
    this.#returned.set(queue, this.#returned.get(queue) + 1);
  }
}
