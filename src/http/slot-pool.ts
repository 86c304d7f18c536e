/** The slots of a server without a request. The last used ones come first, as they are in the caches. */
import { Places } from './kept-bytes.ts';
import { RequestSlot } from './request-slot.ts';
import type { SlotHost } from './slot-host.ts';

/**
 * More than these are left to the collector: the slots of a flood are not kept. So many are under way where
 * 64 clients have as many reads each.
 */
const SPARE_MAX = 4096;
/** A request with content has two places. */
const PLACES_MAX = 2 * SPARE_MAX;

export class SlotPool {
  readonly #host: SlotHost;
  /** The first `#spareCount` of it are spare. It never shrinks: that would cost each read an array. */
  readonly #spare: RequestSlot[] = [];
  #spareCount = 0;
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
    if (this.#spareCount === 0) return new RequestSlot(this.#host, this.#places, this.#onFree);
    return this.#spare[--this.#spareCount] as RequestSlot;
  }

  #give(slot: RequestSlot): void {
    this.usedCount--;
    if (this.#spareCount < SPARE_MAX) this.#spare[this.#spareCount++] = slot;
    else slot.release();
  }
}
