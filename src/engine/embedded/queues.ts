/**
 * The queues. A queue is in one partition with all its items, which are records there; a ring keeps
 * their order by sequence (ring-buffer.ts). Available are the items that have returned from a hold
 * (holds.ts), then those from `#fresh` to the ring's end; held items stay at their places. The ring
 * begins with the first item that is not gone.
 *
 * While takes wait, the first available items are owed to them: whoever comes later sees only the
 * items behind those. An offer to such a queue therefore hands out nothing by itself, the engine does
 * at the end of the turn. A queue exists while it has items or waiters; nothing is left of it then.
 *
 * Items are numbered on from the partition's sequence at the queue's begin. As each item raises that
 * by one, no later queue of the same name has an item of the same number.
 */
import type { Span } from '../../base/span.ts';
import {
  APPLIED,
  MEMORY_FULL,
  type Outcome,
  QUEUE_FULL,
  type QueueCapacity,
  REFUSED,
} from '../engine.ts';
import { FROM_CLIENT, FROM_REPLAY, Mutation, OFFER, REMOVE } from '../mutation.ts';
import type { Cleaner } from './cleaner.ts';
import { Holds } from './holds.ts';
import { KeyWords } from './key-words.ts';
import type { NameTable } from './name-table.ts';
import type { PagedDoubles, PagedIntegers } from './paged-array.ts';
import type { Partition } from './partition.ts';
import {
  KIND_ITEM,
  recordBytes,
  tagAt,
  VALUE_BYTES_MAX,
  writeHead,
  writeValue,
  writeVersion,
} from './record.ts';
import type { RecordStore } from './record-store.ts';
import type { Recorder } from './recorder.ts';
import type { RingBuffers } from './ring-buffer.ts';
import type { Sweeper } from './sweeper.ts';
import type { Waiters } from './waiters.ts';

/** No item: what `choose` says of a queue that has none to give. */
export const NO_ITEM = -1;

export class Queues {
  readonly #store: RecordStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #cleaner: Cleaner;
  readonly #rings: RingBuffers;
  readonly #waiters: Waiters;
  readonly #holds: Holds;
  readonly #sweeper: Sweeper;
  readonly #recorder: Recorder;
  readonly #capacityOf: QueueCapacity;
  /** The mutation being made. Its spans are set only where there are sinks. */
  readonly #draft = new Mutation();
  readonly #key = new KeyWords();
  /** By queue: sequence of the first item never given to anybody. */
  readonly #fresh: PagedDoubles;
  readonly #capacities: PagedDoubles;
  readonly #partitions: PagedIntegers;
  /** The partition of the queue that was named last, known or not. */
  partition = 0;
  /** The queue that the last offer was to. */
  offered = 0;

  constructor(
    store: RecordStore,
    names: NameTable,
    contentTypes: NameTable,
    cleaner: Cleaner,
    rings: RingBuffers,
    waiters: Waiters,
    sweeper: Sweeper,
    recorder: Recorder,
    capacityOf: QueueCapacity,
  ) {
    this.#store = store;
    this.#names = names;
    this.#contentTypes = contentTypes;
    this.#cleaner = cleaner;
    this.#rings = rings;
    this.#waiters = waiters;
    this.#holds = new Holds(names.ids);
    this.#sweeper = sweeper;
    this.#recorder = recorder;
    this.#capacityOf = capacityOf;
    this.#fresh = names.ids.doubles();
    this.#capacities = names.ids.doubles();
    this.#partitions = names.ids.integers();
  }

  /** The queue's id, or 0. */
  find(queue: Span): number {
    const id = this.#names.find(queue);
    this.partition = this.#names.partition;
    return id;
  }

