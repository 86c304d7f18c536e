/**
 * The queues. A queue is in one partition with all its items, which are cells there; a ring keeps
 * their order by sequence (ring-buffer.ts, queue-order.ts).
 *
 * While takes wait, the first available items are owed to them: a later take sees only the items
 * after those. So an offer to such a queue delivers nothing by itself; the engine does at the end
 * of the turn. A queue exists while it has items or waiters; after that, nothing of it remains.
 *
 * A removal whose result is delayed by a sink leaves the item at its place, held, until the result
 * is sent: if the client has disconnected by then, the item can return. Held items count neither in
 * a queue's size nor against its capacity.
 *
 * Items are numbered from the partition's sequence at the beginning of the queue. As each item
 * raises that by one, no later queue of the same name has an item with the same number.
 */
import assert from 'node:assert/strict';
import type { Span } from '../../base/span.ts';
import {
  APPLIED,
  MEMORY_FULL,
  NO_HOLD,
  type Outcome,
  QUEUE_FULL,
  type QueueCapacity,
  REFUSED,
} from '../engine.ts';
import { KeyWords } from '../key-words.ts';
import { FROM_REPLAY, type Mutation, OFFER, REMOVE } from '../mutation.ts';
import {
  CELL_VALUE_BYTES_MAX,
  cellBytes,
  KIND_ITEM,
  tagAt,
  writeHead,
  writeValue,
  writeVersion,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Cleaner } from './cleaner.ts';
import type { Holds } from './holds.ts';
import { ItemMutations } from './item-mutations.ts';
import type { NameTable } from './name-table.ts';
import type { PagedDoubles, PagedIntegers } from './paged-array.ts';
import type { Partition } from './partition.ts';
import { QueueOrder } from './queue-order.ts';
import type { Recorder } from './recorder.ts';
import type { RingBuffers } from './ring-buffer.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Sweeper } from './sweeper.ts';
import type { Waiters } from './waiters.ts';

/** Bytes that queues opened by a waiting take may use beyond the limit. */
const WAITING_BYTES_MAX = 1_048_576;

export interface QueueOptions {
  readonly queueCapacity: QueueCapacity;
  /**
   * Whether every take has a hold. An engine needs this if its results are passed on later, for
   * example through a ring between threads. Otherwise only a take whose result a sink delays has
   * one.
   */
  readonly acknowledgesAll?: boolean;
}

interface QueueComponents {
  readonly cleaner: Cleaner;
  readonly sweeper: Sweeper;
  readonly waiters: Waiters;
}

export class Queues {
  readonly order: QueueOrder;
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #cleaner: Cleaner;
  readonly #rings: RingBuffers;
  readonly #waiters: Waiters;
  readonly #holds: Holds;
  readonly #sweeper: Sweeper;
  readonly #recorder: Recorder;
  readonly #capacityOf: QueueCapacity;
  /** Whether every removed item is held. */
  readonly #acknowledgesAll: boolean;
  readonly #mutations: ItemMutations;
  /** The mutation being made. Its spans are set only if there are sinks. */
  readonly #draft: Mutation;
  readonly #key = new KeyWords();
  readonly #capacities: PagedDoubles;
  readonly #partitions: PagedIntegers;
  /** Functions to call after the next removal, by queue. */
  readonly #roomWaits = new Map<number, () => void>();

  constructor(shared: SharedComponents, components: QueueComponents, options: QueueOptions) {
    const { store, queueNames, contentTypes, rings, recorder } = shared;
    this.#store = store;
    this.#names = queueNames;
    this.#contentTypes = contentTypes;
    this.#cleaner = components.cleaner;
    this.#rings = rings;
    this.#waiters = components.waiters;
    this.order = new QueueOrder(rings, queueNames.ids);
    this.#holds = this.order.holds;
    this.#sweeper = components.sweeper;
    this.#recorder = recorder;
    this.#capacityOf = options.queueCapacity;
    this.#acknowledgesAll = options.acknowledgesAll ?? false;
    this.#capacities = queueNames.ids.doubles();
    this.#partitions = queueNames.ids.integers();
    this.#mutations = new ItemMutations(shared, this.#partitions);
    this.#draft = this.#mutations.draft;
  }

