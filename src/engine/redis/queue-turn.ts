/**
 * Collects the offers to a queue, and the takes that do not wait, in each turn. They are sent as
 * one script of each kind when the connection is about to write, offers first. They are all
 * concurrent, so offers and takes may take effect in another order than they were called; the order
 * among offers, and among takes, is preserved. Any other operation on the queue is sent after those
 * collected before it.
 */
import type { Dispatcher } from './dispatcher.ts';
import type { LocalQueue, QueueTake } from './local-queues.ts';
import { OFFERS_MAX, TAKES_MAX } from './queue-scripts.ts';

export class QueueTurn {
  readonly #dispatcher: Dispatcher;
  readonly #sendTakes: (queue: LocalQueue, takes: readonly QueueTake[]) => void;
  readonly #queues = new Set<LocalQueue>();

  /** `sendTakes`: if they fail at once, it notifies their receivers later. */
  constructor(
    dispatcher: Dispatcher,
    sendTakes: (queue: LocalQueue, takes: readonly QueueTake[]) => void,
  ) {
    this.#dispatcher = dispatcher;
    this.#sendTakes = sendTakes;
  }

  /** Called after an offer was added to the queue's collected ones. */
  onOffer(queue: LocalQueue): void {
    if (queue.offers!.count === OFFERS_MAX) this.send(queue);
    else this.#gather(queue);
  }

  addTake(queue: LocalQueue, take: QueueTake): void {
    if (queue.takes.push(take) === TAKES_MAX) this.send(queue);
    else this.#gather(queue);
  }

  /** Sends the collected operations of the queue. */
  send(queue: LocalQueue): void {
    this.#queues.delete(queue);
    const { offers, takes } = queue;
    queue.offers = undefined;
    offers?.send();
    if (takes.length === 0) return;
    queue.takes = [];
    this.#sendTakes(queue, takes);
  }

  sendAll(): void {
    for (const queue of this.#queues) this.send(queue);
  }

  #gather(queue: LocalQueue): void {
    if (this.#queues.has(queue)) return;
    this.#queues.add(queue);
    this.#dispatcher.beforeWrite(queue, () => this.send(queue));
  }
}
