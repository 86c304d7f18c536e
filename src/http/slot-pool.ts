/** The pool of a server's slots for requests. The slots that were created first are used first. */
import { NumberAllocator } from '../base/number-allocator.ts';
import { RequestSlot } from './request-slot.ts';
import { Places } from './retained-bytes.ts';
import type { SlotHost } from './slot-host.ts';

/**
 * Maximum number of spare slots: those of 64 clients with 64 requests under way each. After a
 * flood, the slots beyond it are left to the garbage collector.
 */
const SPARE_MAX = 4096;
/** Maximum number of places; a request with content has two. */
const PLACES_MAX = 2 * SPARE_MAX;

export class SlotPool {
  readonly #host: SlotHost;
  /** The slots by their numbers; undefined for a vacant number. */
  readonly #slots: (RequestSlot | undefined)[] = [];
  /** The numbers of the slots without a request, and their count. */
  readonly #spare = new NumberAllocator();
  #spareCount = 0;
  /** The numbers without a slot. */
  readonly #vacant = new NumberAllocator();
  readonly #places = new Places(PLACES_MAX);
  readonly #onFree = (slot: RequestSlot): void => this.#release(slot);
  /** Number of slots with a request. */
  usedCount = 0;

  constructor(host: SlotHost) {
    this.#host = host;
  }

  /** Memory for the bytes that requests under way retain, without long ones, in bytes. */
  get placeBytes(): number {
    return this.#places.bytes;
  }

  acquire(): RequestSlot {
    this.usedCount++;
    const number = this.#spare.allocate();
    if (number < 0) return this.#new();
    this.#spareCount--;
    return this.#slots[number] as RequestSlot;
  }

  #new(): RequestSlot {
    const vacant = this.#vacant.allocate();
    const number = vacant < 0 ? this.#slots.length : vacant;
    const slot = new RequestSlot(this.#host, this.#places, number, this.#onFree);
    this.#slots[number] = slot;
    return slot;
  }

  #release(slot: RequestSlot): void {
    this.usedCount--;
    const { poolNumber } = slot;
    if (this.#spareCount < SPARE_MAX) {
      this.#spareCount++;
      this.#spare.free(poolNumber);
      return;
    }
    slot.release();
    this.#slots[poolNumber] = undefined;
    this.#vacant.free(poolNumber);
  }
}
