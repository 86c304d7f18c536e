/**
 * Takes that wait for an item: one list per queue, first come, first served, and a deadline for
 * each on one timing wheel. Adding, removing the first and cancelling are O(1), for any number of
 * waiters.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../base/clock.ts';
import { growArray } from '../../base/grow-array.ts';
import { TicketTable } from '../../base/ticket-table.ts';
import { TimerWheel } from '../../base/timer-wheel.ts';
import type { Receiver } from '../engine.ts';
import type { IdColumns } from './id-columns.ts';
import type { PagedIntegers } from './paged-array.ts';

export class Waiters {
  readonly #clock: Clock;
  readonly #wheel: TimerWheel;
  readonly #table = new TicketTable();
  /** By place: the receiver, its queue, its neighbours in the queue's list, and its deadline. */
  readonly #receivers: (Receiver | undefined)[] = [undefined];
  #queues = new Int32Array(this.#table.capacity);
  #next = new Int32Array(this.#table.capacity);
  #previous = new Int32Array(this.#table.capacity);
  #deadlines = new Float64Array(this.#table.capacity);
  /** By queue: first and last place, and number of waiters. */
  readonly #firsts: PagedIntegers;
  readonly #lasts: PagedIntegers;
  readonly #counts: PagedIntegers;

  /** `onDue` is called with the ticket of a waiter whose time is over; the waiter still exists. */
  constructor(clock: Clock, queues: IdColumns, onDue: (ticket: number) => void) {
    this.#clock = clock;
    this.#wheel = new TimerWheel(clock, onDue);
    this.#firsts = queues.integers();
    this.#lasts = queues.integers();
    this.#counts = queues.integers();
  }

  /** Returns the number of waiters of the queue. */
  count(queue: number): number {
    return this.#counts.get(queue);
  }

  /** Adds a waiter after all others of the queue. Returns its ticket. */
  add(queue: number, timeoutMs: number, receiver: Receiver): number {
    const place = this.#table.allocate();
    const { capacity } = this.#table;
    this.#queues = growArray(this.#queues, capacity);
    this.#next = growArray(this.#next, capacity);
    this.#previous = growArray(this.#previous, capacity);
    this.#deadlines = growArray(this.#deadlines, capacity);
    const last = this.#lasts.get(queue);
    const ticket = this.#table.ticketOf(place);
    this.#receivers[place] = receiver;
    this.#queues[place] = queue;
    this.#next[place] = 0;
    this.#previous[place] = last;
    if (last === 0) this.#firsts.set(queue, place);
    else this.#next[last] = place;
    this.#lasts.set(queue, place);
    this.#counts.set(queue, this.#counts.get(queue) + 1);
    this.#deadlines[place] = this.#wheel.add(this.#clock.now() + timeoutMs, ticket);
    return ticket;
  }

  /** Returns the ticket of the queue's first waiter; there must be one. */
  first(queue: number): number {
    return this.#table.ticketOf(this.#firsts.get(queue));
  }

  /** Returns the queue of a waiter, or 0 if it no longer waits. */
  queue(ticket: number): number {
    const place = this.#table.indexOf(ticket);
    return place === 0 ? 0 : this.#queues[place]!;
  }

  /** Removes a waiter, which must exist; returns its receiver. */
  remove(ticket: number): Receiver {
    const place = this.#table.indexOf(ticket);
    if (place === 0) assert.fail('the waiter has already been removed');
    const queue = this.#queues[place]!;
    const next = this.#next[place]!;
    const previous = this.#previous[place]!;
    const receiver = this.#receivers[place]!;
    if (next === 0) this.#lasts.set(queue, previous);
    else this.#previous[next] = previous;
    if (previous === 0) this.#firsts.set(queue, next);
    else this.#next[previous] = next;
    this.#counts.set(queue, this.#counts.get(queue) - 1);
    this.#receivers[place] = undefined;
    this.#wheel.cancel(this.#deadlines[place]!);
    this.#table.free(place);
    return receiver;
  }

  /**
   * Asserts that the lists of these queues contain all waiters; no queue may be missing.
   * O(waiters).
   */
  invariants(queues: readonly number[]): void {
    this.#table.invariants();
    this.#wheel.invariants();
    let all = 0;
    for (const queue of queues) {
      let count = 0;
      let last = 0;
      for (let place = this.#firsts.get(queue); place !== 0; place = this.#next[place]!) {
        assert.equal(this.#previous[place], last, 'the waiter before');
        assert.equal(this.#queues[place], queue, 'queue of a waiter');
        assert.notEqual(this.#receivers[place], undefined, 'receiver of a waiter');
        last = place;
        count++;
      }
      assert.equal(this.#lasts.get(queue), last, 'the last waiter');
      assert.equal(this.#counts.get(queue), count, 'waiters of a queue');
      all += count;
    }
    assert.equal(this.#table.count, all, 'waiters');
    assert.equal(this.tickets().length, all, 'receivers');
  }

  /** Returns the tickets of all waiters, in no order. */
  tickets(): number[] {
    const tickets: number[] = [];
    for (let place = 1; place < this.#receivers.length; place++) {
      if (this.#receivers[place] !== undefined) tickets.push(this.#table.ticketOf(place));
    }
    return tickets;
  }
}
