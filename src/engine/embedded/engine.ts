/**
 * The engine within the process: everything is in the member's own memory, outside the JavaScript
 * heap, and every operation but a take that waits is answered during the call. This file is the
 * contract's side of it; what it is made of:
 *
 *     Maps, Queues           what the operations do; each kind of mutation in one place
 *     Deliveries, Waiters    takes that wait
 *     Answers                answers, and how long the bytes they name stay
 *     NameTable              names of maps, queues and content types as numbers
 *     RecordStore            partitions, an index and a log of records each, in one pool of segments
 *     Cleaner, Sweeper       win back the space of dead records, and of cleared maps
 *     Expiry                 entries that go by themselves
 *     Recorder               asks and tells the sinks
 *     Visits, Refill         everything out in steps, and in again
 *
 * An entry is in the partition of its key, a queue in that of its name (see hash.ts).
 */
import type { Span } from '../../base/span.ts';
import {
  ABSENT,
  ANSWERED,
  APPLIED,
  EVERY_PARTITION,
  type Lifetime,
  MEMORY_FULL,
  NO_PARTITION,
  type Outcome,
  type QueueCapacity,
  REFUSED,
  type Receiver,
  UNAVAILABLE,
} from '../engine.ts';
import { type Mutation, SET } from '../mutation.ts';
import type { MutationSink } from '../mutation-sink.ts';
import type {
  KnownOfReplay,
  Replay,
  StoredEngine,
  StoredVisitor,
  VisitCursor,
} from '../stored-engine.ts';
import { Parts } from './parts.ts';
import { NO_ITEM } from './queue-order.ts';
import type { RecordStoreOptions } from './record-store.ts';
import { Refill } from './refill.ts';

/** What a member reserves, in bytes. */
export const RESERVED_BYTES = 2 ** 30;
/** Until an item whose return a sink has refused is to return again, in ms. */
const RETURN_RETRY_MS = 1000;

export interface EmbeddedEngineOptions extends RecordStoreOptions {
  readonly queueCapacity: QueueCapacity;
  /** In the order in which they are asked; none unless given. */
  readonly sinks?: readonly MutationSink[];
}

export class EmbeddedEngine implements StoredEngine {
  readonly partitionCount: number;
  readonly #options: EmbeddedEngineOptions;
  #sequences: Float64Array;
  #parts: Parts;
  #closed = false;

  constructor(options: EmbeddedEngineOptions) {
    this.partitionCount = options.partitionCount;
    this.#options = options;
    this.#parts = new Parts(options);
    this.#sequences = this.#parts.store.sequences;
  }

  /** Bytes of memory for what is stored; may be Infinity. */
  get memoryBytesMax(): number {
    return this.#parts.store.meter.bytesMax;
  }

  /** Bytes of memory that what is stored has been given. */
  get memoryBytes(): number {
    return this.#parts.store.meter.bytes;
  }

