/**
 * Items that a taker holds, some of which are leaving: their removal is recorded, and is still to be
 * concluded. And items that were held and have returned. A returned item is one of
 * the queue's first again, at its old place: each queue has a list of them, by sequence. As items
 * come back mostly in the order taken, its end is looked at before the rest is walked through.
 */
import { grown } from '../../base/grown.ts';
import { TicketTable } from '../../base/ticket-table.ts';
import type { IdColumns } from './id-columns.ts';
import type { PagedIntegers } from './paged-array.ts';

export class Holds {
  readonly #table = new TicketTable();
  /** By place: the item, and if it has returned the next one that has, or 0. */
  #queues = new Int32Array(this.#table.capacity);
  #sequences = new Float64Array(this.#table.capacity);
  #next = new Int32Array(this.#table.capacity);
  /** By queue: items held, and the list of those returned. */
  readonly #held: PagedIntegers;
  /** By queue: held items that are leaving. */
  readonly #leaving = new Map<number, Set<number>>();
  readonly #returned: PagedIntegers;
  readonly #firsts: PagedIntegers;
  readonly #lasts: PagedIntegers;

  constructor(queues: IdColumns) {
    this.#held = queues.integers();
    this.#returned = queues.integers();
    this.#firsts = queues.integers();
    this.#lasts = queues.integers();
  }

  /** Items of the queue that are held. */
  held(queue: number): number {
    return this.#held.get(queue);
  }

  /** How many of them are leaving. */
  leaving(queue: number): number {
    return this.#leaving.get(queue)?.size ?? 0;
  }

  isLeaving(queue: number, sequence: number): boolean {
    return this.#leaving.get(queue)?.has(sequence) === true;
  }

  /** The held item is leaving from now on, until the hold ends. */
  leave(place: number): void {
    const queue = this.#queues[place]!;
    const items = this.#leaving.get(queue) ?? new Set();
    this.#leaving.set(queue, items.add(this.#sequences[place]!));
  }

  /** Items of the queue that have returned. */
  returned(queue: number): number {
    return this.#returned.get(queue);
  }

  /** Sequence of the returned item that `skip` others come before. */
  returnedAt(queue: number, skip: number): number {
    let place = this.#firsts.get(queue);
    for (let count = 0; count < skip; count++) place = this.#next[place]!;
    return this.#sequences[place]!;
  }

  /** Holds an item; the hold is a ticket for the functions below. */
  add(queue: number, sequence: number): number {
    const place = this.#take(queue, sequence);
    this.#held.set(queue, this.#held.get(queue) + 1);
    return this.#table.ticket(place);
  }

  /** Adds an item as if it had been held and returned. */
  addReturned(queue: number, sequence: number): void {
    this.#insert(this.#take(queue, sequence), queue);
  }

  /** How many returned items come before that one. */
  returnedBefore(queue: number, sequence: number): number {
    let count = 0;
    let place = this.#firsts.get(queue);
    for (; this.#sequences[place]! < sequence; place = this.#next[place]!) count++;
    return count;
  }

  /** Takes away the returned item that `skip` others come before; returns its sequence. */
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

  /** The place of a hold, or 0 when it has ended. */
  place(hold: number): number {
    return this.#table.place(hold);
  }

  queueAt(place: number): number {
    return this.#queues[place]!;
  }

  sequenceAt(place: number): number {
    return this.#sequences[place]!;
  }

  /** Ends a hold for good. */
  end(place: number): void {
    const queue = this.#queues[place]!;
    this.#held.set(queue, this.#held.get(queue) - 1);
    const leaving = this.#leaving.get(queue);
    if (leaving?.delete(this.#sequences[place]!) && leaving.size === 0) this.#leaving.delete(queue);
    this.#table.free(place);
  }

  /** Ends a hold; the item returns. */
  giveBack(place: number): void {
    const queue = this.#queues[place]!;
    const sequence = this.#sequences[place]!;
    this.end(place);
    this.addReturned(queue, sequence);
  }

  #take(queue: number, sequence: number): number {
    const place = this.#table.take();
    const { capacity } = this.#table;
    this.#queues = grown(this.#queues, capacity);
    this.#sequences = grown(this.#sequences, capacity);
    this.#next = grown(this.#next, capacity);
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
