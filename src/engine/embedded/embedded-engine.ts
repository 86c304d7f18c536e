/**
 * The in-process engine: all data is in the memory of the member, outside the JavaScript heap, and
 * every operation except a waiting take has its result during the call. This file implements the
 * contract with these components:
 *
 *     Maps, Queues             the operations; each kind of mutation in one place
 *     ItemDeliveries, Waiters  takes, including waiting ones
 *     ItemReturns              items that were not delivered
 *     Results                  results, and how long the bytes they refer to remain valid
 *     Lists                    lists of entries and names
 *     NameTable                names of maps, queues and content types as numbers
 *     CellStore                partitions, each an index and a log of cells, in one pool of extents
 *     Cleaner                  reclaims the space of dead cells
 *     Sweeper, Expiry          end entries that expire, and those of cleared maps
 *     Recorder                 asks and notifies the sinks
 *     Merges                   changes of other data sets
 *     Tombstones               records of removals, for merges
 *     MapFlags                 properties that only some maps have
 *     Visits, Refill           walk over all data in steps, and refill an engine with it
 *
 * An entry is in the partition of its key, a queue in that of its name (see hash.ts).
 */
import { HAS_EXPENSIVE_ASSERTIONS } from '../../base/expensive-assertions.ts';
import { EVERY_PARTITION, NO_PARTITION } from '../../base/partition-number.ts';
import type { Span } from '../../base/span.ts';
import type { Condition } from '../condition.ts';
import type { DataFigures, StoredNames } from '../data-figures.ts';
import {
  ABSENT,
  APPLIED,
  CLOSED,
  CONDITION_FAILED,
  type EntryReceiver,
  KNOWN,
  type Lifetime,
  LOST,
  MEMORY_FULL,
  type NameKind,
  type NameReceiver,
  NO_TICKET,
  type Outcome,
  REFUSED,
  type Receiver,
} from '../engine.ts';
import type { MergePolicy } from '../merge-policy.ts';
import { type Mutation, OFFER, SET } from '../mutation.ts';
import type { MutationSink } from '../mutation-sink.ts';
import {
  REMOVED_ITEMS_MAX,
  type ReplayFacts,
  type StoredEngine,
  type StoredVisitor,
  type TombstoneCursor,
  type TombstoneFigures,
  type VisitCursor,
} from '../stored-engine.ts';
import { Version } from '../version.ts';
import {
  type EmbeddedEngineOptions,
  type EngineComponents,
  engineComponents,
} from './engine-components.ts';
import { assertInvariants } from './engine-invariants.ts';
import { ListedMaps } from './listed-maps.ts';
import { NO_ITEM } from './queue-order.ts';
import { Refill } from './refill.ts';
import type { EmbeddedResult } from './results.ts';
import { SLAB_BYTES } from './slabs.ts';

/** Memory that a member requests from the system ahead of its use, in bytes: 1 GiB. */
export const STOCK_BYTES = 32 * SLAB_BYTES;

export type { EmbeddedEngineOptions } from './engine-components.ts';

export class EmbeddedEngine implements StoredEngine, DataFigures {
  readonly isOrdered = true;
  readonly partitionCount: number;
  #options: EmbeddedEngineOptions;
  #sequences: Float64Array;
  #components: EngineComponents;
  #closed = false;
  /** The version of the entry that the current call operates on. */
  readonly #version = new Version();

  constructor(options: EmbeddedEngineOptions) {
    this.partitionCount = options.partitionCount;
    this.#options = options;
    this.#components = engineComponents(options);
    this.#sequences = this.#components.store.sequences;
  }

  get listRun(): number {
    return this.#components.lists.run;
  }

  /** The embedded engine is reachable from the start. */
  get isReachable(): boolean {
    return !this.#closed;
  }

  /** Number of open holds. */
  get holdCount(): number {
    return this.#components.queues.order.holds.count;
  }

  /** Bytes of memory for stored data; may be Infinity. */
  get memoryBytesMax(): number {
    return this.#components.store.meter.bytesMax;
  }

  /** Bytes of memory allocated for stored data. */
  get memoryBytes(): number {
    return this.#components.store.meter.bytes;
  }

