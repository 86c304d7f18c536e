/**
 * Which item of a queue is next. Available are the items that wait: those that have returned from a
 * hold (holds.ts), then those from `#fresh` to the ring's end (ring-buffer.ts). Held items stay at
 * their places. The ring begins with the first item that is not gone.
 */
import { Holds } from './holds.ts';
import type { IdColumns } from './id-columns.ts';
import type { PagedDoubles } from './paged-array.ts';
import type { RecordLog } from './record-log.ts';
import type { RingBuffers } from './ring-buffer.ts';

/** No item: what `choose` says of a queue that has none to give. */
export const NO_ITEM = -1;

export class QueueOrder {
  readonly holds: Holds;
  readonly #rings: RingBuffers;
  /** By queue: sequence of the first item never given to anybody. */
  readonly #fresh: PagedDoubles;

  constructor(rings: RingBuffers, queues: IdColumns) {
    this.holds = new Holds(queues);
    this.#rings = rings;
    this.#fresh = queues.doubles();
  }

  /** A queue without items begins with that sequence. */
  begin(id: number, sequence: number): void {
    this.#rings.begin(id, sequence);
    this.#fresh.set(id, sequence);
  }

  /** Items that nobody holds, those owed to waiters included. */
  available(id: number): number {
    return this.holds.returned(id) + this.#rings.end(id) - this.#fresh.get(id);
  }

  /** Whether there is no item, held ones included. */
  isEmpty(id: number): boolean {
    return this.available(id) === 0 && !this.holds.holdsAny(id);
  }

  /** Whether the item, one from the ring's first to its end, is there and not held. */
  isThere(id: number, item: number): boolean {
    return this.#rings.get(id, item) !== 0 && !this.holds.isHeld(id, item);
  }

  /** Sequence of the available item that `skip` others come before, or NO_ITEM. */
  choose(id: number, skip: number): number {
    if (skip >= this.available(id)) return NO_ITEM;
    const returned = this.holds.returned(id);
    if (skip < returned) return this.holds.returnedAt(id, skip);
    return this.#fresh.get(id) + skip - returned;
  }

  /** Takes the item that `choose` has chosen out of those available. */
  claim(id: number, skip: number): void {
    const returned = this.holds.returned(id);
    if (skip < returned) {
      this.holds.takeReturned(id, skip);
      return;
    }
    // The items before it, which are owed to others, are now as good as returned.
    this.#passTo(id, this.#fresh.get(id) + skip - returned);
    this.#fresh.set(id, this.#fresh.get(id) + 1);
  }

  /** Takes that item, which is available. */
  claimItem(id: number, item: number): void {
    const fresh = this.#fresh.get(id);
    if (item >= fresh) this.claim(id, this.holds.returned(id) + item - fresh);
    else this.claim(id, this.holds.returnedBefore(id, item));
  }

  /** Places at the ring's begin whose items are gone go. */
  dropGone(id: number, log: RecordLog): void {
    const rings = this.#rings;
    const fresh = this.#fresh.get(id);
    for (let first = rings.first(id); first < fresh && rings.get(id, first) === 0; first++) {
      rings.dropFirst(id, log);
    }
  }

  /** Makes the ring end at the item's sequence: what lies between is gone. False without memory. */
  skipTo(id: number, item: number, log: RecordLog): boolean {
    const rings = this.#rings;
    // Available are returned items and those from `#fresh` on, which must have no gaps.
    this.#passTo(id, rings.end(id));
    while (rings.end(id) < item) {
      if (!rings.makeRoom(id, log)) return false;
      rings.append(id, 0);
      this.#fresh.set(id, rings.end(id));
    }
    return true;
  }

  /** The items before that sequence are as good as returned. */
  #passTo(id: number, sequence: number): void {
    for (let item = this.#fresh.get(id); item < sequence; item++) this.holds.addReturned(id, item);
    this.#fresh.set(id, sequence);
  }
}
