/**
 * The queues. A queue is in one partition with all its items, which are records there; a ring keeps
 * their order by sequence (ring-buffer.ts). Available are the items that have returned from a hold
 * (holds.ts), then those from `#fresh` to the ring's end; held items stay at their places. The ring
 * begins with the first item that is not gone.
 *
 * While takes wait, the first available items are owed to them: whoever comes later sees only the
 * items behind those. An offer to such a queue therefore hands out nothing by itself, the engine does
 * at the end of the turn. A queue exists while it has items or waiters; nothing is left of it then.
 */
import type { Span } from '../../base/span.ts';
import { APPLIED, MEMORY_FULL, type Outcome, QUEUE_FULL, type QueueCapacity } from '../engine.ts';
import type { Cleaner } from './cleaner.ts';
import { Holds } from './holds.ts';
import { KeyWords } from './key-words.ts';
import type { NameTable } from './name-table.ts';
import {
  type PagedDoubles,
  type PagedIntegers,
  pagedDoubles,
  pagedIntegers,
} from './paged-array.ts';
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
import type { RingBuffers } from './ring-buffer.ts';
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
  readonly #capacityOf: QueueCapacity;
  readonly #key = new KeyWords();
  /** By queue: sequence of the first item never given to anybody. */
  readonly #fresh: PagedDoubles;
  readonly #capacities: PagedDoubles;
  readonly #partitions: PagedIntegers;
  /** The partition of the queue that was named last, known or not. */
  partition = 0;

  constructor(
    store: RecordStore,
    names: NameTable,
    contentTypes: NameTable,
    cleaner: Cleaner,
    rings: RingBuffers,
    waiters: Waiters,
    capacityOf: QueueCapacity,
  ) {
    this.#store = store;
    this.#names = names;
    this.#contentTypes = contentTypes;
    this.#cleaner = cleaner;
    this.#rings = rings;
    this.#waiters = waiters;
    this.#holds = new Holds(store.meter);
    this.#capacityOf = capacityOf;
    this.#fresh = pagedDoubles(store.meter);
    this.#capacities = pagedDoubles(store.meter);
    this.#partitions = pagedIntegers(store.meter);
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
    this.#fresh.set(id, 0);
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

  /** APPLIED, QUEUE_FULL or MEMORY_FULL. The queue is open, and goes if it stays empty. */
  offer(id: number, value: Span, contentType: Span): Outcome {
    const outcome = this.#offer(id, value, contentType);
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

  /** Ends a hold: the item goes for good, or returns to its place. */
  settle(hold: number, confirm: boolean): void {
    const place = this.#holds.place(hold);
    const id = this.#holds.queueAt(place);
    if (!confirm) {
      this.#holds.giveBack(place);
      return;
    }
    const sequence = this.#holds.sequenceAt(place);
    this.#holds.end(place);
    this.remove(id, sequence);
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
    store.raise(partition.number);
    this.dropUnused(id);
    this.#cleaner.pay(partition);
  }

  #partitionOf(id: number): Partition {
    return this.#store.openPartition(this.#partitions.get(id));
  }

  /** All items, held ones included. */
  #count(id: number): number {
    return this.available(id) + this.#holds.held(id);
  }

  #offer(id: number, value: Span, contentType: Span): Outcome {
    if (this.#count(id) >= this.#capacities.get(id)) return QUEUE_FULL;
    if (value.length > VALUE_BYTES_MAX) return MEMORY_FULL;
    const type = contentType.length === 0 ? 0 : this.#contentTypes.open(contentType);
    if (type === 0 && contentType.length > 0) return MEMORY_FULL;
    if (this.#append(id, type, value)) return APPLIED;
    if (type !== 0) this.#contentTypes.dropUnused(type);
    return MEMORY_FULL;
  }

  /** Writes a new last item; false, and nothing has changed, when there is no memory. */
  #append(id: number, type: number, value: Span): boolean {
    const store = this.#store;
    const rings = this.#rings;
    const partition = this.#partitionOf(id);
    const key = this.#key.loadNumber(rings.end(id));
    if (!rings.makeRoom(id, partition.log)) return false;
    const length = recordBytes(KIND_ITEM, key.length, value.length);
    const address = partition.log.allocate(length, false);
    if (address === 0) return false;
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    writeHead(words, at, KIND_ITEM, id, type, key, value.length);
    store.versions.tick();
    writeVersion(words, at, store.versions.low, store.versions.high);
    writeValue(words, store.pool.bytes(address), at, value);
    rings.append(id, address);
    if (type !== 0) this.#contentTypes.use(type);
    store.raise(partition.number);
    this.#cleaner.pay(partition);
    return true;
  }
}