  get(map: Span, key: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps } = this.#parts;
    const address = maps.find(map, key);
    if (address === 0) this.#answer(ABSENT, maps.partition, receiver);
    else this.#answerFound(address, maps.partition, receiver);
  }

  set(
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
    lifetime: Lifetime,
    receiver: Receiver,
  ): void {
    if (this.#refused(receiver)) return;
    const { maps } = this.#parts;
    const outcome = maps.set(map, key, value, contentType, lifetime);
    this.#answer(outcome, maps.partition, receiver);
  }

  delete(map: Span, key: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps } = this.#parts;
    const outcome = maps.delete(map, key);
    this.#answer(outcome, maps.partition, receiver);
  }

  clear(map: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    this.#answer(this.#parts.maps.clear(map), EVERY_PARTITION, receiver);
  }

  size(map: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps, answers } = this.#parts;
    answers.blank.setCount(maps.size(map), EVERY_PARTITION, 0);
    answers.send(receiver);
  }

  offer(queue: Span, value: Span, contentType: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, deliveries } = this.#parts;
    const outcome = queues.offer(queue, value, contentType);
    const { partition } = queues;
    if (outcome === APPLIED) deliveries.schedule(queues.offered);
    this.#answer(outcome, partition, receiver);
  }

  peek(queue: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, waiters } = this.#parts;
    const id = queues.find(queue);
    const item = id === 0 ? NO_ITEM : queues.choose(id, waiters.count(id));
    if (item === NO_ITEM) this.#answer(ABSENT, queues.partition, receiver);
    else this.#answerFound(queues.address(id, item), queues.partition, receiver);
  }

  queueSize(queue: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, answers, store } = this.#parts;
    const id = queues.find(queue);
    const sequence = store.sequences[queues.partition]!;
    answers.blank.setCount(id === 0 ? 0 : queues.available(id), queues.partition, sequence);
    answers.send(receiver);
  }

  poll(queue: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, waiters, answers, store } = this.#parts;
    const id = queues.find(queue);
    const { partition } = queues;
    const owed = id === 0 ? 0 : waiters.count(id);
    const item = id === 0 ? NO_ITEM : queues.choose(id, owed);
    if (item === NO_ITEM) {
      this.#answer(ABSENT, partition, receiver);
      return;
    }
    if (!queues.consents(id, item)) {
      this.#answer(REFUSED, partition, receiver);
      return;
    }
    // The record is gone before the answer is read; its bytes must stay until then.
    store.pool.hold();
    try {
      const answer = answers.blank;
      answer.setFound(queues.address(id, item), partition, 0);
      queues.claim(id, owed);
      answer.hold = queues.poll(id, item);
      answer.sequence = store.sequences[partition]!;
      answers.send(receiver);
    } finally {
      store.pool.letGo();
    }
  }

  take(queue: Span, timeoutMs: number, receiver: Receiver): number {
    if (this.#refused(receiver)) return ANSWERED;
    const { queues, waiters, answers, store } = this.#parts;
    const id = timeoutMs > 0 ? queues.open(queue, true) : queues.find(queue);
    const { partition } = queues;
    const owed = id === 0 ? 0 : waiters.count(id);
    const item = id === 0 ? NO_ITEM : queues.choose(id, owed);
    if (item === NO_ITEM) {
      if (timeoutMs > 0 && id !== 0) return waiters.add(id, timeoutMs, receiver);
      this.#answer(timeoutMs > 0 ? MEMORY_FULL : ABSENT, partition, receiver);
      return ANSWERED;
    }
    const answer = answers.blank;
    answer.setFound(queues.address(id, item), partition, store.sequences[partition]!);
    queues.claim(id, owed);
    answer.hold = queues.hold(id, item);
    answers.send(receiver);
    return ANSWERED;
  }

  cancel(ticket: number): void {
    const { queues, waiters } = this.#parts;
    const id = waiters.queue(ticket);
    if (id === 0) return;
    waiters.remove(ticket);
    queues.dropUnused(id);
  }

  settle(hold: number, confirm: boolean, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, deliveries } = this.#parts;
    const id = queues.queueOfHold(hold);
    if (id === 0) throw new RangeError(`Cannot settle hold ${hold}: it has ended`);
    const partition = queues.partitionOf(id);
    const outcome = queues.settle(hold, confirm);
    if (!confirm || outcome !== APPLIED) deliveries.schedule(id);
    const isOpen = queues.queueOfHold(hold) !== 0;
    this.#answer(outcome, partition, receiver, isOpen ? hold : 0);
  }

  conclude(hold: number, isDelivered: boolean): void {
    if (this.#closed) return;
    const { queues, deliveries } = this.#parts;
    const id = queues.queueOfHold(hold);
    if (id === 0) throw new RangeError(`Cannot conclude hold ${hold}: it has ended`);
    if (!queues.conclude(hold, isDelivered)) {
      this.#options.clock.after(RETURN_RETRY_MS, () => this.conclude(hold, false));
    } else if (!isDelivered) deliveries.schedule(id);
  }

  sequences(): Float64Array {
    return this.#sequences.slice();
  }

  holds(partition: number, sequence: number): boolean {
    return this.#parts.recorder.holds(partition, sequence);
  }

  visit(partition: number, cursor: VisitCursor, budget: number, visitor: StoredVisitor): boolean {
    return this.#parts.visits.visit(partition, cursor, budget, visitor);
  }

  isStored(mutation: Mutation): boolean {
    const { maps, queues } = this.#parts;
    return mutation.operation === SET ? maps.isStored(mutation) : queues.isStored(mutation);
  }

  replay(known: KnownOfReplay = {}): Replay {
    return new Refill(this.#parts, known);
  }

  reset(): void {
    const { sweeper, expiry, store } = this.#parts;
    this.#parts = new Parts(this.#options);
    this.#sequences = this.#parts.store.sequences;
    sweeper.close();
    expiry.close();
    store.pool.close();
  }

  close(): void {
    if (this.#closed) return;
    const { deliveries } = this.#parts;
    const sequences = this.#sequences;
    this.#closed = true;
    // Empty parts answer from now on, and what was stored can be collected.
    this.reset();
    this.#sequences = sequences;
    deliveries.dismissAll();
  }

  #answer(outcome: Outcome, partition: number, receiver: Receiver, hold = 0): void {
    const { answers, store, recorder } = this.#parts;
    if (outcome === REFUSED) answers.blank.setRefused(recorder.refusal);
    else answers.blank.set(outcome, partition, store.sequences[partition] ?? 0).hold = hold;
    answers.send(receiver);
  }

  #answerFound(address: number, partition: number, receiver: Receiver): void {
    const { answers, store } = this.#parts;
    answers.blank.setFound(address, partition, store.sequences[partition]!);
    answers.send(receiver);
  }

  /** Whether the engine is closed; then the receiver has its answer. */
  #refused(receiver: Receiver): boolean {
    if (!this.#closed) return false;
    const { answers } = this.#parts;
    answers.blank.set(UNAVAILABLE, NO_PARTITION, 0);
    answers.send(receiver);
    return true;
  }
}
