/**
 * Allocates indexes for waiting operations. An index is allocated, freed and reused in O(1) and without
 * an object. Whoever allocates an index gets a ticket: a number made of the index and its present use.
 * So an outdated ticket is detected and never refers to another operation. The owner of the table
 * stores the data of the indexes in its own arrays of `capacity` elements.
 *
 * A ticket is the index plus 2^26 times its use, so it is an exact number for 2^27 uses of an index;
 * then the uses start again at 0. 0 is never a ticket.
 */
import assert from 'node:assert/strict';
import { growArray } from './grow-array.ts';

const INDEXES_MAX = 2 ** 26;
const USES = 2 ** 27;
const CAPACITY_MIN = 16;
/** Value of `#next` for an index in use. */
const IN_USE = -1;

export class TicketTable {
  /**
   * Number of elements that the owner's arrays need: indexes are 1 to capacity - 1. Only grows, by
   * doubling.
   */
  capacity = CAPACITY_MIN;
  /** Number of indexes in use. */
  count = 0;
  /** Number of the present use of each index. */
  #uses = new Int32Array(CAPACITY_MIN);
  /** The next free index, 0 for none; or IN_USE. */
  #next = new Int32Array(CAPACITY_MIN);
  #firstFree = 0;
  /** The lowest index that was never used. */
  #end = 1;

  /** Allocates a free index. The owner's arrays may have to grow to `capacity`. */
  allocate(): number {
    let index = this.#firstFree;
    if (index !== 0) {
      this.#firstFree = this.#next[index]!;
    } else {
      if (this.#end === this.capacity) this.#grow();
      index = this.#end++;
    }
    this.#next[index] = IN_USE;
    this.count++;
    return index;
  }

  /** Frees an index, which invalidates its ticket. */
  free(index: number): void {
    if (this.#next[index] !== IN_USE) assert.fail('an index is freed once');
    this.#uses[index] = (this.#uses[index]! + 1) % USES;
    this.#next[index] = this.#firstFree;
    this.#firstFree = index;
    this.count--;
  }

  /** Returns the ticket of an index in use. */
  ticketOf(index: number): number {
    return this.#uses[index]! * INDEXES_MAX + index;
  }

  /** Returns the index of the ticket, or 0 if the index has been freed since. */
  indexOf(ticket: number): number {
    const index = ticket % INDEXES_MAX;
    if (!(index > 0 && index < this.#end) || this.#next[index] !== IN_USE) return 0;
    return this.ticketOf(index) === ticket ? index : 0;
  }

  /** Asserts that each index is either in use or in the list of free ones. O(capacity). */
  invariants(): void {
    const isFree = new Set<number>();
    for (let index = this.#firstFree; index !== 0; index = this.#next[index]!) {
      assert.ok(index > 0 && index < this.#end && !isFree.has(index), 'list of free indexes');
      isFree.add(index);
    }
    let used = 0;
    for (let index = 1; index < this.#end; index++) if (this.#next[index] === IN_USE) used++;
    assert.equal(used, this.count, 'indexes in use');
    assert.equal(used + isFree.size, this.#end - 1, 'indexes in use and free');
  }

  #grow(): void {
    if (this.capacity === INDEXES_MAX) {
      throw new RangeError(`Cannot allocate an index: ${INDEXES_MAX - 1} are in use`);
    }
    this.capacity *= 2;
    this.#uses = growArray(this.#uses, this.capacity);
    this.#next = growArray(this.#next, this.capacity);
  }
}
