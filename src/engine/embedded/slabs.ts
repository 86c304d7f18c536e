/**
 * Slabs of 32 MiB, divided into extents, and the memory that is released to the system. The lowest
 * free extent is allocated first, so that slabs become empty. If more than one and a half slabs are
 * free in total, the highest one in use is to be emptied: `evacuateFrom` reports that to the logs,
 * whose cleaner then moves its cells (cell-log.ts).
 *
 * A slab that has been empty for a second is released to the system (release-memory.ts), one at a
 * time. Other buffers, of long cells and columns, are also released, several at once. Slabs have
 * this size because glibc raises the size from which it maps memory, up to 32 MiB, whenever it
 * frees a mapped block. Slabs of 256 KiB or 1 MiB were released once; from the second time on they
 * went to glibc's heap and remained resident (of 0.5 GiB freed, 10 MiB were released). The system
 * fills a mapping page by page, as it is written, so a slab uses only its written pages.
 * Tested by extent-pool.spec.ts.
 */

import assert from 'node:assert/strict';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Clock, Timer } from '../../base/clock.ts';
import { growArray } from '../../base/grow-array.ts';
import { NumberAllocator } from '../../base/number-allocator.ts';
import { NO_BYTES } from '../../base/span.ts';
import { SlabStock } from './slab-stock.ts';

export const EXTENT_BYTES = 65536;
/**
 * With GRIDNODE_SLABS=small, as `make test` sets it, slabs have 2 MiB: the specs create thousands of
 * engines, and V8 collects garbage after every second buffer of 32 MiB.
 */
export const EXTENTS_PER_SLAB = process.env.GRIDNODE_SLABS === 'small' ? 32 : 512;
export const SLAB_BYTES = EXTENT_BYTES * EXTENTS_PER_SLAB;
/** Maximum size of consecutive extents, in bytes: longer free rows are hard to find. */
export const ROW_BYTES_MAX = SLAB_BYTES / 2;
/** The words of a released slab. */
export const NO_WORDS = new Int32Array(0);
/**
 * Time for which a slab must be empty before it is released, and pause between two releases, in ms.
 */
const EMPTY_MS = 1000;
const HANDBACK_PAUSE_MS = 20;
/**
 * Number of free extents, in slabs in use, above which a slab is emptied; below FREE_MIN the
 * emptying stops.
 */
const FREE_MAX = EXTENTS_PER_SLAB * 1.5;
const FREE_MIN = EXTENTS_PER_SLAB * 1.125;
/** Other buffers are released together, before they exceed this sum; small ones are left to V8. */
const DROPPED_BYTES_MIN = 4096;
const DROPPED_BYTES_MAX = 4_194_304;
const DROPPED_COUNT_MAX = 64;
/**
 * Number of slabs in the stock below which memory is too short for a touched slab that remains
 * unused.
 */
const TOUCHING_COUNT_MIN = 16;
const NONE = Number.POSITIVE_INFINITY;

export class Slabs {
  readonly #clock: Clock;
  readonly #countMax: number;
  readonly #release = new MemoryRelease();
  readonly #stock: SlabStock;
  readonly #mayTouch: boolean;
  /** Words and bytes of each slab; empty for a slab that was released. */
  readonly words: Int32Array<ArrayBuffer>[] = [];
  readonly bytes: Buffer[] = [];
  /** The extents from this one on are to be emptied; Infinity for none. */
  evacuateFrom = NONE;
  /** Per slab: number of extents in use, and the monotonic time since when there are none. */
  #used = new Int32Array(16);
  #emptySince = new Float64Array(16);
  /** The extents in use, extent 0, and all extents of released slabs. */
  readonly #extents = new NumberAllocator();
  /** Number of free extents of the slabs in use. */
  #freeCount = 0;
  /** Dropped buffers that have not been freed, and their size in bytes. */
  #dropped: ArrayBuffer[] = [];
  #droppedBytes = 0;
  #timer: Timer | undefined;
  readonly #onTimer = () => this.#timerOnDue();

