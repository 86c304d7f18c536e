/**
 * The items of a queue for `for await`: one poll for each step. A loop that is left ends its poll, which
 * then takes nothing; an item that a poll has already taken is returned by its step. A loop over many
 * items that are there already lets the event loop turn now and then, so that HTTP clients are served.
 * Tested by local/queue-waits.spec.ts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GridError } from '../base/errors.ts';
import type { GivingUp } from './known-options.ts';
import type { StoredValue } from './local-values.ts';

/** Number of items after which the event loop turns. */
const TURN_ITEMS = 100;

type Step = IteratorResult<StoredValue, undefined>;

const END: Step = { done: true, value: undefined };

/** @internal */
export class QueueItems implements AsyncIterableIterator<StoredValue, undefined> {
  readonly #poll: (signal: GivingUp) => Promise<StoredValue | undefined>;
  readonly #signal: GivingUp;
  /** Aborts the polls of an iterator that is left. */
  readonly #left = new AbortController();
  readonly #steps = new Set<Promise<unknown>>();
  #hasEnded = false;
  #itemCount = 0;

  /** `poll` waits without a limit. */
  constructor(
    poll: (signal: GivingUp) => Promise<StoredValue | undefined>,
    signal: GivingUp | undefined,
  ) {
    this.#poll = poll;
    this.#signal = signal === undefined ? this.#left.signal : either(this.#left.signal, signal);
  }

  /** Resolves with the next item; ends when the member does. Rejects with the errors of `poll`. */
  next(): Promise<Step> {
    if (this.#hasEnded) return Promise.resolve(END);
    const step = this.#step();
    this.#steps.add(step);
    const remove = () => this.#steps.delete(step);
    step.then(remove, remove);
    return step;
  }

  /** Ends the iterator. Steps that wait end as well, or get an item that was already taken for them. */
  async return(): Promise<Step> {
    this.#hasEnded = true;
    this.#left.abort();
    await Promise.allSettled(this.#steps);
    return END;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #step(): Promise<Step> {
    try {
      const value = await this.#poll(this.#signal);
      if (value !== undefined) {
        this.#itemCount++;
        if (this.#itemCount % TURN_ITEMS === 0) await nextTurn();
        return { done: false, value };
      }
    } catch (error) {
      const isLeft = this.#left.signal.aborted && error === this.#left.signal.reason;
      const isClosed = error instanceof GridError && error.code === 'ENGINE_CLOSED';
      this.#hasEnded = true;
      if (!isLeft && !isClosed) throw error;
    }
    this.#hasEnded = true;
    return END;
  }
}

/** Returns a signal that is aborted when either is, without listeners of its own. */
function either(one: AbortSignal, other: GivingUp): GivingUp {
  return {
    get aborted() {
      return one.aborted || other.aborted;
    },
    get reason() {
      return one.aborted ? one.reason : other.reason;
    },
    addEventListener(type, listener) {
      one.addEventListener(type, listener);
      other.addEventListener(type, listener);
    },
    removeEventListener(type, listener) {
      one.removeEventListener(type, listener);
      other.removeEventListener(type, listener);
    },
  };
}
