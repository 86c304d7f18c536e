/**
 * Numbered places for waiting things. Each place is taken, freed and taken again, in O(1) and without
 * an object. A caller that takes a place gets a ticket: a number with the place and its present use. So
 * an outdated ticket is detected and does not refer to another caller's thing. The owner of the table
 * stores the data of the places in arrays of its own, of `capacity` elements.
 *
 * A ticket is the place plus 2^26 times its use, so it stays an exact number for 2^27 uses of one
 * place; then the uses start again at 0. 0 is no ticket.
 */
import assert from 'node:assert/strict';
import { grown } from './grown.ts';

const PLACES_MAX = 2 ** 26;
const USES = 2 ** 27;
const CAPACITY_MIN = 16;
/** Value of `#next` for a place in use. */
const TAKEN = -1;

export class TicketTable {
  /** Places, numbered from 1 (0 is none) to capacity - 1. Grows only, by doubling. */
  capacity = CAPACITY_MIN;
  /** Places in use. */
  count = 0;
  /** Number of the present use of each place. */
  #uses = new Int32Array(CAPACITY_MIN);
  /** The next free place, 0 for none; or TAKEN. */
  #next = new Int32Array(CAPACITY_MIN);
  #firstFree = 0;
  /** Places from here on were never used. */
  #end = 1;

  /** Takes a free place. The owner's arrays may have to grow to `capacity`. */
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

  /** Frees a place; its ticket is invalid from now on. */
  free(place: number): void {
    if (this.#next[place] !== TAKEN) assert.fail('a place is freed once');
    this.#uses[place] = (this.#uses[place]! + 1) % USES;
    this.#next[place] = this.#firstFree;
    this.#firstFree = place;
    this.count--;
  }

  /** The ticket of a place in use. */
  ticket(place: number): number {
    return this.#uses[place]! * PLACES_MAX + place;
  }

  /** The place that the ticket was made for, or 0 when it has been freed since. */
  place(ticket: number): number {
    const place = ticket % PLACES_MAX;
    if (!(place > 0 && place < this.#end) || this.#next[place] !== TAKEN) return 0;
    return this.ticket(place) === ticket ? place : 0;
  }

  /** Asserts that each place is either in use or in the list of the free ones. O(capacity). */
  invariants(): void {
    const isFree = new Set<number>();
    for (let place = this.#firstFree; place !== 0; place = this.#next[place]!) {
      assert.ok(place > 0 && place < this.#end && !isFree.has(place), 'list of free places');
      isFree.add(place);
    }
    let taken = 0;
    for (let place = 1; place < this.#end; place++) if (this.#next[place] === TAKEN) taken++;
    assert.equal(taken, this.count, 'places in use');
    assert.equal(taken + isFree.size, this.#end - 1, 'places in use and free');
  }

  #grow(): void {
    if (this.capacity === PLACES_MAX) {
      throw new RangeError(`Cannot take a place: ${PLACES_MAX - 1} are in use`);
    }
    this.capacity *= 2;
    this.#uses = grown(this.#uses, this.capacity);
    this.#next = grown(this.#next, this.capacity);
  }
}
