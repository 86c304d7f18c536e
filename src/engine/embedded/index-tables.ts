/**
 * The memory of index tables. A growing store frees one table after another, in total as much as
 * its last tables occupy, so tables are stored among the cells. A table of 64 KiB to 16 MiB has
 * consecutive extents; smaller ones, from a page of 4 KiB on, share extents. Freed memory is reused
 * at once; while a store only grows, no memory is released to the system and no buffer is detached
 * (release-memory.ts). Tables smaller than a page or larger than 16 MiB have buffers of their own.
 *
 * Places are page numbers: extent << 4 | page of the extent; 0 represents a buffer of its own.
 * Tables in a slab that is to be emptied are moved by their partition.
 */
import assert from 'node:assert/strict';
import { EXTENT_BYTES, ROW_BYTES_MAX, SLAB_BYTES, type Slabs } from './slabs.ts';

const PAGE_BYTES = 4096;
const PAGES_PER_EXTENT = EXTENT_BYTES / PAGE_BYTES;
const ALL_FREE = 2 ** PAGES_PER_EXTENT - 1;

export class IndexTables {
  readonly #slabs: Slabs;
  /** Extents shared by tables that have free pages, and those pages, one bit each. */
  readonly #shared: number[] = [];
  readonly #free: number[] = [];

  constructor(slabs: Slabs) {
    this.#slabs = slabs;
  }

  /** Allocates a table of `bytes`, a power of two. Returns its place; 0 for a buffer of its own. */
  allocate(bytes: number): number {
    if (bytes < PAGE_BYTES || bytes > ROW_BYTES_MAX) return 0;
    if (bytes < EXTENT_BYTES) return this.#allocatePages(bytes / PAGE_BYTES);
    const { evacuateFrom } = this.#slabs;
    return this.#slabs.allocateRow(bytes / EXTENT_BYTES, evacuateFrom) * PAGES_PER_EXTENT;
  }

  /** Returns the words of an allocated table, all 0. */
  words(place: number, bytes: number): Int32Array<ArrayBuffer> {
    if (place === 0) return new Int32Array(bytes / 4);
    const at = place * PAGE_BYTES;
    const { buffer } = this.#slabs.words[Math.floor(at / SLAB_BYTES)]!;
    return new Int32Array(buffer, at % SLAB_BYTES, bytes / 4).fill(0);
  }

  /** Whether the table at the place is to be moved. */
  isEvacuated(place: number): boolean {
    return place >= this.#slabs.evacuateFrom * PAGES_PER_EXTENT;
  }

  /** Frees the table at the place, which is no longer used. */
  free(place: number, table: Int32Array<ArrayBuffer>): void {
    const extent = Math.floor(place / PAGES_PER_EXTENT);
    const { byteLength } = table;
    if (place === 0) this.#slabs.drop(table.buffer);
    else if (byteLength < EXTENT_BYTES) this.#freePages(extent, place, byteLength / PAGE_BYTES);
    else {
      const end = extent + byteLength / EXTENT_BYTES;
      for (let free = extent; free < end; free++) this.#slabs.free(free);
    }
  }

  /**
   * Asserts that the given tables, which are all allocated ones, do not overlap, and that the other
   * pages of the extents they share are free. Adds their extents to `extents`.
   */
  invariants(
    tables: readonly { readonly place: number; readonly bytes: number }[],
    extents: Set<number>,
  ) {
    const pages = new Map<number, number>();
    for (const { place, bytes } of tables) {
      if (place === 0) continue;
      const first = Math.floor(place / PAGES_PER_EXTENT);
      if (bytes >= EXTENT_BYTES) {
        for (let extent = first; extent < first + bytes / EXTENT_BYTES; extent++) {
          assert.ok(!extents.has(extent), 'an extent of one table');
          extents.add(extent);
        }
        continue;
      }
      const taken = pagesOf(place % PAGES_PER_EXTENT, bytes / PAGE_BYTES);
      const others = pages.get(first) ?? 0;
      assert.equal(others & taken, 0, 'pages of one table');
      pages.set(first, others | taken);
    }
    assert.equal(new Set(this.#shared).size, this.#shared.length, 'shared extents, each once');
    for (const [extent, taken] of pages) {
      assert.ok(!extents.has(extent), 'an extent that only tables share');
      extents.add(extent);
      const at = this.#shared.indexOf(extent);
      assert.equal(at < 0 ? 0 : this.#free[at], ALL_FREE & ~taken, 'free pages of an extent');
    }
    for (const extent of this.#shared) assert.ok(pages.has(extent), 'a shared extent is used');
  }

  /** Allocates 1, 2, 4 or 8 free pages, at a multiple of `count`. Returns the first. */
  #allocatePages(count: number): number {
    const { evacuateFrom } = this.#slabs;
    for (let at = 0; at < this.#shared.length; at++) {
      const extent = this.#shared[at]!;
      const page = extent < evacuateFrom ? firstFree(this.#free[at]!, count) : -1;
      if (page < 0) continue;
      this.#free[at]! &= ~pagesOf(page, count);
      if (this.#free[at] === 0) this.#removeShared(at);
      return extent * PAGES_PER_EXTENT + page;
    }
    const extent = this.#slabs.allocateRow(1, evacuateFrom);
    if (extent === 0) return 0;
    this.#shared.push(extent);
    this.#free.push(ALL_FREE & ~pagesOf(0, count));
    return extent * PAGES_PER_EXTENT;
  }

  #freePages(extent: number, place: number, count: number): void {
    let at = this.#shared.indexOf(extent);
    if (at < 0) {
      at = this.#shared.push(extent) - 1;
      this.#free.push(0);
    }
    this.#free[at]! |= pagesOf(place % PAGES_PER_EXTENT, count);
    if (this.#free[at] !== ALL_FREE) return;
    this.#removeShared(at);
    this.#slabs.free(extent);
  }

  #removeShared(at: number): void {
    const extent = this.#shared.pop()!;
    const free = this.#free.pop()!;
    if (at === this.#shared.length) return;
    this.#shared[at] = extent;
    this.#free[at] = free;
  }
}

/** Returns the bits of `count` pages of an extent from `page` on. */
function pagesOf(page: number, count: number): number {
  return (2 ** count - 1) << page;
}

function firstFree(free: number, count: number): number {
  for (let page = 0; page < PAGES_PER_EXTENT; page += count) {
    const pages = pagesOf(page, count);
    if ((free & pages) === pages) return page;
  }
  return -1;
}