  get maps(): StoredNames {
    return new ListedMaps(this.#components.mapNames);
  }

  get queues(): StoredNames {
    return this.#components.queueNames;
  }

  get entryCount(): number {
    return new ListedMaps(this.#components.mapNames).entryCount;
  }

  get itemCount(): number {
    return this.#components.queues.order.count;
  }

  get expiredEntryCount(): number {
    return this.#components.expiry.expiredCount;
  }

  entriesOf(map: number): number {
    return this.#components.mapNames.uses(map);
  }

  bytesOf(map: number): number {
    return this.#components.mapBytes.get(map);
  }

  itemsOf(queue: number): number {
    return this.#components.queues.order.available(queue);
  }

  heldItemsOf(queue: number): number {
    return this.#components.queues.order.holds.held(queue);
  }

  waitersOf(queue: number): number {
    return this.#components.waiters.count(queue);
  }

  capacityOf(queue: number): number {
    return this.#components.queues.capacityOf(queue);
  }

  get(map: Span, key: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps, results, store, mapFlags } = this.#components;
    const hashedKey = maps.key(key);
    const address = maps.find(map, hashedKey);
    const { partition } = hashedKey;
    const sequence = store.sequences[partition]!;
    if (mapFlags.countsReads && address !== 0) maps.countRead(address);
    if (address === 0) results.blank.set(ABSENT, partition, sequence);
    else results.blank.setEntry(address, partition, sequence);
    results.send(receiver);
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
    const { maps, results } = this.#components;
    const hashedKey = maps.key(key);
    const { partition } = hashedKey;
    const version = this.#version;
    const outcome = maps.set(map, hashedKey, value, contentType, lifetime, condition, version);
    const result = this.#fill(outcome, partition);
    if (outcome === APPLIED || outcome === CONDITION_FAILED) result.version.copyFrom(version);
    if (outcome === APPLIED && condition !== undefined) result.wasPresent = maps.wasPresent;
    results.send(receiver);
  }

  add(map: Span, key: Span, by: bigint, lifetime: Lifetime, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps, results } = this.#components;
    const hashedKey = maps.key(key);
    const { partition } = hashedKey;
    const outcome = maps.add(map, hashedKey, by, lifetime, this.#version);
    const result = this.#fill(outcome, partition);
    if (outcome === APPLIED) {
      result.value.copyFrom(maps.sum);
      result.version.copyFrom(this.#version);
    }
    results.send(receiver);
  }

  delete(map: Span, key: Span, condition: Condition, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps, results } = this.#components;
    const hashedKey = maps.key(key);
    const outcome = maps.delete(map, hashedKey, condition, this.#version);
    const result = this.#fill(outcome, hashedKey.partition);
    if (outcome === CONDITION_FAILED) result.version.copyFrom(this.#version);
    results.send(receiver);
  }

  clear(map: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    this.#sendOutcome(this.#components.clears.clear(map), EVERY_PARTITION, receiver);
  }

  size(map: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { maps, results } = this.#components;
    const result = results.blank.setCount(maps.size(map), EVERY_PARTITION, 0);
    result.bytes = maps.bytes(map);
    results.send(receiver);
  }

  entries(map: Span, prefix: Span, place: Span, count: number, receiver: EntryReceiver): void {
    if (this.#refused(receiver)) return;
    this.#components.lists.entries(map, prefix, place, count, receiver);
  }

  names(kind: NameKind, prefix: Span, place: Span, count: number, receiver: NameReceiver): void {
    if (this.#refused(receiver)) return;
    this.#components.lists.names(kind, prefix, place, count, receiver);
  }

  offer(queue: Span, value: Span, contentType: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, deliveries } = this.#components;
    const id = queues.open(queue);
    if (id === 0) return this.#sendOutcome(MEMORY_FULL, NO_PARTITION, receiver);
    const partition = queues.partitionOf(id);
    const outcome = queues.offer(id, queue, value, contentType);
    if (outcome === APPLIED) deliveries.schedule(id);
    this.#sendOutcome(outcome, partition, receiver);
  }

  peek(queue: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queueNames, queues, rings, waiters, results, store } = this.#components;
    const id = queueNames.find(queue);
    const partition = this.#partitionOf(id, queue);
    const item = id === 0 ? NO_ITEM : queues.order.choose(id, waiters.count(id));
    const sequence = store.sequences[partition]!;
    if (item === NO_ITEM) results.blank.set(ABSENT, partition, sequence);
    else results.blank.setFound(rings.get(id, item), partition, sequence);
    results.send(receiver);
  }

  queueSize(queue: Span, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queueNames, queues, results, store } = this.#components;
    const id = queueNames.find(queue);
    const partition = this.#partitionOf(id, queue);
    const sequence = store.sequences[partition]!;
    results.blank.setCount(id === 0 ? 0 : queues.order.available(id), partition, sequence);
    results.send(receiver);
  }

  queueEnd(queue: Span): number {
    const { queueNames, rings } = this.#components;
    const id = queueNames.find(queue);
    return id === 0 ? 0 : rings.end(id);
  }

  removeItems(queue: Span, end: number, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queueNames, queues, waiters, results, store } = this.#components;
    let count = 0;
    for (; count < REMOVED_ITEMS_MAX; count++) {
      // The queue ends with its last item.
      const id = queueNames.find(queue);
      const owed = id === 0 ? 0 : waiters.count(id);
      const item = id === 0 ? NO_ITEM : queues.order.choose(id, owed);
      if (item === NO_ITEM || item >= end) break;
      if (queues.discard(id, item, owed)) continue;
      if (count === 0) return this.#sendOutcome(REFUSED, NO_PARTITION, receiver);
      this.#components.recorder.takeVeto();
      break;
    }
    const partition = queueNames.partitionOf(queue);
    results.blank.setCount(count, partition, store.sequences[partition]!);
    results.send(receiver);
  }

  awaitRoom(queue: Span, onRoom: () => void): void {
    const { queueNames, queues } = this.#components;
    if (!this.#closed) queues.awaitRoom(queueNames.find(queue), onRoom);
  }

  take(queue: Span, timeoutMs: number, receiver: Receiver): number {
    if (this.#refused(receiver)) return NO_TICKET;
    const { queueNames, queues, waiters, deliveries } = this.#components;
    const id = timeoutMs > 0 ? queues.open(queue, true) : queueNames.find(queue);
    const owed = id === 0 ? 0 : waiters.count(id);
    const item = id === 0 ? NO_ITEM : queues.order.choose(id, owed);
    if (item !== NO_ITEM) deliveries.deliver(id, item, owed, receiver);
    else if (timeoutMs > 0 && id !== 0) return waiters.add(id, timeoutMs, receiver);
    else if (timeoutMs > 0) this.#sendOutcome(MEMORY_FULL, NO_PARTITION, receiver);
    else this.#sendOutcome(ABSENT, this.#partitionOf(id, queue), receiver);
    return NO_TICKET;
  }

  cancel(ticket: number): void {
    const { queues, waiters } = this.#components;
    const id = waiters.queue(ticket);
    if (id === 0) return;
    waiters.remove(ticket);
    queues.dropUnused(id);
  }

  acknowledge(hold: number, isDelivered: boolean, receiver: Receiver): void {
    if (this.#refused(receiver)) return;
    const { queues, returns } = this.#components;
    if (queues.queueOfHold(hold) === 0 || returns.awaits(hold)) {
      this.#sendOutcome(LOST, NO_PARTITION, receiver);
    } else if (isDelivered) {
      queues.acknowledge(hold);
      this.#sendOutcome(APPLIED, NO_PARTITION, receiver);
    } else returns.begin(hold, receiver);
  }

  merge(change: Mutation, policy: MergePolicy, receiver: Receiver, syncBegan?: Version): void {
    if (this.#refused(receiver)) return;
    const { merges, results } = this.#components;
    const outcome = merges.merge(change, policy, syncBegan);
    const result = this.#fill(outcome, merges.partition);
    if (outcome === APPLIED || outcome === KNOWN) result.version.copyFrom(merges.version);
    results.send(receiver);
  }

  observe(version: Version): void {
    this.#components.store.versions.restore(version);
  }

  now(version: Version): void {
    const { versions } = this.#components.store;
    version.set(versions.low, versions.high);
  }

  identify(dataSetId: Uint8Array): void {
    this.#options = { ...this.#options, dataSetId };
    this.#components.store.versions.identify(dataSetId);
  }

  addSink(sink: MutationSink): void {
    this.#setSinks([...this.#components.recorder.sinks, sink]);
  }

  removeSink(sink: MutationSink): void {
    this.#setSinks(this.#components.recorder.sinks.filter((other) => other !== sink));
  }

  reviewMaps(): void {
    this.#components.mapFlags.review();
  }

  get tombstones(): TombstoneFigures {
    return this.#components.tombstones;
  }

  sequences(): Float64Array {
    return this.#sequences.slice();
  }

  delays(partition: number, sequence: number): boolean {
    return this.#components.recorder.delays(partition, sequence);
  }

  visit(partition: number, cursor: VisitCursor, budget: number, visitor: StoredVisitor): boolean {
    return this.#components.visits.visit(partition, cursor, budget, visitor);
  }

  visitTombstones(cursor: TombstoneCursor, budget: number, visitor: StoredVisitor): boolean {
    const { tombstones, mapFlags } = this.#components;
    if (tombstones.visit(cursor, budget, visitor)) return true;
    return mapFlags.visitMerged(cursor, budget, visitor);
  }

  isStored(mutation: Mutation): boolean {
    const { maps, queues, tombstones } = this.#components;
    if (mutation.operation === SET) return maps.isStored(mutation);
    return mutation.operation >= OFFER ? queues.isStored(mutation) : tombstones.has(mutation);
  }

  replay(facts: ReplayFacts = {}): Refill {
    return new Refill(this.#components, facts);
  }

  reset(): void {
    this.#replaceComponents(this.#options);
  }

  /** Asserts that all structures are consistent, also during a replay. O(all data). */
  invariants(): void {
    assertInvariants(this.#components);
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const { deliveries, returns } = this.#components;
    const sequences = this.#sequences;
    this.#closed = true;
    // Empty components handle the next calls, and the old data can be collected.
    this.#replaceComponents({ ...this.#options, stockBytes: 0 });
    this.#sequences = sequences;
    deliveries.dismissAll();
    returns.close();
    return Promise.resolve();
  }

  #setSinks(sinks: readonly MutationSink[]): void {
    this.#options = { ...this.#options, sinks };
    this.#components.recorder.replace(sinks);
    this.#components.mapFlags.review();
  }

  #replaceComponents(options: EmbeddedEngineOptions): void {
    if (HAS_EXPENSIVE_ASSERTIONS) this.invariants();
    const { sweeper, store, tombstones, expiry } = this.#components;
    this.#components = engineComponents(options);
    // Totals count from the start of the engine.
    this.#components.expiry.expiredCount = expiry.expiredCount;
    this.#components.tombstones.droppedCount = tombstones.droppedCount;
    this.#sequences = this.#components.store.sequences;
    sweeper.close();
    tombstones.close();
    store.pool.close();
  }

  /** Returns the partition number of the queue with this id, or with id 0, of the queue's name. */
  #partitionOf(id: number, queue: Span): number {
    const { queueNames, queues } = this.#components;
    return id === 0 ? queueNames.partitionOf(queue) : queues.partitionOf(id);
  }

  #sendOutcome(outcome: Outcome, partition: number, receiver: Receiver): void {
    this.#fill(outcome, partition);
    this.#components.results.send(receiver);
  }

  /**
   * Fills the next result with only an outcome. An operation that was not done depends on no
   * partition.
   */
  #fill(outcome: Outcome, partition: number): EmbeddedResult {
    const { results, store, recorder } = this.#components;
    if (outcome === REFUSED) return results.blank.setRefused(recorder.takeVeto());
    if (outcome === MEMORY_FULL) return results.blank.set(outcome);
    return results.blank.set(outcome, partition, store.sequences[partition] ?? 0);
  }

  /** Whether the engine is closed; if so, sends the result to the receiver. */
  #refused(receiver: Receiver): boolean {
    if (!this.#closed) return false;
    const { results } = this.#components;
    results.blank.setUnreachable(CLOSED);
    results.send(receiver);
    return true;
  }
}
