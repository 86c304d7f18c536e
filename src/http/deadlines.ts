/**
 * The time limits of connections and of handshakes, all on one timer wheel. Whoever is under a limit
 * takes a place once and sets its deadline as often as it likes: O(1), without an object or a timer
 * each. A deadline may be earlier than what it stands for: then its owner looks what the time really
 * is and sets it again, so nothing is moved for a request that comes and goes meanwhile.
 */
import type { Clock } from '../base/clock.ts';
import { grown } from '../base/grown.ts';
import { TicketTable } from '../base/ticket-table.ts';
import { TimerWheel } from '../base/timer-wheel.ts';

/** What is under a time limit. */
export interface Timed {
  /** The deadline set last has come; none is set any more. */
  onDeadline(): void;
}

export class Deadlines {
  readonly #wheel: TimerWheel;
  readonly #table = new TicketTable();
  readonly #owners: (Timed | undefined)[] = [];
  /** What the wheel calls the deadline of each place; 0 for none. */
  #ids = new Float64Array(this.#table.capacity);

  constructor(clock: Clock) {
    this.#wheel = new TimerWheel(clock, (place) => this.#onDue(place));
  }

  /** Deadlines that have not come. */
  get count(): number {
    return this.#wheel.count;
  }

  /** A place for the owner; to be left when it ends. */
  enter(owner: Timed): number {
    const place = this.#table.take();
    this.#ids = grown(this.#ids, this.#table.capacity);
    this.#owners[place] = owner;
    return place;
  }

  /** Tells the owner of the place once the clock is at `atMs`, and not at what was set before. */
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
