/** The slots of a server that have no request. Those used last come first, as they are in the caches. */
import type { ConnectionHost } from './connection-host.ts';
import { RequestSlot } from './request-slot.ts';

/** More than these are left to the collector: a flood does not keep what it has taken. */
const SPARE_MAX = 1024;

export class SlotPool {
  readonly #host: ConnectionHost;
  readonly #spare: RequestSlot[] = [];
  /** Slots that have a request. */
  usedCount = 0;

  constructor(host: ConnectionHost) {
    this.#host = host;
  }

  take(): RequestSlot {
    this.usedCount++;
    return this.#spare.pop() ?? new RequestSlot(this.#host);
  }

  give(slot: RequestSlot): void {
    this.usedCount--;
    if (this.#spare.length < SPARE_MAX) this.#spare.push(slot);
  }
}