  /** `stockBytes`: bytes of slabs to be allocated ahead of their use. */
  constructor(clock: Clock, countMax: number, stockBytes: number) {
    const stockCount = Math.floor(stockBytes / SLAB_BYTES);
    this.#clock = clock;
    this.#countMax = countMax;
    this.#extents.use(0);
    this.#mayTouch = stockCount >= TOUCHING_COUNT_MIN;
    this.#stock = new SlabStock(clock, SLAB_BYTES, stockCount, (slab) => {
      this.#release.free([slab]);
    });
    // Allocated now so that V8's collection for a first large buffer does not delay a request. An
    // engine without a stock, for example one that is closing, may need no slab at all.
    if (stockBytes > 0) this.#add();
  }

  /** Whether an engine is being filled. */
  set isFilling(isFilling: boolean) {
    this.#stock.isFilling = isFilling && this.#mayTouch;
  }

  /** Number of slabs, in use or not. */
  get count(): number {
    return this.words.filter((words) => words !== NO_WORDS).length;
  }

  /** Allocates the lowest free extent; 0 if there is none. Extent 0 itself is never allocated. */
  allocate(): number {
    let extent = this.#extents.allocate();
    if (extent >= this.words.length * EXTENTS_PER_SLAB) {
      this.#extents.free(extent);
      if (!this.#add()) return 0;
      extent = this.#extents.allocate();
    }
    this.#count(Math.floor(extent / EXTENTS_PER_SLAB), 1);
    return extent;
  }

  /**
   * Allocates `count` consecutive free extents, in the lowest slab that has them. Returns the
   * first; 0 if there are none. `below`: only in slabs below this extent; with Infinity, also in a
   * new slab.
   */
  allocateRow(count: number, below = NONE): number {
    for (let slab = 0; slab < this.words.length; slab++) {
      if (slab * EXTENTS_PER_SLAB >= below) return 0;
      if (this.words[slab] === NO_WORDS) continue;
      if (this.#used[slab]! + count <= EXTENTS_PER_SLAB) {
        const row = this.#allocateRowOf(slab, count);
        if (row !== 0) return row;
      }
    }
    return this.#add() ? this.allocateRow(count) : 0;
  }

  #allocateRowOf(slab: number, count: number): number {
    const end = (slab + 1) * EXTENTS_PER_SLAB;
    let length = 0;
    for (let extent = end - EXTENTS_PER_SLAB; extent < end; extent++) {
      length = this.#extents.isUsed(extent) ? 0 : length + 1;
      if (length < count) continue;
      for (let taken = extent - count + 1; taken <= extent; taken++) this.#extents.use(taken);
      this.#count(slab, count);
      return extent - count + 1;
    }
    return 0;
  }

  /** Frees the extent, which may then be reused. */
  free(extent: number): void {
    const slab = Math.floor(extent / EXTENTS_PER_SLAB);
    this.#extents.free(extent);
    this.#count(slab, -1);
    if (this.#used[slab] !== 0) return;
    this.#emptySince[slab] = this.#clock.now();
    this.#timer ??= this.#clock.after(EMPTY_MS, this.#onTimer);
  }

  /** Releases a buffer that is no longer used and is not accounted for in the slabs. */
  drop(buffer: ArrayBuffer): void {
    if (buffer.byteLength < DROPPED_BYTES_MIN) return;
    this.#dropped.push(buffer);
    this.#droppedBytes += buffer.byteLength;
    if (this.#droppedBytes > DROPPED_BYTES_MAX || this.#dropped.length === DROPPED_COUNT_MAX) {
      this.#freeDropped();
    } else this.#timer ??= this.#clock.after(EMPTY_MS, this.#onTimer);
  }

  /** Stops the release of memory to the system. */
  close(): void {
    this.#stock.close();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Asserts that the counts match the numbers. Returns the extents in use. O(extents). */
  invariants(): Set<number> {
    this.#extents.invariants();
    const taken = new Set(this.#extents.used());
    taken.delete(0);
    let freeCount = 0;
    for (let slab = 0; slab < this.words.length; slab++) {
      const used = this.#used[slab]!;
      const extents = this.#extentsOf(slab).filter((extent) => taken.has(extent));
      if (this.words[slab] === NO_WORDS) {
        assert.deepEqual(extents, this.#extentsOf(slab), 'extents of a released slab');
        for (const extent of extents) taken.delete(extent);
      } else assert.equal(extents.length, used, 'extents in use of a slab');
      if (used > 0) freeCount += EXTENTS_PER_SLAB - used;
    }
    assert.equal(this.#freeCount, freeCount, 'free extents of slabs in use');
    return taken;
  }

  /** Returns the extents of the slab that may be allocated. */
  #extentsOf(slab: number): number[] {
    const extents = Array.from(
      { length: EXTENTS_PER_SLAB },
      (_, at) => slab * EXTENTS_PER_SLAB + at,
    );
    return slab === 0 ? extents.slice(1) : extents;
  }

  /** Adds `more` to the number of the slab's extents in use. */
  #count(slab: number, more: number): void {
    const before = this.#used[slab]!;
    this.#used[slab] = before + more;
    this.#freeCount -= more;
    if (before === 0) this.#freeCount += EXTENTS_PER_SLAB;
    else if (before + more === 0) {
      this.#freeCount -= EXTENTS_PER_SLAB;
      this.evacuateFrom = NONE;
    }
    if (this.#freeCount < FREE_MIN) this.evacuateFrom = NONE;
    else if (this.#freeCount > FREE_MAX && this.evacuateFrom === NONE) this.#evacuate();
  }

  /** Selects the highest slab in use to be emptied. */
  #evacuate(): void {
    let slab = this.words.length - 1;
    while (this.#used[slab] === 0) slab--;
    this.evacuateFrom = slab * EXTENTS_PER_SLAB;
  }

  #freeDropped(): void {
    this.#release.free(this.#dropped);
    this.#dropped = [];
    this.#droppedBytes = 0;
  }

  /** Releases one empty slab, and restarts the timer while there are others. */
  #timerOnDue(): void {
    this.#timer = undefined;
    if (this.#dropped.length > 0) this.#freeDropped();
    const now = this.#clock.now();
    let hasFreed = false;
    let delayMs = Number.POSITIVE_INFINITY;
    for (let slab = this.words.length - 1; slab >= 0; slab--) {
      if (this.#used[slab] !== 0 || this.words[slab] === NO_WORDS) continue;
      const restMs = this.#emptySince[slab]! + EMPTY_MS - now;
      if (restMs > 0 || hasFreed) {
        delayMs = Math.min(delayMs, Math.max(restMs, HANDBACK_PAUSE_MS));
        continue;
      }
      this.#freeSlab(slab);
      hasFreed = true;
    }
    if (delayMs < Number.POSITIVE_INFINITY) {
      this.#timer ??= this.#clock.after(Math.ceil(delayMs), this.#onTimer);
    }
  }

  #freeSlab(slab: number): void {
    const { buffer } = this.words[slab]!;
    this.words[slab] = NO_WORDS;
    this.bytes[slab] = NO_BYTES;
    for (const extent of this.#extentsOf(slab)) this.#extents.use(extent);
    this.#release.free([buffer]);
  }

  /** Allocates the lowest slab that does not exist. */
  #add(): boolean {
    const hole = this.words.indexOf(NO_WORDS);
    const slab = hole < 0 ? this.words.length : hole;
    if (slab === this.#countMax) return false;
    const buffer = this.#stock.take();
    this.words[slab] = new Int32Array(buffer);
    this.bytes[slab] = Buffer.from(buffer);
    this.#used = growArray(this.#used, slab + 1);
    this.#emptySince = growArray(this.#emptySince, slab + 1);
    if (hole >= 0) for (const extent of this.#extentsOf(slab)) this.#extents.free(extent);
    return true;
  }
}

/**
 * Releases memory to the system explicitly. V8 frees a dropped buffer only when it collects
 * garbage, which an idle process does not do for minutes. A transferred buffer leaves its owner at
 * once; sent through a closed message port it has no recipient, so it is freed during the call.
 * That takes 0.1 ms per MiB, nearly all of it in the system, and no collection.
 *
 * Once a buffer has been freed this way, every access to any typed array of the process checks
 * whether its buffer is detached, which slows reads down (bench: detached-buffer). So buffers that
 * are allocated and freed while a store grows are not freed this way.
 */
class MemoryRelease {
  #port: MessagePort | undefined;

  /** Frees the buffers; views of them are empty from now on. */
  free(buffers: ArrayBuffer[]): void {
    this.#port ??= deadEnd();
    this.#port.postMessage(null, buffers);
  }
}

function deadEnd(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
