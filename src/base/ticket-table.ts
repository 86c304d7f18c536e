/**
 * Numbered slots for waiting operations. A slot is allocated, freed and reused in O(1) and without
 * an object. Whoever allocates a slot gets a ticket: a number made of the slot and its present use.
 * So an outdated ticket is detected and never refers to another operation. The owner of the table
 * stores the data of the slots in its own arrays of `capacity` elements.
 *
 * A ticket is the slot plus 2^26 times its use, so it is an exact number for 2^27 uses of a slot;
 * then the uses start again at 0. 0 is never a ticket.
 */
import assert from 'node:assert/strict';
import { grown } from './grown.ts';

const PLACES_MAX = 2 ** 26;
const USES = 2 ** 27;
const CAPACITY_MIN = 16;
/** Value of `#next` for a slot in use. */
const TAKEN = -1;

export class TicketTable {
  /**
   * Number of slots plus 1: slots are numbered from 1 to capacity - 1. Only grows, by doubling.
   */
  capacity = CAPACITY_MIN;
  /** Number of slots in use. */
  count = 0;
  /** Number of the present use of each slot. */
  #uses = new Int32Array(CAPACITY_MIN);
  /** The next free slot, 0 for none; or TAKEN. */
  #next = new Int32Array(CAPACITY_MIN);
  #firstFree = 0;
  /** The lowest slot that was never used. */
  #end = 1;

  /** Allocates a free slot. The owner's arrays may have to grow to `capacity`. */
  take(): number {
    let place = this.#firstFree;
    if (place !== 0) {
      this.#firstFree = this.#next[place]!;
    } else {
      if (this.#end === this.capacity) this.#grow();
      place = this.#end++;
    }
    this.#next[place] = TAKEN;
    this.count++;
    return place;
  }

  /** Frees a slot, which invalidates its ticket. */
  free(place: number): void {
    if (this.#next[place] !== TAKEN) assert.fail('a slot is freed once');
    this.#uses[place] = (this.#uses[place]! + 1) % USES;
    this.#next[place] = this.#firstFree;
    this.#firstFree = place;
    this.count--;
  }

  /** Returns the ticket of a slot in use. */
  ticket(place: number): number {
    return this.#uses[place]! * PLACES_MAX + place;
  }

  /** Returns the slot of the ticket, or 0 if the slot has been freed since. */
  place(ticket: number): number {
    const place = ticket % PLACES_MAX;
    if (!(place > 0 && place < this.#end) || this.#next[place] !== TAKEN) return 0;
    return this.ticket(place) === ticket ? place : 0;
  }

  /** Asserts that each slot is either in use or in the list of free ones. O(capacity). */
  invariants(): void {
    const isFree = new Set<number>();
    for (let place = this.#firstFree; place !== 0; place = this.#next[place]!) {
      assert.ok(place > 0 && place < this.#end && !isFree.has(place), 'list of free slots');
      isFree.add(place);
    }
    let taken = 0;
    for (let place = 1; place < this.#end; place++) if (this.#next[place] === TAKEN) taken++;
    assert.equal(taken, this.count, 'slots in use');
    assert.equal(taken + isFree.size, this.#end - 1, 'slots in use and free');
  }

  #grow(): void {
    if (this.capacity === PLACES_MAX) {
      throw new RangeError(`Cannot allocate a slot: ${PLACES_MAX - 1} are in use`);
    }
    this.capacity *= 2;
    this.#uses = grown(this.#uses, this.capacity);
    this.#next = grown(this.#next, this.capacity);
  }
}
