/**
 * The deadlines of connections and TLS handshakes, all on one timer wheel. An owner registers once and
 * then sets its deadline any number of times, in O(1) and without an object or timer each. A deadline may
 * be earlier than the owner's real limit; then the owner computes the limit and sets the deadline again.
 * So the deadline need not move for a request that is received and answered before it.
 */
import type { Clock } from '../base/clock.ts';
import { growArray } from '../base/grow-array.ts';
import { TicketTable } from '../base/ticket-table.ts';
import { TimerWheel } from '../base/timer-wheel.ts';

/** The owner of a deadline. */
export interface Timed {
  /** Called when the deadline has passed; none is set afterwards. */
  onDeadline(): void;
}

export class Deadlines {
  readonly #wheel: TimerWheel;
  readonly #table = new TicketTable();
  readonly #owners: (Timed | undefined)[] = [];
  /** The wheel's timer id by place; 0 if no deadline is set. */
  #ids = new Float64Array(this.#table.capacity);

  constructor(clock: Clock) {
    this.#wheel = new TimerWheel(clock, (place) => this.#onDue(place));
  }

  /** Number of pending deadlines. */
  get count(): number {
    return this.#wheel.count;
  }

  /** Registers an owner and returns its place. The owner must call `leave` when it ends. */
  enter(owner: Timed): number {
    const place = this.#table.allocate();
    this.#ids = growArray(this.#ids, this.#table.capacity);
    this.#owners[place] = owner;
    return place;
  }

  /** Sets the deadline to `atMs` by the clock, replacing the previous one. */
  set(place: number, atMs: number): void {
    this.#wheel.cancel(this.#ids[place]!);
    this.#ids[place] = this.#wheel.add(atMs, place);
  }

  leave(place: number): void {
    this.#wheel.cancel(this.#ids[place]!);
    this.#ids[place] = 0;
    this.#owners[place] = undefined;
    this.#table.free(place);
  }

  #onDue(place: number): void {
    this.#ids[place] = 0;
    this.#owners[place]?.onDeadline();
  }
}
