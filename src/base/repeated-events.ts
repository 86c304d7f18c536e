/**
 * Reports events that may be frequent: the first event of a key at once, the following ones
 * together once per interval, with their count. The counts add up to the number of events. The
 * table is bounded: a new key in a full table ends the oldest key's interval.
 */
import type { Clock, Timer } from './clock.ts';

interface Interval<Detail> {
  endMs: number;
  /** Number of events that are not reported yet. */
  count: number;
  /** Detail of the latest event. */
  detail: Detail;
}

interface RepeatedEventsOptions<Detail> {
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly keysMax: number;
  /** Called with the number of events, and the detail of the latest one. */
  report(detail: Detail, count: number): void;
}

export class RepeatedEvents<Detail> {
  readonly #options: RepeatedEventsOptions<Detail>;
  /** Intervals by key, in the order in which they end. */
  readonly #intervals = new Map<string, Interval<Detail>>();
  #timer: Timer | undefined;

  constructor(options: RepeatedEventsOptions<Detail>) {
    this.#options = options;
  }

  add(key: string, detail: Detail): void {
    const interval = this.#intervals.get(key);
    if (interval !== undefined) {
      interval.count++;
      interval.detail = detail;
      return;
    }
    if (this.#intervals.size >= this.#options.keysMax) this.#endOldest();
    this.#begin(key, detail);
    this.#setTimer();
    this.#options.report(detail, 1);
  }

  /** Reports all events that are not reported yet. */
  end(): void {
    while (this.#intervals.size > 0) this.#endOldest();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Number of keys in the table. */
  get size(): number {
    return this.#intervals.size;
  }

  #begin(key: string, detail: Detail): void {
    const { clock, intervalMs } = this.#options;
    this.#intervals.set(key, { endMs: clock.now() + intervalMs, count: 0, detail });
  }

  #onTimer(): void {
    this.#timer = undefined;
    const nowMs = this.#options.clock.now();
    for (const [key, { endMs, count, detail }] of this.#intervals) {
      if (endMs > nowMs) break;
      this.#intervals.delete(key);
      if (count === 0) continue;
      this.#begin(key, detail);
      this.#options.report(detail, count);
    }
    this.#setTimer();
  }

  #setTimer(): void {
    const { clock } = this.#options;
    for (const { endMs } of this.#intervals.values()) {
      this.#timer ??= clock.after(Math.max(0, endMs - clock.now()), () => this.#onTimer());
      return;
    }
  }

  #endOldest(): void {
    for (const [key, { count, detail }] of this.#intervals) {
      this.#intervals.delete(key);
      if (count > 0) this.#options.report(detail, count);
      return;
    }
  }
}
