/**
 * Delivers items to takes: at once if there is an item, and to waiting takes at the end of the
 * turn. An item for a queue with waiters is delivered after the turn has cancelled the takes of all
 * clients that were seen to disconnect. So the first remaining waiters get the first items, outside
 * any other operation's call. Tested by embedded-engine.spec.ts.
 */
import type { Clock } from '../../base/clock.ts';
import { ABSENT, NO_HOLD, NOBODY, type Receiver, UNKNOWN } from '../engine.ts';
import type { CellStore } from './cell-store.ts';
import type { ItemReturns } from './item-returns.ts';
import type { Queues } from './queues.ts';
import type { Recorder } from './recorder.ts';
import type { Results } from './results.ts';
import type { RingBuffers } from './ring-buffer.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Waiters } from './waiters.ts';

interface ItemDeliveryComponents {
  readonly queues: Queues;
  readonly waiters: Waiters;
  readonly results: Results;
  readonly returns: ItemReturns;
}

export class ItemDeliveries {
  readonly #clock: Clock;
  readonly #store: CellStore;
  readonly #rings: RingBuffers;
  readonly #queues: Queues;
  readonly #waiters: Waiters;
  readonly #results: Results;
  readonly #recorder: Recorder;
  readonly #returns: ItemReturns;
  /** Queues that may have items for their waiters; a second occurrence of a queue has no effect. */
  #due: number[] = [];
  #scheduled = false;
  readonly #run = () => this.#turnOnEnd();

  constructor({ store, rings, recorder }: SharedComponents, components: ItemDeliveryComponents) {
    this.#clock = store.clock;
    this.#store = store;
    this.#recorder = recorder;
    this.#rings = rings;
    this.#queues = components.queues;
    this.#waiters = components.waiters;
    this.#results = components.results;
    this.#returns = components.returns;
  }

  /**
   * Removes the queue's item that `choose` has chosen after `skip` others, and delivers it to the
   * receiver. FOUND; or REFUSED, and the item remains.
   */
  deliver(queue: number, item: number, skip: number, receiver: Receiver): void {
    const queues = this.#queues;
    const results = this.#results;
    const { pool, sequences } = this.#store;
    const result = results.blank;
    if (!queues.consents(queue, item)) {
      result.setRefused(this.#recorder.takeVeto());
      results.send(receiver);
      return;
    }
    const partition = queues.partitionOf(queue);
    // The cell may be freed before the result is read; its bytes must remain until then.
    pool.retainFreed();
    try {
      result.setFound(this.#rings.get(queue, item), partition, 0);
      result.hold = queues.remove(queue, item, skip);
      result.sequence = sequences[partition]!;
      // The receiver does not get the item, so no acknowledge follows.
      if (result.hold !== NO_HOLD && results.isDoubtful(result)) {
        this.#returns.begin(result.hold, NOBODY);
        result.set(UNKNOWN);
      }
      results.send(receiver);
    } finally {
      pool.reuseFreed();
    }
  }

  /** Schedules a delivery: an item of the queue has become available. */
  schedule(queue: number): void {
    if (this.#waiters.count(queue) === 0 || this.#due.at(-1) === queue) return;
    this.#due.push(queue);
    this.#scheduleRun();
  }

  /**
   * Ends the wait of a waiter whose time is over: it gets an item that is owed to it, or ABSENT.
   */
  expire(ticket: number): void {
    const queue = this.#waiters.queue(ticket);
    if (this.#queues.order.available(queue) > 0) this.#deliverAll(queue);
    if (this.#waiters.queue(ticket) !== 0) this.dismiss(ticket);
  }

  /** Ends a wait with ABSENT. */
  dismiss(ticket: number): void {
    const queue = this.#waiters.queue(ticket);
    const partition = this.#queues.partitionOf(queue);
    const receiver = this.#waiters.remove(ticket);
    this.#queues.dropUnused(queue);
    this.#results.blank.set(ABSENT, partition, this.#store.sequences[partition]!);
    this.#results.send(receiver);
  }

  /** Ends all current waits with ABSENT, but none that begins meanwhile. */
  dismissAll(): void {
    for (const ticket of this.#waiters.tickets()) {
      if (this.#waiters.queue(ticket) !== 0) this.dismiss(ticket);
    }
  }

  #scheduleRun(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.endOfTurn(this.#run);
  }

  #turnOnEnd(): void {
    this.#scheduled = false;
    const due = this.#due;
    this.#due = [];
    let done = 0;
    try {
      for (; done < due.length; done++) this.#deliverAll(due[done]!);
    } finally {
      // Entries remain only if a receiver has thrown: they are scheduled again.
      for (; done < due.length; done++) this.schedule(due[done]!);
    }
  }

  #deliverAll(queue: number): void {
    while (this.#waiters.count(queue) > 0 && this.#queues.order.available(queue) > 0) {
      const receiver = this.#waiters.remove(this.#waiters.first(queue));
      this.deliver(queue, this.#queues.order.choose(queue, 0), 0, receiver);
    }
  }
}
