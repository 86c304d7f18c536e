/**
 * The memory of index tables. A growing store frees one table after another, as much in all as its last
 * tables have, so tables lie among the records. A table of 64 KiB to 16 MiB has segments in a row;
 * smaller ones, from a page of 4 KiB on, share segments. Freed memory is reused at once; while a store
 * only grows, nothing is handed back and no buffer is detached (handback.ts). Tables below a page, and
 * above 16 MiB, have buffers of their own.
 *
 * Places are pages: segment << 4 | page of the segment; 0 stands for a buffer of its own. Tables in a
 * slab that is to be emptied are moved by their partition.
 */
import { SEGMENT_BYTES, SLAB_BYTES, type Slabs } from './slabs.ts';

const PAGE_BYTES = 4096;
const PAGES_PER_SEGMENT = SEGMENT_BYTES / PAGE_BYTES;
const ALL_FREE = 2 ** PAGES_PER_SEGMENT - 1;
const ROW_BYTES_MAX = SLAB_BYTES / 2;

export class IndexTables {
  readonly #slabs: Slabs;
  /** Segments that tables share and that have free pages, and those pages, a bit each. */
  readonly #shared: number[] = [];
  readonly #free: number[] = [];

  constructor(slabs: Slabs) {
    this.#slabs = slabs;
  }

  /** The place of a table of so many bytes, a power of two; 0 for a buffer of its own. */
  take(bytes: number): number {
    if (bytes < PAGE_BYTES || bytes > ROW_BYTES_MAX) return 0;
    if (bytes < SEGMENT_BYTES) return this.#takePages(bytes / PAGE_BYTES);
    const { evacuateFrom } = this.#slabs;
    return this.#slabs.takeRow(bytes / SEGMENT_BYTES, evacuateFrom) * PAGES_PER_SEGMENT;
  }

  /** The words of a taken table, all 0. */
  words(place: number, bytes: number): Int32Array<ArrayBuffer> {
    if (place === 0) return new Int32Array(bytes / 4);
    const at = place * PAGE_BYTES;
    const { buffer } = this.#slabs.words[Math.floor(at / SLAB_BYTES)]!;
    return new Int32Array(buffer, at % SLAB_BYTES, bytes / 4).fill(0);
  }

  /** Whether the table there is to be moved. */
  isEvacuated(place: number): boolean {
    return place >= this.#slabs.evacuateFrom * PAGES_PER_SEGMENT;
  }

  /** Frees the table there, which is no longer used. */
  free(place: number, table: Int32Array<ArrayBuffer>): void {
    const segment = Math.floor(place / PAGES_PER_SEGMENT);
    const { byteLength } = table;
    if (place === 0) this.#slabs.drop(table.buffer);
    else if (byteLength < SEGMENT_BYTES) this.#freePages(segment, place, byteLength / PAGE_BYTES);
    else {
      const end = segment + byteLength / SEGMENT_BYTES;
      for (let free = segment; free < end; free++) this.#slabs.free(free);
    }
  }

  /** The first of so many free pages, 1, 2, 4 or 8, at a multiple of that. */
  #takePages(count: number): number {
    const { evacuateFrom } = this.#slabs;
    for (let at = 0; at < this.#shared.length; at++) {
      const segment = this.#shared[at]!;
      const page = segment < evacuateFrom ? firstFree(this.#free[at]!, count) : -1;
      if (page < 0) continue;
      this.#free[at]! &= ~pagesOf(page, count);
      if (this.#free[at] === 0) this.#forget(at);
      return segment * PAGES_PER_SEGMENT + page;
    }
    const segment = this.#slabs.takeRow(1, evacuateFrom);
    if (segment === 0) return 0;
    this.#shared.push(segment);
    this.#free.push(ALL_FREE & ~pagesOf(0, count));
    return segment * PAGES_PER_SEGMENT;
  }

  #freePages(segment: number, place: number, count: number): void {
    let at = this.#shared.indexOf(segment);
    if (at < 0) {
      at = this.#shared.push(segment) - 1;
      this.#free.push(0);
    }
    this.#free[at]! |= pagesOf(place % PAGES_PER_SEGMENT, count);
    if (this.#free[at] !== ALL_FREE) return;
    this.#forget(at);
    this.#slabs.free(segment);
  }

  #forget(at: number): void {
    const segment = this.#shared.pop()!;
    const free = this.#free.pop()!;
    if (at === this.#shared.length) return;
    this.#shared[at] = segment;
    this.#free[at] = free;
  }
}

/** A number of pages of a segment from one on, a bit each. */
function pagesOf(page: number, count: number): number {
  return (2 ** count - 1) << page;
}

function firstFree(free: number, count: number): number {
  for (let page = 0; page < PAGES_PER_SEGMENT; page += count) {
    const pages = pagesOf(page, count);
    if ((free & pages) === pages) return page;
  }
  return -1;
}
