/**
 * A deterministic world for specs: one clock, one network and one scheduler, which depend only on a
 * seed. Nothing takes real time. The scheduler runs turns while events are pending: in each turn
 * the channels with events deliver them in a random order, and then the calls that wait for the end
 * of the turn are made. Promises are resolved between two events, as in Node. The time passes only
 * when a spec lets it pass, and never while events are pending.
 */
import { Random } from '../../bench/harness.ts';
import { FakeClock } from '../fake-clock.ts';
import { Network } from './network.ts';

/** Limit for the time that may pass until a condition is met, in ms. */
const PASSED_MS_MAX = 3_600_000;
/** Interval between two checks of a condition, in ms. */
const CHECK_MS = 10;
/** The probability that a channel delivers in a later turn: one in this number. */
const LATE = 8;

/** One direction of a connection. */
export interface Channel {
  /** Delivers what was sent before this call. */
  deliver(): void;
}

export class World {
  readonly seed: number;
  readonly random: Random;
  readonly clock = new WorldClock(() => this.#begin());
  readonly network: Network;
  /** Channels with events for the next turn, in the order in which they were added. */
  readonly #channels = new Set<Channel>();
  /** Channels with events for the present turn. */
  #turn: Channel[] = [];
  #isRunning = false;
  readonly #step = () => this.#next();

  /** `seed`: by default that of the variable SEED, or 1. */
  constructor(seed = Number(process.env.SEED ?? 1)) {
    this.seed = seed;
    this.random = new Random(seed);
    this.network = new Network(this);
  }

  /** Lets the channel deliver in a later turn. */
  add(channel: Channel): void {
    this.#channels.add(channel);
    this.#begin();
  }

  /** Resolves when no events are pending. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      await new Promise((resolve) => setImmediate(resolve));
      quiet = this.#isRunning ? 0 : quiet + 1;
    }
  }

  /** Lets the time pass; each timer runs at its time, after all earlier events. */
  async pass(ms: number): Promise<void> {
    const { clock } = this;
    const end = clock.now() + ms;
    for (await this.settled(); clock.nextDueMs <= end; await this.settled()) this.#passTimer();
    clock.advance(end - clock.now());
    await this.settled();
  }

  /** Lets the time pass until the promise is settled. */
  async during<Value>(promise: Promise<Value>): Promise<Value> {
    let isOver = false;
    const ended = promise.finally(() => {
      isOver = true;
    });
    ended.catch(() => {});
    const last = this.clock.now() + PASSED_MS_MAX;
    for (await this.settled(); !isOver; await this.settled()) {
      if (this.clock.timerCount === 0) throw this.#fault('nothing happens any more');
      if (this.clock.now() > last) throw this.#fault(`not within ${PASSED_MS_MAX} ms`);
      this.#passTimer();
    }
    return ended;
  }

  /** Resolves after the time, within a call of `during`. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.after(ms, resolve);
    });
  }

  /** Resolves once the condition is met, within a call of `during`. */
  async until(isMet: () => boolean): Promise<void> {
    while (!isMet()) await this.sleep(CHECK_MS);
  }

  #fault(reason: string): Error {
    return new Error(`Cannot go on, with seed ${this.seed}: ${reason}`);
  }

  #passTimer(): void {
    this.clock.advance(Math.max(0, this.clock.nextDueMs - this.clock.now()));
  }

  #begin(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(this.#step);
  }

  /** Each delivery is a task of its own, so that promises are resolved after it. */
  #next(): void {
    const channel = this.#turn.pop();
    if (channel !== undefined) channel.deliver();
    else if (this.#channels.size > 0 || this.clock.endCount > 0) {
      this.clock.endTurn();
      this.#turn = this.#chosen();
    } else {
      this.#isRunning = false;
      return;
    }
    setImmediate(this.#step);
  }

  /** Takes most of the channels with events, in a random order. */
  #chosen(): Channel[] {
    const chosen: Channel[] = [];
    for (const channel of [...this.#channels]) {
      if (this.#channels.size > 1 && this.random.below(LATE) === 0) continue;
      this.#channels.delete(channel);
      chosen.splice(this.random.below(chosen.length + 1), 0, channel);
    }
    return chosen;
  }
}

/** Starts the scheduler for each call that waits for the end of the turn. */
class WorldClock extends FakeClock {
  readonly #onCall: () => void;

  constructor(onCall: () => void) {
    super();
    this.#onCall = onCall;
  }

  override endOfTurn(run: () => void): void {
    super.endOfTurn(run);
    this.#onCall();
  }
}
