/**
 * Finds tombstones by their hash. Rows are chained by bucket. The bucket is selected by a hash with
 * the random seed of the process, so keys cannot be chosen to share a bucket; the seed of a
 * tombstone's hash is fixed. The table grows by one bucket with each row (linear hashing, Litwin
 * 1980), so that no row waits until all have moved. Tested by tombstones.spec.ts.
 */
import type { CellStore } from './cell-store.ts';
import type { IdColumns } from './id-columns.ts';
import type { PagedIntegers } from './paged-array.ts';
import { HASH_BYTES } from './tombstone-hash.ts';

const BUCKETS_MIN = 1024;

export class TombstoneIndex {
  readonly #store: CellStore;
  /** By row: the four words of its hash, and the next row of its bucket. */
  readonly #hashes: readonly [PagedIntegers, PagedIntegers, PagedIntegers, PagedIntegers];
  readonly #nexts: PagedIntegers;
  /** First row of each bucket; only the first `#count` are in use. */
  #buckets = new Int32Array(0);
  #count = 0;
  /** Buffer for the hash of a row in `#bucketOfRow`. */
  readonly #row = new Int32Array(HASH_BYTES / 4);

  /** `ids` are the rows. */
  constructor(store: CellStore, ids: IdColumns) {
    this.#store = store;
    this.#hashes = [ids.integers(), ids.integers(), ids.integers(), ids.integers()];
    this.#nexts = ids.integers();
  }

  /** Bytes of memory in addition to the columns of the rows. */
  get bytes(): number {
    return this.#buckets.byteLength;
  }

  /** Returns the row with this hash, or 0. */
  find(hash: Int32Array): number {
    if (this.#count === 0) return 0;
    const [first, second, third, fourth] = this.#hashes;
    let id = this.#buckets[this.#bucketOf(hash)]!;
    while (id !== 0) {
      const isIt =
        first.get(id) === hash[0] &&
        second.get(id) === hash[1] &&
        third.get(id) === hash[2] &&
        fourth.get(id) === hash[3];
      if (isIt) return id;
      id = this.#nexts.get(id);
    }
    return 0;
  }

  /** Sets `hash` to the hash of the row. */
  read(id: number, hash: Int32Array): void {
    for (let word = 0; word < hash.length; word++) hash[word] = this.#hashes[word]!.get(id);
  }

  /** Adds the row, whose hash must be unique; `rowCount` is the number of rows including it. */
  add(id: number, hash: Int32Array, rowCount: number): void {
    for (let word = 0; word < hash.length; word++) this.#hashes[word]!.set(id, hash[word]!);
    if (rowCount > this.#count) this.#grow();
    this.#chain(id, this.#bucketOf(hash));
  }

  remove(id: number): void {
    const bucket = this.#bucketOfRow(id);
    const next = this.#nexts.get(id);
    let before = this.#buckets[bucket]!;
    if (before === id) {
      this.#buckets[bucket] = next;
      return;
    }
    while (this.#nexts.get(before) !== id) before = this.#nexts.get(before);
    this.#nexts.set(before, next);
  }

  /** Adds a bucket, and moves rows into it from the only bucket that can contain them. */
  #grow(): void {
    if (this.#count === this.#buckets.length) this.#lengthen();
    if (this.#count === 0) {
      this.#count = BUCKETS_MIN;
      return;
    }
    const bucket = this.#count & (wholeOf(this.#count) - 1);
    let id = this.#buckets[bucket]!;
    this.#buckets[bucket] = 0;
    this.#count++;
    while (id !== 0) {
      const next = this.#nexts.get(id);
      this.#chain(id, this.#bucketOfRow(id));
      id = next;
    }
  }

  #lengthen(): void {
    const { meter } = this.#store;
    const longer = new Int32Array(Math.max(this.#buckets.length * 2, BUCKETS_MIN));
    longer.set(this.#buckets);
    meter.free(this.#buckets.byteLength);
    meter.charge(longer.byteLength);
    this.#buckets = longer;
  }

  #chain(id: number, bucket: number): void {
    this.#nexts.set(id, this.#buckets[bucket]!);
    this.#buckets[bucket] = id;
  }

  #bucketOfRow(id: number): number {
    this.read(id, this.#row);
    return this.#bucketOf(this.#row);
  }

  /**
   * Returns the bucket of the hash. Rows of buckets that do not exist yet are in the lower half.
   */
  #bucketOf(hash: Int32Array): number {
    const whole = wholeOf(this.#count);
    const place = this.#store.hashOfWords(hash, HASH_BYTES);
    const bucket = place & (2 * whole - 1);
    return bucket < this.#count ? bucket : bucket - whole;
  }
}

/** Returns the greatest power of two that is not above the count. */
function wholeOf(count: number): number {
  return 2 ** (31 - Math.clz32(count));
}
