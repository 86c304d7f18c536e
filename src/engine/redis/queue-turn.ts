/**
 * What a turn asks of a queue: the offers, and the takes that do not wait, are gathered, and leave as one
 * script each when the connection is about to write, the offers first. So they are all under way at the same
 * time, and may take effect in another order than called; offers among themselves, and takes, keep theirs.
 * Any other operation on the queue comes behind what was gathered before it.
 */
import type { Dispatcher } from './dispatcher.ts';
import type { LocalQueue, QueueTake } from './local-queues.ts';
import { OFFERS_MAX, TAKES_MAX } from './queue-scripts.ts';

export class QueueTurn {
  readonly #dispatcher: Dispatcher;
  readonly #sendTakes: (queue: LocalQueue, takes: readonly QueueTake[]) => void;
  readonly #queues = new Set<LocalQueue>();

  /** `sendTakes`: where they fail at once, their receivers are told later. */
  constructor(
    dispatcher: Dispatcher,
    sendTakes: (queue: LocalQueue, takes: readonly QueueTake[]) => void,
  ) {
    this.#dispatcher = dispatcher;
    this.#sendTakes = sendTakes;
  }

  /** An offer was added to the queue's. */
  onOffer(queue: LocalQueue): void {
    if (queue.offers!.count === OFFERS_MAX) this.send(queue);
    else this.#gather(queue);
  }

  addTake(queue: LocalQueue, take: QueueTake): void {
    if (queue.takes.push(take) === TAKES_MAX) this.send(queue);
    else this.#gather(queue);
  }

  /** Sends what was gathered of the queue. */
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
