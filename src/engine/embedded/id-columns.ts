/**
 * Small numbers as ids, and columns of data by id, in pages of 1,024 (paged-array.ts). The lowest
 * free id is allocated first, so that pages become empty. The column pages of an empty page of ids
 * are freed, except those of one spare page.
 */
import assert from 'node:assert/strict';
import { growArray } from '../../base/grow-array.ts';
import type { ExtentPool } from './extent-pool.ts';
import {
  PAGE_BITS,
  type PagedDoubles,
  type PagedIntegers,
  PagedPairs,
  type Pages,
  pagedDoubles,
  pagedIntegers,
} from './paged-array.ts';

const PAGE_LENGTH = 2 ** PAGE_BITS;
const WORDS_PER_PAGE = PAGE_LENGTH / 32;
const NO_PAGE = -1;

export class IdColumns {
  readonly #pool: ExtentPool;
  readonly #columns: Pick<Pages, 'dropPage' | 'bytes'>[] = [];
  /** The ids in use, one bit each, and their count in each page. 0 is never used. */
  #used = new Int32Array(WORDS_PER_PAGE);
  #counts = new Int32Array(4);
  /** No page below this one has a free id. */
  #lowest = 0;
  /** The empty page whose columns are retained. */
  #spare = NO_PAGE;
  /** Number of ids in use. */
  count = 0;

  constructor(pool: ExtentPool) {
    this.#pool = pool;
    this.#used[0] = 1;
  }

  /** Adds a column of integers from -2^31 to 2^31-1. A value is not reset when its id is reused. */
  integers(): PagedIntegers {
    return this.#add(pagedIntegers(this.#pool));
  }

  doubles(): PagedDoubles {
    return this.#add(pagedDoubles(this.#pool));
  }

  pairs(): PagedPairs {
    return this.#add(new PagedPairs(this.#pool));
  }

  #add<Column extends { readonly pages: Pages }>(column: Column): Column {
    this.#columns.push(column.pages);
    return column;
  }

  /** Allocates the lowest free id, 1 or more. */
  allocate(): number {
    while (this.#counts[this.#lowest]! >= capacity(this.#lowest)) this.#lowest++;
    const page = this.#lowest;
    this.#counts = growArray(this.#counts, page + 2);
    this.#used = growArray(this.#used, (page + 1) * WORDS_PER_PAGE);
    let word = page * WORDS_PER_PAGE;
    while (this.#used[word] === -1) word++;
    const free = ~this.#used[word]!;
    const bit = free & -free;
    this.#used[word]! |= bit;
    this.#counts[page]!++;
    this.count++;
    if (page === this.#spare) this.#spare = NO_PAGE;
    return word * 32 + 31 - Math.clz32(bit);
  }

  /** Whether the id, 1 or more, is in use. */
  isUsed(id: number): boolean {
    return (this.#used[id >>> 5]! & (1 << (id & 31))) !== 0;
  }

  /** Yields the ids in use, in order. O(all ids). */
  *used(): Generator<number> {
    for (let word = 0; word < this.#used.length; word++) {
      for (let bits = this.#used[word]!; bits !== 0; bits &= bits - 1) {
        const id = word * 32 + 31 - Math.clz32(bits & -bits);
        if (id !== 0) yield id;
      }
    }
  }

  /** Size of all columns, in bytes. */
  get columnBytes(): number {
    return this.#columns.reduce((sum, column) => sum + column.bytes, 0);
  }

  /** Asserts that the counts match the bits. O(all ids). */
  invariants(): void {
    const counts = new Int32Array(this.#counts.length);
    let count = 0;
    for (const id of this.used()) {
      counts[id >>> PAGE_BITS]!++;
      count++;
    }
    assert.equal(count, this.count, 'ids in use');
    assert.deepEqual(this.#counts, counts, 'ids in use by page');
    for (let page = 0; page < this.#lowest; page++) {
      assert.equal(counts[page], capacity(page), 'a free id below the lowest page');
    }
    if (this.#spare !== NO_PAGE) assert.equal(counts[this.#spare], 0, 'the spare page');
  }

  /** Frees the id, which may then be reused. */
  free(id: number): void {
    const page = id >>> PAGE_BITS;
    if (!this.isUsed(id)) assert.fail('the id is already free');
    this.#used[id >>> 5]! &= ~(1 << (id & 31));
    this.count--;
    this.#lowest = Math.min(this.#lowest, page);
    this.#counts[page]!--;
    if (this.#counts[page] !== 0) return;
    const dropped = this.#spare === NO_PAGE ? NO_PAGE : Math.max(page, this.#spare);
    this.#spare = this.#spare === NO_PAGE ? page : Math.min(page, this.#spare);
    if (dropped === NO_PAGE) return;
    for (const column of this.#columns) column.dropPage(dropped);
  }
}

/** Returns the number of usable ids of a page. */
function capacity(page: number): number {
  return page === 0 ? PAGE_LENGTH - 1 : PAGE_LENGTH;
}
