/**
 * The order of a queue's items. The available items are those that have returned from a hold
 * (holds.ts), followed by those from `#fresh` to the ring's end (ring-buffer.ts). Held items keep
 * their places. The ring begins with the first item that is not gone.
 * Tested by engine-invariants.spec.ts.
 */
import assert from 'node:assert/strict';
import type { CellLog } from './cell-log.ts';
import { Holds } from './holds.ts';
import type { IdColumns } from './id-columns.ts';
import type { PagedDoubles } from './paged-array.ts';
import type { RingBuffers } from './ring-buffer.ts';

/** Result of `choose` for a queue without an available item. */
export const NO_ITEM = -1;

export class QueueOrder {
  readonly holds: Holds;
  /** Number of available items of all queues. */
  count = 0;
  readonly #rings: RingBuffers;
  /** By queue: sequence of the first item that was never delivered to a take. */
  readonly #fresh: PagedDoubles;

  constructor(rings: RingBuffers, queues: IdColumns) {
    this.holds = new Holds(queues);
    this.#rings = rings;
    this.#fresh = queues.doubles();
  }

  /** Begins a queue without items at this sequence. */
  begin(id: number, sequence: number): void {
    this.#rings.begin(id, sequence);
    this.#fresh.set(id, sequence);
  }

  /** Returns the number of items that are not held, including those owed to waiters. */
  available(id: number): number {
    return this.holds.returned(id) + this.#rings.end(id) - this.#fresh.get(id);
  }

  /** Whether the queue has no item, not even a held one. */
  isEmpty(id: number): boolean {
    return this.available(id) === 0 && !this.holds.holdsAny(id);
  }

  /** Whether the item, from the ring's first to its end, exists and is not held. */
  isAvailable(id: number, item: number): boolean {
    return this.#rings.get(id, item) !== 0 && !this.holds.isHeld(id, item);
  }

  /** Returns the sequence of the available item after `skip` others, or NO_ITEM. */
  choose(id: number, skip: number): number {
    if (skip >= this.available(id)) return NO_ITEM;
    const returned = this.holds.returned(id);
    if (skip < returned) return this.holds.returnedAt(id, skip);
    return this.#fresh.get(id) + skip - returned;
  }

  /** Adds an available item as the last one; the ring must have room. */
  append(id: number, address: number): void {
    this.#rings.append(id, address);
    this.count++;
  }

  /** Ends a hold: the item returns to the available ones. */
  return(place: number): void {
    this.holds.return(place);
    this.count++;
  }

  /** Adds an item that is at its place to the available ones, as if it had been held. */
  addReturned(id: number, item: number): void {
    this.holds.addReturned(id, item);
    this.count++;
  }

  /** Removes the item that `choose` has chosen from the available ones. */
  claim(id: number, skip: number): void {
    this.count--;
    const returned = this.holds.returned(id);
    if (skip < returned) {
      this.holds.takeReturned(id, skip);
      return;
    }
    // The items before it, which are owed to waiters, now count as returned.
    this.#passTo(id, this.#fresh.get(id) + skip - returned);
    this.#fresh.set(id, this.#fresh.get(id) + 1);
  }

  /** Removes this item, which must be available, from the available ones. */
  claimItem(id: number, item: number): void {
    const fresh = this.#fresh.get(id);
    if (item >= fresh) this.claim(id, this.holds.returned(id) + item - fresh);
    else this.claim(id, this.holds.returnedBefore(id, item));
  }

  /** Removes the places at the beginning of the ring whose items are gone. */
  dropGone(id: number, log: CellLog): void {
    const rings = this.#rings;
    const fresh = this.#fresh.get(id);
    for (let first = rings.first(id); first < fresh && rings.get(id, first) === 0; first++) {
      rings.dropFirst(id, log);
    }
  }

  /**
   * Makes the ring end at the item's sequence: the places before it are empty. Returns false if
   * there is no memory.
   */
  skipTo(id: number, item: number, log: CellLog): boolean {
    const rings = this.#rings;
    // The items from `#fresh` on must have no gaps, so the current ones become returned items.
    this.#passTo(id, rings.end(id));
    while (rings.end(id) < item) {
      if (!rings.makeRoom(id, log)) return false;
      rings.append(id, 0);
      this.#fresh.set(id, rings.end(id));
    }
    return true;
  }

  /**
   * Asserts that the item of each place is available, held or gone, and that before `#fresh` only
   * returned items are available. Calls `each` with the address and the sequence of each item.
   * O(places).
   */
  invariants(id: number, each: (address: number, item: number) => void): void {
    const { holds } = this;
    const first = this.#rings.first(id);
    const end = this.#rings.end(id);
    const fresh = this.#fresh.get(id);
    assert.ok(first <= fresh && fresh <= end, 'the first item that was never taken');
    const returned = new Set<number>();
    for (let skip = 0; skip < holds.returned(id); skip++) returned.add(holds.returnedAt(id, skip));
    for (const item of returned) assert.ok(item >= first && item < fresh, 'a returned item');
    for (let item = first; item < end; item++) {
      const address = this.#rings.get(id, item);
      const isAvailable = item >= fresh || returned.has(item) || holds.isHeld(id, item);
      if ((address !== 0) !== isAvailable) assert.fail(`item ${item} from ${first} to ${end}`);
      if (address !== 0) each(address, item);
    }
    if (first < fresh) assert.notEqual(this.#rings.get(id, first), 0, 'the first place');
  }

  /** Makes the items before this sequence count as returned. */
  #passTo(id: number, sequence: number): void {
    for (let item = this.#fresh.get(id); item < sequence; item++) this.holds.addReturned(id, item);
    this.#fresh.set(id, sequence);
  }
}
