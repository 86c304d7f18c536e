/** The slots of a server, for its requests: those that were made first come first. */
import { FreeNumbers } from '../base/free-numbers.ts';
import { Places } from './kept-bytes.ts';
import { RequestSlot } from './request-slot.ts';
import type { SlotHost } from './slot-host.ts';

/**
 * More than these are left to the collector: the slots of a flood are not kept. So many are under way where
 * 64 clients have as many reads each.
 */
const KEPT_MAX = 4096;
/** A request with content has two places. */
const PLACES_MAX = 2 * KEPT_MAX;

/** The number of a slot that is left to the collector after its request. */
const NOT_KEPT = -1;

export class SlotPool {
  readonly #host: SlotHost;
  /** Those that are kept, by their number. */
  readonly #slots: RequestSlot[] = [];
  readonly #free = new FreeNumbers();
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
    const number = this.#free.take();
    return number < 0 ? this.#new() : (this.#slots[number] as RequestSlot);
  }

  #new(): RequestSlot {
    const number = this.#slots.length;
    const isKept = number < KEPT_MAX;
    const slot = new RequestSlot(
      this.#host,
      this.#places,
      isKept ? number : NOT_KEPT,
      this.#onFree,
    );
    if (isKept) this.#slots.push(slot);
    return slot;
  }

  #give(slot: RequestSlot): void {
    this.usedCount--;
    if (slot.poolNumber === NOT_KEPT) slot.release();
    else this.#free.give(slot.poolNumber);
  }
}
