/**
 * Returns of items that were not delivered. A return is a mutation: while a sink refuses it, the
 * item remains held and the engine retries; the result arrives when the return is made.
 * Tested by embedded-engine.spec.ts.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { APPLIED, CLOSED, type Receiver } from '../engine.ts';
import type { CellStore } from './cell-store.ts';
import type { Queues } from './queues.ts';
import type { Results } from './results.ts';

/** Pause before a return that a sink has refused is tried again, in ms. */
const RETRY_MS = 1000;

export class ItemReturns {
  readonly #clock: Clock;
  readonly #store: CellStore;
  readonly #queues: Queues;
  readonly #results: Results;
  readonly #onReturned: (queue: number) => void;
  /** Receivers by hold: items that have not returned yet, in the order of the calls. */
  readonly #waiting = new Map<number, Receiver>();
  #timer: Timer | undefined;
  readonly #run = () => this.#timerOnDue();

  /** `onReturned` is called with the queue that has one more item. */
  constructor(
    store: CellStore,
    queues: Queues,
    results: Results,
    onReturned: (queue: number) => void,
  ) {
    this.#clock = store.clock;
    this.#store = store;
    this.#queues = queues;
    this.#results = results;
    this.#onReturned = onReturned;
  }

  /** Ends an open hold. The receiver gets APPLIED when the item is back. */
  begin(hold: number, receiver: Receiver): void {
    if (this.#return(hold, receiver)) return;
    this.#waiting.set(hold, receiver);
    this.#timer ??= this.#clock.after(RETRY_MS, this.#run);
  }

  /** Whether the item of the hold is to return, and has not yet. */
  awaits(hold: number): boolean {
    return this.#waiting.size > 0 && this.#waiting.has(hold);
  }

  /** Stops all returns: their results are UNREACHABLE. */
  close(): void {
    this.#timer?.cancel();
    for (const [hold, receiver] of this.#waiting) {
      this.#waiting.delete(hold);
      this.#results.blank.setUnreachable(CLOSED);
      this.#results.send(receiver);
    }
  }

  #return(hold: number, receiver: Receiver): boolean {
    const queues = this.#queues;
    const queue = queues.queueOfHold(hold);
    const partition = queues.partitionOf(queue);
    if (!queues.return(hold)) return false;
    this.#waiting.delete(hold);
    this.#onReturned(queue);
    this.#results.blank.set(APPLIED, partition, this.#store.sequences[partition]!);
    this.#results.send(receiver);
    return true;
  }

  /** All are tried, as a sink may have room for a short item even if it has none for a long one. */
  #timerOnDue(): void {
    this.#timer = undefined;
    for (const [hold, receiver] of [...this.#waiting]) this.#return(hold, receiver);
    if (this.#waiting.size > 0) this.#timer ??= this.#clock.after(RETRY_MS, this.#run);
  }
}