  /**
   * Returns the id of the queue, which is created if necessary; 0 if there is no memory. A queue
   * for a waiting take may use a little more than the limit.
   */
  open(queue: Span, isToWait = false): number {
    const id = this.#names.open(queue, isToWait ? WAITING_BYTES_MAX : 0);
    if (id === 0 || this.#names.uses(id) > 0) return id;
    this.#names.use(id);
    this.#capacities.set(id, this.#capacityOf(queue.toBuffer()));
    const partition = this.#names.partitionOf(queue);
    this.#partitions.set(id, partition);
    this.order.begin(id, this.#store.sequences[partition]!);
    return id;
  }

  /** Removes a queue that has neither items nor waiters. */
  dropUnused(id: number): void {
    if (!this.order.isEmpty(id) || this.#waiters.count(id) > 0) return;
    const partition = this.#partitionOf(id);
    this.#rings.drop(id, partition.log);
    this.#names.release(id);
    this.#cleaner.pay(partition);
  }

  /** Returns the capacity of a queue that exists, in items; may be Infinity. */
  capacityOf(id: number): number {
    return this.#capacities.get(id);
  }

  /** Returns the partition number of a queue that exists. */
  partitionOf(id: number): number {
    return this.#partitions.get(id);
  }

  /**
   * Offers an item. APPLIED, QUEUE_FULL, MEMORY_FULL or REFUSED. A queue that was opened for the
   * offer is removed if it remains empty.
   */
  offer(id: number, queue: Span, value: Span, contentType: Span): Outcome {
    if (this.order.available(id) >= this.#capacities.get(id)) return QUEUE_FULL;
    this.#mutations.begin(OFFER, this.#partitions.get(id));
    const outcome = this.#offer(id, this.#rings.end(id), queue, value, contentType);
    if (outcome !== APPLIED) this.dropUnused(id);
    return outcome;
  }

  /** Whether the sinks consent to the item's removal; if so, remove must follow at once. */
  consents(id: number, sequence: number): boolean {
    return this.#mutations.admitsRemoval(id, sequence);
  }

  /**
   * Removes the item that QueueOrder.choose has chosen. Returns its hold, or NO_HOLD if the item is gone.
   */
  remove(id: number, sequence: number, skip: number): number {
    this.#claim(id, skip);
    if (this.#mutations.recordRemoval(id) || this.#acknowledgesAll) {
      return this.#holds.add(id, sequence);
    }
    this.#drop(id, sequence);
    return NO_HOLD;
  }

  /**
   * Removes the item that QueueOrder.choose has chosen, without a hold. Returns false if a sink
   * refuses.
   */
  discard(id: number, sequence: number, skip: number): boolean {
    if (!this.consents(id, sequence)) return false;
    this.#claim(id, skip);
    this.#mutations.recordRemoval(id);
    this.#drop(id, sequence);
    return true;
  }

  /** Calls `onRoom` once at the end of a turn, after the next removal; with id 0 at the end of this one. */
  awaitRoom(id: number, onRoom: () => void): void {
    if (id === 0) this.#store.clock.endOfTurn(onRoom);
    else this.#roomWaits.set(id, onRoom);
  }

  /** Returns the queue of the held item, or 0 if the hold has ended. */
  queueOfHold(hold: number): number {
    const place = this.#holds.place(hold);
    return place === 0 ? 0 : this.#holds.queueAt(place);
  }

  /** Ends an open hold: the item was delivered and is gone. */
  acknowledge(hold: number): void {
    const place = this.#holds.place(hold);
    const id = this.#holds.queueAt(place);
    this.#holds.end(place);
    this.#drop(id, this.#holds.sequenceAt(place));
  }

  /**
   * Ends an open hold: the item returns to its place. Returns false if a sink refuses the return.
   */
  return(hold: number): boolean {
    const place = this.#holds.place(hold);
    const id = this.#holds.queueAt(place);
    const sequence = this.#holds.sequenceAt(place);
    const address = this.#rings.get(id, sequence);
    if (!this.#mutations.recordReturn(id, sequence, address)) return false;
    this.order.return(place);
    return true;
  }

  /** Whether the item is stored with exactly this version, and not held. */
  isStored({ name, item, version }: Mutation): boolean {
    const id = this.#names.find(name);
    if (id === 0 || item < this.#rings.first(id) || item >= this.#rings.end(id)) return false;
    const { replaced } = this.#draft;
    return (
      this.order.isAvailable(id, item) &&
      this.#store.readVersion(this.#rings.get(id, item), replaced).is(version)
    );
  }

  /** Makes a recorded OFFER, REMOVE or RETURN again. */
  restore(mutation: Mutation): Outcome {
    this.#mutations.repeat(mutation);
    const outcome = this.#restore(mutation);
    this.#mutations.endRepeat();
    return outcome;
  }

  #restore(mutation: Mutation): Outcome {
    if (mutation.operation === OFFER) return this.#restoreItem(mutation);
    if (mutation.operation === REMOVE) return this.#restoreEnd(mutation);
    return this.#restoreReturn(mutation);
  }

  /** Removes the item from the available ones, which makes room in the queue. */
  #claim(id: number, skip: number): void {
    this.order.claim(id, skip);
    if (this.#roomWaits.size === 0) return;
    const onRoom = this.#roomWaits.get(id);
    if (onRoom === undefined) return;
    this.#roomWaits.delete(id);
    this.#store.clock.endOfTurn(onRoom);
  }

  /** Removes the item's cell, and with the last item the queue. */
  #drop(id: number, sequence: number): void {
    const store = this.#store;
    const rings = this.#rings;
    const partition = this.#partitionOf(id);
    const address = rings.get(id, sequence);
    const contentType = tagAt(store.pool.words(address), store.pool.at(address));
    partition.log.kill(address);
    if (contentType !== 0) this.#contentTypes.release(contentType);
    rings.set(id, sequence, 0);
    this.order.dropGone(id, partition.log);
    this.dropUnused(id);
    this.#cleaner.pay(partition);
  }

  /** Adds the item as the last one. */
  #restoreItem({ name, item, value, contentType }: Mutation): Outcome {
    const id = this.open(name);
    if (id === 0) return MEMORY_FULL;
    if (this.order.isEmpty(id)) this.order.begin(id, item);
    // The item exists, or has existed and is gone.
    if (item < this.#rings.end(id)) return APPLIED;
    if (item > this.#rings.end(id) && !this.order.skipTo(id, item, this.#partitionOf(id).log))
      return MEMORY_FULL;
    const outcome = this.#offer(id, item, name, value, contentType);
    if (outcome !== APPLIED) this.dropUnused(id);
    return outcome;
  }

  #restoreEnd({ name, item }: Mutation): Outcome {
    const id = this.#names.find(name);
    if (id === 0 || item < this.#rings.first(id) || item >= this.#rings.end(id)) return APPLIED;
    if (this.#rings.get(id, item) === 0) return APPLIED;
    if (!this.#mutations.admitsAgain(id, item)) return REFUSED;
    this.order.claimItem(id, item);
    this.#mutations.recordRemoval(id);
    this.#drop(id, item);
    return APPLIED;
  }

  /**
   * Restores a returned item: nothing changes if it exists; otherwise it is written to its place
   * again.
   */
  #restoreReturn(mutation: Mutation): Outcome {
    const { name, item, value, contentType } = mutation;
    const rings = this.#rings;
    const id = this.#names.find(name);
    if (id === 0 || item >= rings.end(id)) return this.#restoreItem(mutation);
    if (item < rings.first(id) && !rings.extend(id, item, this.#partitionOf(id).log)) {
      return MEMORY_FULL;
    }
    if (rings.get(id, item) !== 0) {
      this.#mutations.repeatReturn(rings.get(id, item));
      return APPLIED;
    }
    const outcome = this.#offer(id, item, name, value, contentType);
    if (outcome === APPLIED) this.order.addReturned(id, item);
    return outcome;
  }

  /** Asserts the invariants of QueueOrder, and that the queue is in use. */
  invariants(id: number, each: (address: number, item: number) => void): void {
    assert.ok(!this.order.isEmpty(id) || this.#waiters.count(id) > 0, 'a queue that is in use');
    this.order.invariants(id, each);
  }

  #partitionOf(id: number): Partition {
    return this.#store.openPartition(this.#partitions.get(id));
  }

  #offer(id: number, item: number, queue: Span, value: Span, contentType: Span): Outcome {
    if (value.length > CELL_VALUE_BYTES_MAX) return MEMORY_FULL;
    const type = contentType.length === 0 ? 0 : this.#contentTypes.open(contentType);
    if (type === 0 && contentType.length > 0) return MEMORY_FULL;
    let outcome = this.#write(id, item, type, queue, value, contentType);
    // Cleared or expired entries that are still stored may occupy the memory that the item needs.
    if (outcome === MEMORY_FULL && this.#sweeper.help()) {
      const { origin } = this.#draft;
      if (origin !== FROM_REPLAY) this.#draft.sequence = this.#store.next(this.#partitions.get(id));
      outcome = this.#write(id, item, type, queue, value, contentType);
    }
    if (outcome !== APPLIED && type !== 0) this.#contentTypes.dropUnused(type);
    return outcome;
  }

  /** Writes the draft's item: as a new last one, or to an empty place. */
  #write(
    id: number,
    item: number,
    type: number,
    queue: Span,
    value: Span,
    contentType: Span,
  ): Outcome {
    const store = this.#store;
    const rings = this.#rings;
    const draft = this.#draft;
    const recorder = this.#recorder;
    const partition = this.#partitionOf(id);
    const key = this.#key.loadNumber(item);
    const isLast = item === rings.end(id);
    if (recorder.recordsQueues) {
      draft.partition = partition.number;
      draft.item = item;
      draft.name.copyFrom(queue);
      draft.value.copyFrom(value);
      draft.contentType.copyFrom(contentType);
      if (!recorder.admitsOfQueue(draft)) return REFUSED;
    }
    const length = cellBytes(KIND_ITEM, key.length, value.length);
    const hasRoom = !isLast || rings.makeRoom(id, partition.log);
    const address = hasRoom ? partition.log.allocate(length, false) : 0;
    if (address === 0) {
      if (recorder.recordsQueues) recorder.abandon(draft);
      return MEMORY_FULL;
    }
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    writeHead(words, at, KIND_ITEM, id, type, key, value.length);
    writeVersion(words, at, draft.version.low, draft.version.high);
    writeValue(words, store.pool.bytes(address), at, value);
    if (isLast) this.order.append(id, address);
    else rings.set(id, item, address);
    if (type !== 0) this.#contentTypes.use(type);
    store.raise(partition.number, draft.sequence);
    if (recorder.recordsQueues) recorder.record(draft);
    this.#cleaner.pay(partition);
    return APPLIED;
  }
}
