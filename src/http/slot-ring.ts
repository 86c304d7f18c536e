/**
 * The slots of requests under way, first in, first out: a ring buffer that grows and does not
 * shrink. Tested by connection.spec.ts.
 */
import type { RequestSlot } from './request-slot.ts';

/** Initial capacity, a power of two. */
const FIRST_PLACES = 4;

export class SlotRing {
  #slots: (RequestSlot | undefined)[] = NO_PLACES;
  #first = 0;
  /** Number of slots. */
  count = 0;

  get first(): RequestSlot | undefined {
    return this.count === 0 ? undefined : this.#at(0);
  }

  get last(): RequestSlot | undefined {
    return this.count === 0 ? undefined : this.#at(this.count - 1);
  }

  push(slot: RequestSlot): void {
    if (this.count === this.#slots.length) this.#grow();
    this.#slots[(this.#first + this.count++) & (this.#slots.length - 1)] = slot;
  }

  /** Removes the first slot; there must be one. */
  shift(): void {
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) & (this.#slots.length - 1);
    this.count--;
  }

  /** Returns all slots in order. */
  list(): RequestSlot[] {
    return Array.from({ length: this.count }, (_, index) => this.#at(index));
  }

  clear(): void {
    this.#slots = NO_PLACES;
    this.#first = 0;
    this.count = 0;
  }

  #at(index: number): RequestSlot {
    return this.#slots[(this.#first + index) & (this.#slots.length - 1)] as RequestSlot;
  }

  #grow(): void {
    const slots = this.list();
    const places = Math.max(FIRST_PLACES, 2 * slots.length);
    this.#slots = new Array(places).fill(undefined);
    for (const [index, slot] of slots.entries()) this.#slots[index] = slot;
    this.#first = 0;
  }
}

const NO_PLACES: (RequestSlot | undefined)[] = [];
