/**
 * Offers of an embedding program that wait for room in full queues: for each queue in the order of the
 * calls. The first one of a queue tries again after each removal of an item. Only for queues that are
 * stored in this member. Tested by local/queue-waits.spec.ts.
 */
import assert from 'node:assert';
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import { type OperationResult, QUEUE_FULL } from '../engine/engine.ts';
import type { GivingUp } from './known-options.ts';
import type { LocalData, LocalWait, StoredQueues } from './local-data.ts';
import type { LocalName } from './local-name.ts';

/** @internal */
interface WaitingItem {
  readonly queue: LocalName;
  /** Copies of the bytes. */
  readonly value: Span;
  readonly contentType: Span;
  /** Time to wait, in seconds; may be Infinity. */
  readonly waitSeconds: number;
  readonly signal: GivingUp | undefined;
}

/** The waiting offers of a member. @internal */
export class OfferWaits {
  readonly #data: LocalData;
  readonly #clock: Clock;
  /** By the bytes of the queue's name. */
  readonly #queues = new Map<string, Set<WaitingOffer>>();

  constructor(data: LocalData, clock: Clock) {
    this.#data = data;
    this.#clock = clock;
  }

  /** Number of queues with waiting offers. */
  get queueCount(): number {
    return this.#queues.size;
  }

  /** Offers the item after those that wait for the queue. Resolves with whether it was added in time. */
  offer(item: WaitingItem, stored: StoredQueues): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const key = item.queue.span.toBuffer().toString('latin1');
      const waiting = this.#queues.get(key) ?? new Set();
      const leave = () => {
        waiting.delete(offer);
        if (waiting.size === 0) this.#queues.delete(key);
      };
      const offer = new WaitingOffer(this.#data, this.#clock, item, { resolve, reject, leave });
      this.#queues.set(key, waiting);
      waiting.add(offer);
      if (waiting.size === 1) this.#advance(key, item.queue, stored);
    });
  }

  #advance(key: string, queue: LocalName, stored: StoredQueues): void {
    for (const first of this.#queues.get(key) ?? []) {
      if (first.tries()) continue;
      stored.awaitRoom(queue.span, () => this.#advance(key, queue, stored));
      return;
    }
  }
}

interface Ending {
  readonly resolve: (isAdded: boolean) => void;
  readonly reject: (reason: unknown) => void;
  /** Called when the offer no longer waits. */
  readonly leave: () => void;
}

class WaitingOffer implements LocalWait {
  readonly hasLimit: boolean;
  readonly #data: LocalData;
  readonly #item: WaitingItem;
  readonly #ending: Ending;
  readonly #leaving: (() => void)[] = [];

  constructor(data: LocalData, clock: Clock, item: WaitingItem, ending: Ending) {
    this.#data = data;
    this.#item = item;
    this.#ending = ending;
    const { waitSeconds, signal } = item;
    this.hasLimit = waitSeconds !== Number.POSITIVE_INFINITY;
    data.enter(this);
    this.#leaving.push(ending.leave, () => data.leave(this));
    if (this.hasLimit) {
      const timer = clock.after(waitSeconds * 1000, () => {
        this.#leave();
        ending.resolve(false);
      });
      this.#leaving.push(() => timer.cancel());
    }
    if (signal === undefined) return;
    const onAbort = () => this.#fail(signal.reason);
    signal.addEventListener('abort', onAbort);
    this.#leaving.push(() => signal.removeEventListener('abort', onAbort));
  }

  /** Offers the item. Returns whether the wait has ended: the queue was not full. */
  tries(): boolean {
    const { queue, value, contentType } = this.#item;
    let outcome = 0;
    const onResult = (answer: OperationResult) => {
      outcome = answer.outcome;
      if (outcome !== QUEUE_FULL) this.#end(answer);
    };
    this.#data.engine.offer(queue.span, value, contentType, { onResult });
    assert(outcome !== 0, 'an engine in this member completes the offer during the call');
    return outcome !== QUEUE_FULL;
  }

  endWait(): void {
    this.#fail(new GridError('CLUSTER_PASSIVE', { action: `offer to ${this.#item.queue.shown}` }));
  }

  finish(): void {
    this.#fail(new GridError('ENGINE_CLOSED', { name: this.#item.queue.shown }));
  }

  /** The offer is made, or has failed: it can no longer be given up. */
  #end(answer: OperationResult): void {
    this.#leave();
    const { resolve, reject } = this.#ending;
    const fault = this.#data.faultOf(answer, this.#item.queue.shown);
    if (fault !== undefined) return reject(fault);
    this.#data.answers.send(answer.partition, answer.sequence, (isDurable) => {
      if (isDurable) resolve(true);
      else reject(new GridError('OUTCOME_UNKNOWN', {}));
    });
  }

  #fail(reason: unknown): void {
    this.#leave();
    this.#ending.reject(reason);
  }

  #leave(): void {
    for (const each of this.#leaving.splice(0)) each();
  }
}
