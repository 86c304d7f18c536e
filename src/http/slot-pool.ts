/** The slots of a server without a request. The last used ones come first, as they are in the caches. */
import type { ConnectionHost } from './connection-host.ts';
import { RequestSlot } from './request-slot.ts';

/** More than these are left to the collector: the slots of a flood are not kept. */
const SPARE_MAX = 1024;

export class SlotPool {
  readonly #host: ConnectionHost;
  /** The first `#spareCount` of it are spare. It never shrinks: that would cost each read an array. */
  readonly #spare: RequestSlot[] = [];
  #spareCount = 0;
  /** Slots that have a request. */
  usedCount = 0;

  constructor(host: ConnectionHost) {
    this.#host = host;
  }

  take(): RequestSlot {
    this.usedCount++;
    if (this.#spareCount === 0) return new RequestSlot(this.#host);
    return this.#spare[--this.#spareCount] as RequestSlot;
  }

  give(slot: RequestSlot): void {
    this.usedCount--;
    if (this.#spareCount < SPARE_MAX) this.#spare[this.#spareCount++] = slot;
  }
}
