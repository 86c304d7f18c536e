/**
 * The schedule of the late engine: calls and results in lanes. Each lane keeps its order; between
 * lanes there is no order. Everything happens at the end of a turn: the next one, or one chosen by
 * random numbers.
 *
 * A wide call takes effect after all calls before it and before all calls after it, in any lane.
 * Only loose calls, which have separate lanes, ignore that order.
 */
import assert from 'node:assert/strict';
import type { Random } from '../../bench/harness.ts';
import type { Clock } from '../../src/base/clock.ts';

/** Whether everything happens in the next turn, or in a random one. */
export type Turns = 'next' | 'random';

/** Maximum delay beyond the next turn, in turns, and how rarely there is such a delay. */
const LATE_TURNS_MAX = 16;
const LATE_SHARE = 3;

interface Due {
  /** The earliest turn in which the call may take effect. */
  readonly turn: number;
  readonly run: () => void;
}

interface Call extends Due {
  /** Position in the order of the calls; Infinity for a loose one. */
  readonly number: number;
  readonly isWide: boolean;
}

class Lane {
  readonly calls: Call[] = [];
  readonly answers: Due[] = [];
}

export type { Lane };

export class Lanes {
  readonly #clock: Pick<Clock, 'endOfTurn'>;
  readonly #random: Random;
  readonly #turns: Turns;
  readonly #onIdle: () => void;
  /** Lanes by number; and all lanes that are not empty. */
  readonly #lanes = new Map<number, Lane>();
  readonly #busy = new Set<Lane>();
  /** Wide calls that have not taken effect, in the order of the calls. */
  readonly #wide: Call[] = [];
  #callCount = 0;
  #turn = 0;
  #isScheduled = false;

  /** `onIdle` is called at the end of a turn after which nothing is left to do. */
  constructor(
    clock: Pick<Clock, 'endOfTurn'>,
    random: Random,
    turns: Turns,
    onIdle: () => void = () => {},
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#turns = turns;
    this.#onIdle = onIdle;
  }

  /** Whether there is anything to do. */
  get isBusy(): boolean {
    return this.#busy.size > 0;
  }

  lane(number: number): Lane {
    const lane = this.#lanes.get(number) ?? new Lane();
    this.#lanes.set(number, lane);
    return lane;
  }

  /** Runs the call in a later turn, after the calls on the lane before it. */
  call(lane: Lane, run: () => void): void {
    this.#push(lane, run, ++this.#callCount, false);
  }

  /** Runs a call that may overtake, or be overtaken by, any other. Its lane is for its result. */
  callLoose(run: (lane: Lane) => void): void {
    const lane = new Lane();
    this.#push(lane, () => run(lane), Number.POSITIVE_INFINITY, false);
  }

  callWide(run: (lane: Lane) => void): void {
    const lane = new Lane();
    this.#wide.push(this.#push(lane, () => run(lane), ++this.#callCount, true));
  }

  /** Delivers the result in this turn or a later one, after the earlier results of the lane. */
  answer(lane: Lane, run: () => void): void {
    lane.answers.push({ turn: this.#turn + this.#delay(), run });
    this.#busy.add(lane);
    this.schedule();
  }

  /** Ensures that there is another turn. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.endOfTurn(() => this.#turnOnEnd());
  }

  #push(lane: Lane, run: () => void, number: number, isWide: boolean): Call {
    const call = { run, number, isWide, turn: this.#turn + 1 + this.#delay() };
    lane.calls.push(call);
    this.#busy.add(lane);
    this.schedule();
    return call;
  }

  #delay(): number {
    if (this.#turns === 'next' || this.#random.below(LATE_SHARE) > 0) return 0;
    return this.#random.below(LATE_TURNS_MAX + 1);
  }

  #turnOnEnd(): void {
    this.#isScheduled = false;
    this.#turn++;
    try {
      // A wide call that takes effect unblocks others.
      while (this.#callDue());
      for (const lane of this.#shuffled()) {
        while ((lane.answers[0]?.turn ?? Infinity) <= this.#turn) lane.answers.shift()?.run();
      }
    } finally {
      for (const lane of this.#busy) {
        if (lane.calls.length === 0 && lane.answers.length === 0) this.#busy.delete(lane);
      }
      if (this.isBusy) this.schedule();
      else this.#onIdle();
    }
  }

  /** Whether any call has taken effect. */
  #callDue(): boolean {
    let count = 0;
    for (const lane of this.#shuffled()) {
      for (let next = lane.calls[0]; next !== undefined && this.#mayRun(next); count++) {
        lane.calls.shift();
        if (next.isWide) assert.equal(this.#wide.shift(), next);
        next.run();
        next = lane.calls[0];
      }
    }
    return count > 0;
  }

  #mayRun({ turn, number, isWide }: Call): boolean {
    if (turn > this.#turn) return false;
    if (number === Number.POSITIVE_INFINITY) return true;
    if (this.#wide.length > 0 && this.#wide[0]!.number < number) return false;
    if (!isWide) return true;
    for (const { calls } of this.#busy)
      if (calls.length > 0 && calls[0]!.number < number) return false;
    return true;
  }

  #shuffled(): Lane[] {
    const lanes = [...this.#busy];
    for (let rest = lanes.length - 1; rest > 0; rest--) {
      const other = this.#random.below(rest + 1);
      const lane = lanes[rest]!;
      lanes[rest] = lanes[other]!;
      lanes[other] = lane;
    }
    return lanes;
  }
}
