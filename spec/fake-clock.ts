/**
 * A clock that the test controls. Nothing happens by itself: `advance` runs the timers that are
 * due, each at its time and in order; `endTurn` runs the calls that wait for the end of the turn.
 */
import type { Clock, Timer } from '../src/base/clock.ts';

interface FakeTimer {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

export class FakeClock implements Clock {
  #nowMs: number;
  #wallMs: number;
  #timers: FakeTimer[] = [];
  #ends: (() => void)[] = [];
  #order = 0;

  constructor(nowMs = 0, wallMs = 1_700_000_000_000) {
    this.#nowMs = nowMs;
    this.#wallMs = wallMs;
  }

  now(): number {
    return this.#nowMs;
  }

  wall(): number {
    return this.#wallMs;
  }

  after(delayMs: number, run: () => void): Timer {
    if (!(delayMs >= 0 && delayMs < 2 ** 31)) {
      throw new RangeError(`Cannot wait ${delayMs} ms: not from 0 to 2^31-1`);
    }
    const timer: FakeTimer = { dueMs: this.#nowMs + delayMs, order: this.#order++, run };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  turn(): number {
    return this.now();
  }

  endOfTurn(run: () => void): void {
    this.#ends.push(run);
  }

  /** Number of waiting timers. */
  get timerCount(): number {
    return this.#timers.length;
  }

  /** Time of the next timer; Infinity without timers. */
  get nextDueMs(): number {
    return Math.min(...this.#timers.map((timer) => timer.dueMs));
  }

  /** Number of calls that wait for the end of the turn. */
  get endCount(): number {
    return this.#ends.length;
  }

  /** Sets only the wall clock, forwards or back. */
  setWall(wallMs: number): void {
    this.#wallMs = wallMs;
  }

  /** Drops all timers and calls, as if their owners had ended. */
  forget(): void {
    this.#timers = [];
    this.#ends = [];
  }

  /** Advances the time. Due timers run at their time, including new ones. */
  advance(ms: number): void {
    const end = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers
        .filter((timer) => timer.dueMs <= end)
        .reduce<FakeTimer | undefined>(
          (first, timer) => (first && !before(timer, first) ? first : timer),
          undefined,
        );
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#moveTo(Math.max(next.dueMs, this.#nowMs));
      next.run();
    }
    this.#moveTo(end);
  }

  /** Ends the turn: runs the calls that wait for it. Calls that these add wait for the next end. */
  endTurn(): void {
    const ends = this.#ends;
    this.#ends = [];
    for (const run of ends) run();
  }

  /** Ends turns until no call waits for one. */
  settle(): void {
    while (this.#ends.length > 0) this.endTurn();
  }

  #moveTo(nowMs: number): void {
    this.#wallMs += nowMs - this.#nowMs;
    this.#nowMs = nowMs;
  }
}

function before(timer: FakeTimer, other: FakeTimer): boolean {
  return timer.dueMs < other.dueMs || (timer.dueMs === other.dueMs && timer.order < other.order);
}
