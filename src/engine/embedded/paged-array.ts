/**
 * Numbers by id in pages of 1,024, outside the heap. The array grows by a page at a time, without a
 * copy, so the cost of adding a queue does not depend on their number. A number that was never set
 * is 0. Tested by id-columns.spec.ts.
 */
import { isAfter, type Version } from '../version.ts';
import type { ExtentPool } from './extent-pool.ts';

export const PAGE_BITS = 10;
const PAGE_LENGTH = 2 ** PAGE_BITS;
const PAGE_MASK = PAGE_LENGTH - 1;

type Page = Int32Array | Float64Array;

export class Pages<Kind extends Page = Page> {
  readonly #pages: (Kind | undefined)[] = [];
  readonly #pool: ExtentPool;
  readonly #make: () => Kind;

  constructor(pool: ExtentPool, make: () => Kind) {
    this.#pool = pool;
    this.#make = make;
  }

  /** Size of the pages, in bytes. */
  get bytes(): number {
    return this.#pages.reduce((sum, page) => sum + (page?.byteLength ?? 0), 0);
  }

  /** Frees the page of 1,024 ids, whose numbers are 0 afterwards. */
  dropPage(number: number): void {
    const page = this.#pages[number];
    if (page === undefined) return;
    this.#pool.meter.free(page.byteLength);
    this.#pages[number] = undefined;
    this.#pool.drop(page.buffer as ArrayBuffer);
  }

  /** Returns the page of the id; undefined if no number of it was set. */
  of(id: number): Kind | undefined {
    return this.#pages[id >>> PAGE_BITS];
  }

  /** Returns the page of the id, which is added if it is new. */
  open(id: number): Kind {
    return this.of(id) ?? this.#add(id >>> PAGE_BITS);
  }

  #add(number: number): Kind {
    const page = this.#make();
    this.#pool.meter.charge(page.byteLength);
    while (this.#pages.length <= number) this.#pages.push(undefined);
    this.#pages[number] = page;
    return page;
  }
}

/** One number per id. */
class PagedArray<Kind extends Page> {
  readonly pages: Pages<Kind>;

  constructor(pages: Pages<Kind>) {
    this.pages = pages;
  }

  get(id: number): number {
    const page = this.pages.of(id);
    return page === undefined ? 0 : page[id & PAGE_MASK]!;
  }

  set(id: number, value: number): void {
    this.pages.open(id)[id & PAGE_MASK] = value;
  }

  add(id: number, value: number): void {
    this.pages.open(id)[id & PAGE_MASK]! += value;
  }
}

/**
 * Two integers per id, each from -2^31 to 2^31-1, stored side by side so that they are fetched
 * together. The two may be a version, its low and high word.
 */
export class PagedPairs {
  readonly pages: Pages<Int32Array>;

  constructor(pool: ExtentPool) {
    this.pages = new Pages(pool, () => new Int32Array(2 * PAGE_LENGTH));
  }

  first(id: number): number {
    const page = this.pages.of(id);
    return page === undefined ? 0 : page[2 * (id & PAGE_MASK)]!;
  }

  second(id: number): number {
    const page = this.pages.of(id);
    return page === undefined ? 0 : page[2 * (id & PAGE_MASK) + 1]!;
  }

  set(id: number, first: number, second: number): void {
    const page = this.pages.open(id);
    const at = 2 * (id & PAGE_MASK);
    page[at] = first;
    page[at + 1] = second;
  }

  /** Sets `version` to the version of the id. */
  get(id: number, version: Version): void {
    version.set(this.first(id), this.second(id));
  }

  /** Whether the version is later than the version of the id. */
  isBefore(id: number, { low, high }: Version): boolean {
    return isAfter(low, high, this.first(id), this.second(id));
  }
}

export type PagedIntegers = PagedArray<Int32Array>;
export type PagedDoubles = PagedArray<Float64Array>;

/** Creates an array of integers from -2^31 to 2^31-1. */
export function pagedIntegers(pool: ExtentPool): PagedIntegers {
  return new PagedArray(new Pages(pool, () => new Int32Array(PAGE_LENGTH)));
}

export function pagedDoubles(pool: ExtentPool): PagedDoubles {
  return new PagedArray(new Pages(pool, () => new Float64Array(PAGE_LENGTH)));
}