  /** The queue's id, that of a new queue if need be; 0 when there is no memory. */
  open(queue: Span): number {
    const id = this.#names.open(queue);
    this.partition = this.#names.partition;
    if (id === 0 || this.#names.uses(id) > 0) return id;
    this.#names.use(id);
    this.#capacities.set(id, this.#capacityOf(queue.toBuffer()));
    this.#partitions.set(id, this.partition);
    this.#begin(id, this.#store.sequences[this.partition]!);
    return id;
  }

  /** Forgets a queue that has neither items nor waiters. */
  dropUnused(id: number): void {
    if (this.#count(id) > 0 || this.#waiters.count(id) > 0) return;
    const partition = this.#partitionOf(id);
    this.#rings.drop(id, partition.log);
    this.#names.release(id);
    this.#cleaner.pay(partition);
  }

  partitionOf(id: number): number {
    return this.#partitions.get(id);
  }

  /** Items that nobody holds, those owed to waiters included. */
  available(id: number): number {
    return this.#holds.returned(id) + this.#rings.end(id) - this.#fresh.get(id);
  }

  /** APPLIED, QUEUE_FULL, MEMORY_FULL or REFUSED. Opens the queue, which goes if it stays empty. */
  offer(queue: Span, value: Span, contentType: Span): Outcome {
    const id = this.open(queue);
    this.offered = id;
    if (id === 0) return MEMORY_FULL;
    if (this.#count(id) >= this.#capacities.get(id)) return QUEUE_FULL;
    const store = this.#store;
    store.versions.tick();
    const draft = this.#draft;
    draft.origin = FROM_CLIENT;
    draft.sequence = store.next(this.partition);
    draft.version.set(store.versions.low, store.versions.high);
    const outcome = this.#offer(id, queue, value, contentType);
    if (outcome !== APPLIED) this.dropUnused(id);
    return outcome;
  }

  /** Sequence of the available item that `skip` others come before, or NO_ITEM. */
  choose(id: number, skip: number): number {
    if (skip >= this.available(id)) return NO_ITEM;
    const returned = this.#holds.returned(id);
    if (skip < returned) return this.#holds.returnedAt(id, skip);
    return this.#fresh.get(id) + skip - returned;
  }

  /** Address of the item's record. */
  address(id: number, sequence: number): number {
    return this.#rings.get(id, sequence);
  }

  /** Takes the item that `choose` has chosen out of those available. */
  claim(id: number, skip: number): void {
    const returned = this.#holds.returned(id);
    if (skip < returned) {
      this.#holds.takeReturned(id, skip);
      return;
    }
    // The items before it, which are owed to others, are now as good as returned.
    const fresh = this.#fresh.get(id);
    const sequence = fresh + skip - returned;
    for (let owed = fresh; owed < sequence; owed++) this.#holds.addReturned(id, owed);
    this.#fresh.set(id, sequence + 1);
  }

  /** Holds an item that was claimed; returns the hold. */
  hold(id: number, sequence: number): number {
    return this.#holds.add(id, sequence);
  }

  /** The queue of the item that is held, or 0 when the hold has ended. */
  queueOfHold(hold: number): number {
    const place = this.#holds.place(hold);
    return place === 0 ? 0 : this.#holds.queueAt(place);
  }

  /**
   * Ends a hold: the item goes for good, or returns to its place. APPLIED, or REFUSED: then it has
   * returned.
   */
  settle(hold: number, confirm: boolean): Outcome {
    const place = this.#holds.place(hold);
    const id = this.#holds.queueAt(place);
    const sequence = this.#holds.sequenceAt(place);
    if (!confirm || !this.consents(id, sequence)) {
      this.#holds.giveBack(place);
      return confirm ? REFUSED : APPLIED;
    }
    this.#holds.end(place);
    this.remove(id, sequence);
    return APPLIED;
  }

  /** Whether the item, available or held, may be removed; if so, remove has to follow at once. */
  consents(id: number, item: number): boolean {
    const { versions } = this.#store;
    const draft = this.#draft;
    draft.sequence = this.#store.next(this.#partitions.get(id));
    if (!this.#recorder.isActive) return true;
    versions.tick();
    draft.origin = FROM_CLIENT;
    draft.version.set(versions.low, versions.high);
    return this.#admitsRemoval(id, item);
  }

  /** Whether the item is there, held or not. */
  isStored({ name, item }: Mutation): boolean {
    const id = this.find(name);
    const isWithin = id !== 0 && item >= this.#rings.first(id) && item < this.#rings.end(id);
    return isWithin && this.#rings.get(id, item) !== 0;
  }

  /** Makes a recorded OFFER or REMOVE again. */
  restore(mutation: Mutation): Outcome {
    const draft = this.#draft;
    draft.origin = mutation.origin;
    draft.sequence = mutation.sequence;
    draft.version.copyFrom(mutation.version);
    return mutation.operation === OFFER ? this.#restoreItem(mutation) : this.#restoreEnd(mutation);
  }

  /** Removes an item that was claimed and is not held; the queue goes with its last one. */
  remove(id: number, sequence: number): void {
    const store = this.#store;
    const rings = this.#rings;
    const partition = this.#partitionOf(id);
    const address = rings.get(id, sequence);
    const contentType = tagAt(store.pool.words(address), store.pool.at(address));
    partition.log.kill(address);
    if (contentType !== 0) this.#contentTypes.release(contentType);
    rings.set(id, sequence, 0);
    const fresh = this.#fresh.get(id);
    for (let first = rings.first(id); first < fresh && rings.get(id, first) === 0; first++) {
      rings.dropFirst(id, partition.log);
    }
    store.raise(partition.number, this.#draft.sequence);
    if (this.#recorder.isActive) this.#recorder.record(this.#draft);
    this.dropUnused(id);
    this.#cleaner.pay(partition);
  }

  /** Sequences of the queue's first item and behind its last one. */
  first(id: number): number {
    return this.#rings.first(id);
  }

  end(id: number): number {
    return this.#rings.end(id);
  }

  #admitsRemoval(id: number, item: number): boolean {
    if (!this.#recorder.isActive) return true;
    const draft = this.#draft;
    draft.operation = REMOVE;
    draft.partition = this.#partitions.get(id);
    draft.item = item;
    this.#names.name(id, draft.name);
    draft.value.clear();
    draft.contentType.clear();
    return this.#recorder.admits(draft);
  }

  #restoreItem({ name, item, value, contentType }: Mutation): Outcome {
    const id = this.open(name);
    if (id === 0) return MEMORY_FULL;
    if (this.#count(id) === 0) this.#begin(id, item);
    // It is there, or has been there and is gone.
    if (item < this.#rings.end(id)) return APPLIED;
    if (item > this.#rings.end(id) && !this.#skipTo(id, item)) return MEMORY_FULL;
    const outcome = this.#offer(id, name, value, contentType);
    if (outcome !== APPLIED) this.dropUnused(id);
    return outcome;
  }

  #restoreEnd({ name, item }: Mutation): Outcome {
    const id = this.find(name);
    if (id === 0 || item < this.#rings.first(id) || item >= this.#rings.end(id)) return APPLIED;
    if (this.#rings.get(id, item) === 0) return APPLIED;
    if (!this.#admitsRemoval(id, item)) return REFUSED;
    const fresh = this.#fresh.get(id);
    const returned = this.#holds.returned(id);
    if (item >= fresh) this.claim(id, returned + item - fresh);
    else this.claim(id, this.#holds.returnedBefore(id, item));
    this.remove(id, item);
    return APPLIED;
  }

  #partitionOf(id: number): Partition {
    return this.#store.openPartition(this.#partitions.get(id));
  }

  /** All items, held ones included. */
  #count(id: number): number {
    return this.available(id) + this.#holds.held(id);
  }

  #offer(id: number, queue: Span, value: Span, contentType: Span): Outcome {
    if (value.length > VALUE_BYTES_MAX) return MEMORY_FULL;
    const type = contentType.length === 0 ? 0 : this.#contentTypes.open(contentType);
    if (type === 0 && contentType.length > 0) return MEMORY_FULL;
    let outcome = this.#append(id, type, queue, value, contentType);
    // Where cleared or expired entries are left, it is their memory that the item is to have.
    if (outcome === MEMORY_FULL && this.#sweeper.help()) {
      const { origin } = this.#draft;
      if (origin !== FROM_REPLAY) this.#draft.sequence = this.#store.next(this.partition);
      outcome = this.#append(id, type, queue, value, contentType);
    }
    if (outcome !== APPLIED && type !== 0) this.#contentTypes.dropUnused(type);
    return outcome;
  }

  /** Writes a new last item as the draft says. */
  #append(id: number, type: number, queue: Span, value: Span, contentType: Span): Outcome {
    const store = this.#store;
    const rings = this.#rings;
    const draft = this.#draft;
    const recorder = this.#recorder;
    const partition = this.#partitionOf(id);
    const key = this.#key.loadNumber(rings.end(id));
    if (recorder.isActive) {
      draft.operation = OFFER;
      draft.partition = partition.number;
      draft.item = rings.end(id);
      draft.name.copyFrom(queue);
      draft.value.copyFrom(value);
      draft.contentType.copyFrom(contentType);
      if (!recorder.admits(draft)) return REFUSED;
    }
    const length = recordBytes(KIND_ITEM, key.length, value.length);
    const address = rings.makeRoom(id, partition.log) ? partition.log.allocate(length, false) : 0;
    if (address === 0) {
      if (recorder.isActive) recorder.abandon(draft);
      return MEMORY_FULL;
    }
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    writeHead(words, at, KIND_ITEM, id, type, key, value.length);
    writeVersion(words, at, draft.version.low, draft.version.high);
    writeValue(words, store.pool.bytes(address), at, value);
    rings.append(id, address);
    if (type !== 0) this.#contentTypes.use(type);
    store.raise(partition.number, draft.sequence);
    if (recorder.isActive) recorder.record(draft);
    this.#cleaner.pay(partition);
    return APPLIED;
  }

  /** A queue without items begins with that sequence. */
  #begin(id: number, sequence: number): void {
    this.#rings.begin(id, sequence);
    this.#fresh.set(id, sequence);
  }

  /** Makes the ring end at the item's sequence: what lies between is gone. False without memory. */
  #skipTo(id: number, item: number): boolean {
    const { log } = this.#partitionOf(id);
    const rings = this.#rings;
    // Available are returned items and those from `#fresh` on, which must have no gaps.
    for (let sequence = this.#fresh.get(id); sequence < rings.end(id); sequence++) {
      this.#holds.addReturned(id, sequence);
    }
    this.#fresh.set(id, rings.end(id));
    while (rings.end(id) < item) {
      if (!rings.makeRoom(id, log)) return false;
      rings.append(id, 0);
      this.#fresh.set(id, rings.end(id));
    }
    return true;
  }
}
