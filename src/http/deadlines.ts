/**
 * The time limits of connections and of handshakes, all on one timer wheel. An owner takes a place once
 * and sets its deadline any number of times: O(1), without an object or a timer each. A deadline may be
 * earlier than the owner's real limit: then the owner computes that and sets it again. So nothing is
 * moved for a request that comes and is answered meanwhile.
 */
import type { Clock } from '../base/clock.ts';
import { grown } from '../base/grown.ts';
import { TicketTable } from '../base/ticket-table.ts';
import { TimerWheel } from '../base/timer-wheel.ts';

/** The owner of a deadline. */
export interface Timed {
  /** The last deadline set has come; none is set any more. */
  onDeadline(): void;
}

export class Deadlines {
  readonly #wheel: TimerWheel;
  readonly #table = new TicketTable();
  readonly #owners: (Timed | undefined)[] = [];
  /** The wheel's id of each place's deadline; 0 for none. */
  #ids = new Float64Array(this.#table.capacity);

  constructor(clock: Clock) {
    this.#wheel = new TimerWheel(clock, (place) => this.#onDue(place));
  }

  /** Deadlines that have not come. */
  get count(): number {
    return this.#wheel.count;
  }

  /** A place for the owner, which leaves it when it ends. */
  enter(owner: Timed): number {
    const place = this.#table.take();
    this.#ids = grown(this.#ids, this.#table.capacity);
    this.#owners[place] = owner;
    return place;
  }

  /** Sets the deadline to `atMs` by the clock, instead of the one before. */
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
