/**
 * Gives items to takes that wait. What comes to a queue with waiters is handed out at the end of the
 * turn, when everybody whose going away was noticed in this turn is gone: the first who are still
 * there get the first items, outside any other operation's call.
 */
import type { Clock } from '../../base/clock.ts';
import { ABSENT } from '../engine.ts';
import type { Answers } from './answer.ts';
import type { Queues } from './queues.ts';
import type { RecordStore } from './record-store.ts';
import type { Waiters } from './waiters.ts';

export class Deliveries {
  readonly #clock: Clock;
  readonly #store: RecordStore;
  readonly #queues: Queues;
  readonly #waiters: Waiters;
  readonly #answers: Answers;
  /** Queues that may have items for their waiters; of one that comes twice, the second is idle. */
  #due: number[] = [];
  #scheduled = false;
  readonly #run = () => this.#turnOnEnd();

  constructor(
    clock: Clock,
    store: RecordStore,
    queues: Queues,
    waiters: Waiters,
    answers: Answers,
  ) {
    this.#clock = clock;
    this.#store = store;
    this.#queues = queues;
    this.#waiters = waiters;
    this.#answers = answers;
  }

  /** An item of the queue has become available. */
  schedule(queue: number): void {
    if (this.#waiters.count(queue) === 0 || this.#due.at(-1) === queue) return;
    this.#due.push(queue);
    this.#ask();
  }

  /** The waiter's time is over: it gets what is owed to it after all, or ABSENT. */
  expire(ticket: number): void {
    const queue = this.#waiters.queue(ticket);
    if (this.#queues.available(queue) > 0) this.#deliver(queue);
    if (this.#waiters.queue(ticket) !== 0) this.dismiss(ticket);
  }

  /** Answers a waiter ABSENT. */
  dismiss(ticket: number): void {
    const queue = this.#waiters.queue(ticket);
    const partition = this.#queues.partitionOf(queue);
    const receiver = this.#waiters.remove(ticket);
    this.#queues.dropUnused(queue);
    this.#answers.blank.set(ABSENT, partition, this.#store.sequences[partition]!);
    this.#answers.send(receiver);
  }

  /** Answers everybody who waits now ABSENT; who comes meanwhile is not meant. */
  dismissAll(): void {
    for (const ticket of this.#waiters.tickets()) {
      if (this.#waiters.queue(ticket) !== 0) this.dismiss(ticket);
    }
  }

  #ask(): void {
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
      for (; done < due.length; done++) this.#deliver(due[done]!);
    } finally {
      // Only if a receiver has thrown is anything left: it gets its turn.
      for (; done < due.length; done++) this.schedule(due[done]!);
    }
  }

  #deliver(queue: number): void {
    while (this.#waiters.count(queue) > 0 && this.#queues.available(queue) > 0) {
      const receiver = this.#waiters.remove(this.#waiters.first(queue));
      const partition = this.#queues.partitionOf(queue);
      const sequence = this.#queues.choose(queue, 0);
      const address = this.#queues.address(queue, sequence);
      this.#queues.claim(queue, 0);
      const answer = this.#answers.blank;
      answer.setFound(address, partition, this.#store.sequences[partition]!);
      answer.hold = this.#queues.hold(queue, sequence);
      this.#answers.send(receiver);
    }
  }
}
