/** The slots of a server, for its requests: those that were made first come first. */
import { FreeNumbers } from '../base/free-numbers.ts';
import { Places } from './kept-bytes.ts';
import { RequestSlot } from './request-slot.ts';
import type { SlotHost } from './slot-host.ts';

/**
 * More without a request are left to the collector: the slots of a flood are not kept. So many are under
 * way where 64 clients have as many reads each.
 */
const SPARE_MAX = 4096;
/** A request with content has two places. */
const PLACES_MAX = 2 * SPARE_MAX;

export class SlotPool {
  readonly #host: SlotHost;
  /** By their numbers; undefined where one is vacant. */
  readonly #slots: (RequestSlot | undefined)[] = [];
  /** The numbers of the slots without a request, and how many. */
  readonly #spare = new FreeNumbers();
  #spareCount = 0;
  /** Numbers without a slot. */
  readonly #vacant = new FreeNumbers();
  readonly #places = new Places(PLACES_MAX);
  readonly #onFree = (slot: RequestSlot): void => this.#give(slot);
  /** Slots that have a request. */
  usedCount = 0;

  constructor(host: SlotHost) {
    this.#host = host;
  }

  /** Bytes of memory for what requests under way keep, without long ones. */
  get placeBytes(): number {
    return this.#places.bytes;
  }

  take(): RequestSlot {
    this.usedCount++;
    const number = this.#spare.take();
    if (number < 0) return this.#new();
    this.#spareCount--;
    return this.#slots[number] as RequestSlot;
  }

  #new(): RequestSlot {
    const vacant = this.#vacant.take();
    const number = vacant < 0 ? this.#slots.length : vacant;
    const slot = new RequestSlot(this.#host, this.#places, number, this.#onFree);
    this.#slots[number] = slot;
    return slot;
  }

  #give(slot: RequestSlot): void {
    this.usedCount--;
    const { poolNumber } = slot;
    if (this.#spareCount < SPARE_MAX) {
      this.#spareCount++;
      this.#spare.give(poolNumber);
      return;
    }
    slot.release();
    this.#slots[poolNumber] = undefined;
    this.#vacant.give(poolNumber);
  }
}
