/**
 * Numbers by id in pages of 1,024, outside the heap. It grows a page at a time, without a copy, so ten
 * million queues are added as fast as ten. A number that was never set is 0.
 */
import type { ExtentPool } from './extent-pool.ts';

export const PAGE_BITS = 10;
const PAGE_LENGTH = 2 ** PAGE_BITS;
const PAGE_MASK = PAGE_LENGTH - 1;

type Page = Int32Array | Float64Array;

export class PagedArray<Kind extends Page = Page> {
  readonly #pool: ExtentPool;
  readonly #make: (length: number) => Kind;
  readonly #pages: (Kind | undefined)[] = [];

  constructor(pool: ExtentPool, make: (length: number) => Kind) {
    this.#pool = pool;
    this.#make = make;
  }

  get(id: number): number {
    const page = this.#pages[id >>> PAGE_BITS];
    return page === undefined ? 0 : page[id & PAGE_MASK]!;
  }

  set(id: number, value: number): void {
    const page = this.#pages[id >>> PAGE_BITS] ?? this.#addPage(id >>> PAGE_BITS);
    page[id & PAGE_MASK] = value;
  }

  /** Bytes of its pages. */
  get bytes(): number {
    return this.#pages.reduce((sum, page) => sum + (page?.byteLength ?? 0), 0);
  }

  /** Frees a page of 1,024 numbers, which are 0 then. */
  dropPage(number: number): void {
    const page = this.#pages[number];
    if (page === undefined) return;
    this.#pool.meter.give(page.byteLength);
    this.#pages[number] = undefined;
    this.#pool.drop(page.buffer as ArrayBuffer);
  }

  #addPage(number: number): Kind {
    const page = this.#make(PAGE_LENGTH);
    this.#pool.meter.charge(page.byteLength);
    while (this.#pages.length <= number) this.#pages.push(undefined);
    this.#pages[number] = page;
    return page;
  }
}

export type PagedIntegers = PagedArray<Int32Array>;
export type PagedDoubles = PagedArray<Float64Array>;

/** Integers from -2^31 to 2^31-1. */
export function pagedIntegers(pool: ExtentPool): PagedIntegers {
  return new PagedArray(pool, (length) => new Int32Array(length));
}

export function pagedDoubles(pool: ExtentPool): PagedDoubles {
  return new PagedArray(pool, (length) => new Float64Array(length));
}
