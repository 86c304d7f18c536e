/**
 * The engine within the process: all data is in the member's own memory, outside the JavaScript heap,
 * and every operation but a take that waits is answered during the call. This file implements the
 * contract with these parts:
 *
 *     Maps, Queues           the operations; each kind of mutation in one place
 *     Deliveries, Waiters    takes, also those that wait
 *     Returns                items that were not delivered
 *     Answers                answers, and how long the bytes they name stay
 *     NameTable              names of maps, queues and content types as numbers
 *     RecordStore            partitions, an index and a log of records each, in one pool of segments
 *     Cleaner, Sweeper       win back the space of dead records, and of cleared maps
 *     Expiry                 entries that go by themselves
 *     Recorder               asks and notifies the sinks
 *     Visits, Refill         walk over all data in steps, and fill an engine with it again
 *
 * An entry is in the partition of its key, a queue in that of its name (see hash.ts).
 */
import type { Span } from '../../base/span.ts';
import {
  ABSENT,
  ANSWERED,
  APPLIED,
  CLOSED,
  CONDITION_FAILED,
  type Condition,
  EVERY_PARTITION,
  type Lifetime,
  LOST,
  MEMORY_FULL,
  NO_PARTITION,
  type Outcome,
  REFUSED,
  type Receiver,
} from '../engine.ts';
import { type Mutation, SET } from '../mutation.ts';
import type {
  KnownOfReplay,
  Replay,
  StoredEngine,
  StoredVisitor,
  VisitCursor,
} from '../stored-engine.ts';
import type { EmbeddedAnswer } from './answer.ts';
import { type EmbeddedEngineOptions, Parts } from './parts.ts';

import { NO_ITEM } from './queue-order.ts';
import { Refill } from './refill.ts';

/** Memory that a member reserves, in bytes. */
export const RESERVED_BYTES = 2 ** 30;

export type { EmbeddedEngineOptions } from './parts.ts';

export class EmbeddedEngine implements StoredEngine {
  readonly isOrdered = true;
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

  /** The embedded engine is reachable from the start. */
  get isReachable(): boolean {
    return !this.#closed;
  }

  /** Open holds. */
  get holdCount(): number {
    return this.#parts.queues.holdCount;
  }

  /** Bytes of memory for stored data; may be Infinity. */
  get memoryBytesMax(): number {
    return this.#parts.store.meter.bytesMax;
  }

  /** Bytes of memory that the stored data has been given. */
  get memoryBytes(): number {
    return this.#parts.store.meter.bytes;
  }

  get(map: Span, key: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps, answers, store } = this.#parts;
    const address = maps.find(map, key);
    const { partition } = maps;
    const sequence = store.sequences[partition]!;
    if (address === 0) answers.blank.set(ABSENT, partition, sequence);
    else answers.blank.setEntry(address, partition, sequence);
    answers.send(receiver);
  }

  set(
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
    lifetime: Lifetime,
    condition: Condition,
    receiver: Receiver,
  ): void {
    if (this.#refused(receiver)) return;
    const { maps, answers } = this.#parts;
    const outcome = maps.set(map, key, value, contentType, lifetime, condition);
    const answer = this.#fill(outcome, maps.partition);
    if (outcome === APPLIED || outcome === CONDITION_FAILED) answer.version.copyFrom(maps.version);
    answers.send(receiver);
  }

  delete(map: Span, key: Span, condition: Condition, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps, answers } = this.#parts;
    const outcome = maps.delete(map, key, condition);
    const answer = this.#fill(outcome, maps.partition);
    if (outcome === CONDITION_FAILED) answer.version.copyFrom(maps.version);
    answers.send(receiver);
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
    const { queues, waiters, answers, store } = this.#parts;
    const id = queues.find(queue);
    const { partition } = queues;
    const item = id === 0 ? NO_ITEM : queues.choose(id, waiters.count(id));
    const sequence = store.sequences[partition]!;
    if (item === NO_ITEM) answers.blank.set(ABSENT, partition, sequence);
    else answers.blank.setFound(queues.address(id, item), partition, sequence);
    answers.send(receiver);
  }

  queueSize(queue: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, answers, store } = this.#parts;
    const id = queues.find(queue);
    const sequence = store.sequences[queues.partition]!;
    answers.blank.setCount(id === 0 ? 0 : queues.available(id), queues.partition, sequence);
    answers.send(receiver);
  }

  take(queue: Span, timeoutMs: number, receiver: Receiver): number {
    if (this.#refused(receiver)) return ANSWERED;
    const { queues, waiters, deliveries } = this.#parts;
    const id = timeoutMs > 0 ? queues.open(queue, true) : queues.find(queue);
    const { partition } = queues;
    const owed = id === 0 ? 0 : waiters.count(id);
    const item = id === 0 ? NO_ITEM : queues.choose(id, owed);
    if (item !== NO_ITEM) deliveries.give(id, item, owed, receiver);
    else if (timeoutMs > 0 && id !== 0) return waiters.add(id, timeoutMs, receiver);
    else this.#answer(timeoutMs > 0 ? MEMORY_FULL : ABSENT, partition, receiver);
    return ANSWERED;
  }

  cancel(ticket: number): void {
    const { queues, waiters } = this.#parts;
    const id = waiters.queue(ticket);
    if (id === 0) return;
    waiters.remove(ticket);
    queues.dropUnused(id);
  }

  acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, returns } = this.#parts;
    if (queues.queueOfHold(hold) === 0 || returns.awaits(hold)) {
      this.#answer(LOST, NO_PARTITION, receiver);
    } else if (isDelivered) {
      queues.acknowledge(hold);
      this.#answer(APPLIED, NO_PARTITION, receiver);
    } else returns.begin(hold, receiver);
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
    this.#replaceParts(this.#options);
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const { deliveries, returns } = this.#parts;
    const sequences = this.#sequences;
    this.#closed = true;
    // From now on empty parts answer, and the old data can be collected.
    this.#replaceParts({ ...this.#options, reservedBytes: 0 });
    this.#sequences = sequences;
    deliveries.dismissAll();
    returns.close();
    return Promise.resolve();
  }

  #replaceParts(options: EmbeddedEngineOptions): void {
    const { sweeper, expiry, store } = this.#parts;
    this.#parts = new Parts(options);
    this.#sequences = this.#parts.store.sequences;
    sweeper.close();
    expiry.close();
    store.pool.close();
  }

  #answer(outcome: Outcome, partition: number, receiver: Receiver): void {
    this.#fill(outcome, partition);
    this.#parts.answers.send(receiver);
  }

  /** The next answer, of an outcome alone. An operation that was not done depends on no partition. */
  #fill(outcome: Outcome, partition: number): EmbeddedAnswer {
    const { answers, store, recorder } = this.#parts;
    if (outcome === REFUSED) return answers.blank.setRefused(recorder.refusal);
    if (outcome === MEMORY_FULL) return answers.blank.set(outcome);
    return answers.blank.set(outcome, partition, store.sequences[partition] ?? 0);
  }

  /** Whether the engine is closed; then the receiver has its answer. */
  #refused(receiver: Receiver): boolean {
    if (!this.#closed) return false;
    const { answers } = this.#parts;
    answers.blank.setUnreachable(CLOSED);
    answers.send(receiver);
    return true;
  }
}
