/**
 * Small numbers for things that come and go, and columns of data by such a number, in pages of 1,024
 * (paged-array.ts). The lowest free number is given first, so that pages become empty. The column pages
 * of an empty page of numbers are freed; one such page is kept.
 */
import { grown } from '../../base/grown.ts';
import {
  PAGE_BITS,
  type PagedArray,
  type PagedDoubles,
  type PagedIntegers,
  pagedDoubles,
  pagedIntegers,
} from './paged-array.ts';
import type { SegmentPool } from './segment-pool.ts';

const PAGE_LENGTH = 2 ** PAGE_BITS;
const WORDS_PER_PAGE = PAGE_LENGTH / 32;
const NO_PAGE = -1;

export class IdColumns {
  readonly #pool: SegmentPool;
  readonly #columns: Pick<PagedArray, 'dropPage'>[] = [];
  /** The given numbers, a bit each, and their count in each page. 0 is never given. */
  #given = new Int32Array(WORDS_PER_PAGE);
  #counts = new Int32Array(4);
  /** No page below this one has a free number. */
  #lowest = 0;
  /** The empty page whose columns are kept. */
  #spare = NO_PAGE;
  /** Number of given numbers. */
  count = 0;

  constructor(pool: SegmentPool) {
    this.#pool = pool;
    this.#given[0] = 1;
  }

  /** A column of integers from -2^31 to 2^31-1. A value is not reset when its number is given again. */
  integers(): PagedIntegers {
    const column = pagedIntegers(this.#pool);
    this.#columns.push(column);
    return column;
  }

  doubles(): PagedDoubles {
    const column = pagedDoubles(this.#pool);
    this.#columns.push(column);
    return column;
  }

  /** Gives the lowest free number, 1 or more. */
  take(): number {
    while (this.#counts[this.#lowest]! >= capacity(this.#lowest)) this.#lowest++;
    const page = this.#lowest;
    this.#counts = grown(this.#counts, page + 2);
    this.#given = grown(this.#given, (page + 1) * WORDS_PER_PAGE);
    let word = page * WORDS_PER_PAGE;
    while (this.#given[word] === -1) word++;
    const free = ~this.#given[word]!;
    const bit = free & -free;
    this.#given[word]! |= bit;
    this.#counts[page]!++;
    this.count++;
    if (page === this.#spare) this.#spare = NO_PAGE;
    return word * 32 + 31 - Math.clz32(bit);
  }

  /** The number may be given again. */
  free(id: number): void {
    const page = id >>> PAGE_BITS;
    this.#given[id >>> 5]! &= ~(1 << (id & 31));
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

/** The count of numbers of a page that can be given. */
function capacity(page: number): number {
  return page === 0 ? PAGE_LENGTH - 1 : PAGE_LENGTH;
}
