/**
 * Small numbers as ids, and columns of data by id, in pages of 1,024 (paged-array.ts). The lowest
 * free id is allocated first, so that pages become empty. The column pages of an empty page of ids
 * are freed, except those of one spare page.
 */
import assert from 'node:assert/strict';
import { growArray } from '../../base/grow-array.ts';
import { NumberAllocator } from '../../base/number-allocator.ts';
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

const NO_PAGE = -1;

export class IdColumns {
  readonly #pool: ExtentPool;
  readonly #columns: Pick<Pages, 'dropPage' | 'bytes'>[] = [];
  /** The ids in use, and 0, which is no id. */
  readonly #numbers = new NumberAllocator();
  /** Number of ids in use of each page. */
  #counts = new Int32Array(4);
  /** The empty page whose columns are retained. */
  #spare = NO_PAGE;

  constructor(pool: ExtentPool) {
    this.#pool = pool;
    this.#numbers.use(0);
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

  /** Number of ids in use. */
  get count(): number {
    return this.#numbers.count - 1;
  }

  /** Allocates the lowest free id, 1 or more. */
  allocate(): number {
    const id = this.#numbers.allocate();
    const page = id >>> PAGE_BITS;
    this.#counts = growArray(this.#counts, page + 1);
    this.#counts[page]!++;
    if (page === this.#spare) this.#spare = NO_PAGE;
    return id;
  }

  /** Whether the id, 1 or more, is in use. */
  isUsed(id: number): boolean {
    return this.#numbers.isUsed(id);
  }

  /** Returns the lowest id in use after this one, or 0. */
  next(id: number): number {
    return Math.max(this.#numbers.firstUsed(id + 1), 0);
  }

  /** Yields the ids in use, in order. O(all ids). */
  *used(): Generator<number> {
    for (const id of this.#numbers.used()) if (id !== 0) yield id;
  }

  /** Size of all columns, in bytes. */
  get columnBytes(): number {
    return this.#columns.reduce((sum, column) => sum + column.bytes, 0);
  }

  /** Asserts that the counts match the bits. O(all ids). */
  invariants(): void {
    this.#numbers.invariants();
    const counts = new Int32Array(this.#counts.length);
    for (const id of this.used()) counts[id >>> PAGE_BITS]!++;
    assert.deepEqual(this.#counts, counts, 'ids in use by page');
    if (this.#spare !== NO_PAGE) assert.equal(counts[this.#spare], 0, 'the spare page');
  }

  /** Frees the id, which may then be reused. */
  free(id: number): void {
    const page = id >>> PAGE_BITS;
    this.#numbers.free(id);
    this.#counts[page]!--;
    if (this.#counts[page] !== 0) return;
    const dropped = this.#spare === NO_PAGE ? NO_PAGE : Math.max(page, this.#spare);
    this.#spare = this.#spare === NO_PAGE ? page : Math.min(page, this.#spare);
    if (dropped === NO_PAGE) return;
    for (const column of this.#columns) column.dropPage(dropped);
  }
}
