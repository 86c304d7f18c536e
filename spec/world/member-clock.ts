/**
 * The clock of a member's process, on the clock of a world. A stopped process (SIGSTOP) runs no
 * timer until it is resumed; a process that has ended runs none any more.
 */
import type { Clock, Timer } from '../../src/base/clock.ts';

interface MemberClockOptions {
  /** Offset of the monotonic clock, in ms. */
  readonly aheadMs?: number;
  /** Offset of the wall clock, in ms. */
  readonly wallAheadMs?: number;
  /** Whether the process has ended by a crash. */
  readonly hasCrashed?: () => boolean;
}

export class MemberClock implements Clock {
  readonly #aheadMs: number;
  readonly #wallAheadMs: number;
  readonly #time: Clock;
  readonly #hasCrashed: () => boolean;
  #late: (() => void)[] = [];
  /** Called before the delayed timers and results, like input that has arrived meanwhile. */
  readonly onResume: (() => void)[] = [];
  #isStopped = false;
  #hasEnded = false;

  constructor(time: Clock, options: MemberClockOptions = {}) {
    const { aheadMs = 0, wallAheadMs = 0, hasCrashed = () => false } = options;
    this.#time = time;
    this.#aheadMs = aheadMs;
    this.#wallAheadMs = wallAheadMs;
    this.#hasCrashed = hasCrashed;
  }

  get isRunning(): boolean {
    return !this.#isStopped && !this.#hasEnded && !this.#hasCrashed();
  }

  now(): number {
    return this.#time.now() + this.#aheadMs;
  }

  turn(): number {
    return this.now();
  }

  wall(): number {
    return this.#time.wall() + this.#wallAheadMs;
  }

  after(delayMs: number, run: () => void): Timer {
    return this.#time.after(delayMs, () => this.whenRunning(run));
  }

  endOfTurn(run: () => void): void {
    this.#time.endOfTurn(() => this.whenRunning(run));
  }

  whenRunning(run: () => void): void {
    if (this.isRunning) run();
    else if (!this.#hasEnded) this.#late.push(run);
  }

  stop(): void {
    this.#isStopped = true;
  }

  resume(): void {
    this.#isStopped = false;
    for (const run of this.onResume) run();
    for (const run of this.#late.splice(0)) run();
  }

  /** Ends the process, as `kill -9` does. */
  end(): void {
    this.#hasEnded = true;
    this.#late = [];
  }
}
