/** Late engines for tests, on a clock whose turns end by themselves. */
import { Random } from '../../bench/harness.ts';
import type { Clock, Timer } from '../../src/base/clock.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { FakeClock } from '../fake-clock.ts';
import { LateEngine, type LateEngineOptions } from './late-engine.ts';
import { type SequencedSubject, subjectCapacity } from './subject.ts';

const PARTITION_COUNT = 271;
const MANY = 200;
const SEED = 1;

/** A clock whose time the test sets, and whose turns end with Node's while callbacks wait. */
export class TurningClock implements Clock {
  readonly #clock = new FakeClock();
  #isTurning = false;

  now(): number {
    return this.#clock.now();
  }

  wall(): number {
    return this.#clock.wall();
  }

  after(delayMs: number, run: () => void): Timer {
    return this.#clock.after(delayMs, run);
  }

  endOfTurn(run: () => void): void {
    this.#clock.endOfTurn(run);
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      this.#clock.endTurn();
    });
  }

  /** Lets turns end until no callback waits. */
  async quiet(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#clock.endCount > 0);
  }

  /** Advances the time after every call has taken effect. */
  async advance(ms: number): Promise<void> {
    await this.quiet();
    this.#clock.advance(ms);
    await this.quiet();
  }
}

export interface LateSubject extends SequencedSubject {
  readonly engine: LateEngine;
  readonly stored: EmbeddedEngine;
}

interface LateSubjectOptions
  extends Omit<LateEngineOptions, 'clock' | 'random' | 'partitionCount'> {
  /** Whether the engine has been opened; true by default. */
  readonly isOpen?: boolean;
}

export async function lateSubject({
  isOpen = true,
  ...options
}: LateSubjectOptions): Promise<LateSubject> {
  const clock = new TurningClock();
  const stored = new EmbeddedEngine({
    partitionCount: PARTITION_COUNT,
    clock,
    queueCapacity: subjectCapacity,
    acknowledgesAll: true,
  });
  const engine = new LateEngine(stored, {
    clock,
    random: new Random(SEED),
    partitionCount: PARTITION_COUNT,
    ...options,
  });
  if (isOpen) await engine.open();
  return {
    engine,
    stored,
    many: MANY,
    quiet: () => clock.quiet(),
    advance: (ms) => clock.advance(ms),
  };
}
