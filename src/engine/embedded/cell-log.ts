/**
 * The cells of one partition in the order written, in extents: the last one, the head, is being
 * filled; the others are sealed. The bytes of a dead cell remain in place. An extent without live
 * bytes is returned to the pool at once. A sparse extent, or one in a slab that the pool wants to
 * empty, is emptied by the cleaner (cleaner.ts), which also writes to the head.
 */
import assert from 'node:assert/strict';
import { bytesAt, isDeadAt, markDeadAt } from './cell.ts';
import { CELL_SHARED_BYTES_MAX, type ExtentPool } from './extent-pool.ts';
import { EXTENT_BYTES } from './slabs.ts';

/**
 * Share of dead bytes in sealed extents above which live cells are moved. With 0.2, churn is a
 * tenth faster, and the resident set grows to 1.18 of its former size instead of 1.14 (bench:
 * cell-store).
 */
const DEAD_SHARE_MAX = 0.15;

export class CellLog {
  readonly #pool: ExtentPool;
  /** The extent being filled, 0 if there is none, and the number of bytes written to it. */
  #head = 0;
  #headUsed = 0;
  /** First extent of the list of sealed extents; the links are in the pool. */
  #sealed = 0;
  #sealedUsed = 0;
  #sealedLive = 0;
  #sealedCount = 0;
  /** The extent being emptied, 0 if there is none, and the position in it, in bytes. */
  victim = 0;
  victimDone = 0;
  /** Extents from this one on do not belong to the log. */
  #noneFrom = Number.POSITIVE_INFINITY;
  /** Bytes written and killed that the cleaner has not yet worked off. */
  owed = 0;

  constructor(pool: ExtentPool) {
    this.#pool = pool;
  }

  /** Bytes of live cells in shared extents. */
  get liveBytes(): number {
    return this.#sealedLive + (this.#head === 0 ? 0 : this.#pool.live[this.#head]!);
  }

  /** Whether the cleaner has work. */
  get needsCleaning(): boolean {
    return this.#isSparse() || this.#pool.evacuateFrom < this.#noneFrom;
  }

  #isSparse(): boolean {
    return this.#sealedUsed - this.#sealedLive > DEAD_SHARE_MAX * this.#sealedUsed;
  }

  /**
   * Returns the address of `length` bytes (a whole cell), which count as live from now on; or 0 if
   * there is no memory, and then nothing has changed. `spare`: may also use the reserved memory.
   */
  allocate(length: number, spare: boolean): number {
    if (length > CELL_SHARED_BYTES_MAX) return this.#pool.allocateLong(length);
    if (this.#head === 0 || this.#headUsed + length > EXTENT_BYTES) {
      const extent = this.#pool.allocateExtent(spare);
      if (extent === 0) return 0;
      if (this.#head !== 0) this.#seal();
      this.#head = extent;
      this.#headUsed = 0;
      if (extent >= this.#noneFrom) this.#noneFrom = Number.POSITIVE_INFINITY;
    }
    const address = this.#pool.address(this.#head, this.#headUsed);
    this.#headUsed += length;
    this.owed += length;
    this.#pool.live[this.#head]! += length;
    return address;
  }

  /** Marks the cell as dead. Its bytes remain readable while freed memory is retained. */
  kill(address: number): void {
    const pool = this.#pool;
    const words = pool.words(address);
    const at = pool.at(address);
    const extent = pool.extent(address);
    if (extent === 0) {
      pool.freeLong(address);
      return;
    }
    const length = bytesAt(words, at);
    if (isDeadAt(words, at)) assert.fail('the cell is already dead');
    markDeadAt(words, at);
    this.owed += length;
    const live = pool.live[extent]! - length;
    if (live < 0) assert.fail('an extent has negative live bytes');
    pool.live[extent] = live;
    if (extent === this.#head) {
      if (live === 0) this.#dropHead();
      return;
    }
    this.#sealedLive -= length;
    if (live === 0) this.#dropSealed(extent);
  }

  /** Number of sealed extents. */
  get sealedCount(): number {
    return this.#sealedCount;
  }

  /** Whether the live cells, packed without gaps, would fit into fewer extents. */
  get canPack(): boolean {
    const count = this.#sealedCount + (this.#head === 0 ? 0 : 1);
    return this.liveBytes <= (count - 1) * EXTENT_BYTES;
  }

  /**
   * Chooses the extent with the fewest live bytes as the victim, if the log is loose. Returns false
   * if there is no such extent.
   */
  chooseEmptiest(): boolean {
    const { live, next } = this.#pool;
    this.victimDone = 0;
    this.victim = this.#sealed;
    for (let extent = this.#sealed; extent !== 0; extent = next[extent]!) {
      if (live[extent]! < live[this.victim]!) this.victim = extent;
    }
    return this.victim !== 0;
  }

  /** Chooses the extent to be emptied next. Returns false if there is none. */
  chooseVictim(): boolean {
    this.victimDone = 0;
    this.victim = this.#evacuated() || (this.#isSparse() ? this.#sparsest() : 0);
    return this.victim !== 0;
  }

  /**
   * Asserts that each extent is filled by its cells, and that the sums match. Calls `each` with the
   * address of each live cell; adds the extents to `extents`. O(cells).
   */
  invariants(extents: Set<number>, each: (address: number) => void): void {
    const { live, used, next, previous } = this.#pool;
    let sums = { count: 0, used: 0, live: 0 };
    let before = 0;
    for (let extent = this.#sealed; extent !== 0; extent = next[extent]!) {
      assert.equal(previous[extent], before, 'the extent before');
      assert.ok(live[extent]! > 0, 'an extent without live bytes');
      this.#checkExtent(extent, used[extent]!, extents, each);
      const { count, used: usedBytes, live: liveBytes } = sums;
      sums = {
        count: count + 1,
        used: usedBytes + used[extent]!,
        live: liveBytes + live[extent]!,
      };
      before = extent;
    }
    const kept = { count: this.#sealedCount, used: this.#sealedUsed, live: this.#sealedLive };
    assert.deepEqual(kept, sums, 'sums of sealed extents');
    if (this.#head !== 0) this.#checkExtent(this.#head, this.#headUsed, extents, each);
    else assert.equal(this.#headUsed, 0, 'no head');
    assert.ok(this.victim === 0 || extents.has(this.victim), 'the extent being emptied');
    assert.ok(
      this.victim === 0 || this.victimDone <= used[this.victim]!,
      'the position in the extent being emptied',
    );
  }

  #checkExtent(
    extent: number,
    used: number,
    extents: Set<number>,
    each: (address: number) => void,
  ): void {
    const pool = this.#pool;
    assert.ok(!extents.has(extent), 'an extent of one log');
    extents.add(extent);
    let live = 0;
    let offset = 0;
    while (offset < used) {
      const address = pool.address(extent, offset);
      const length = bytesAt(pool.words(address), pool.at(address));
      offset += length;
      if (isDeadAt(pool.words(address), pool.at(address))) continue;
      if (extent === this.victim && offset <= this.victimDone)
        assert.fail('a live cell in the emptied part of an extent');
      live += length;
      each(address);
    }
    assert.equal(offset, used, 'cells of an extent');
    assert.ok(used <= EXTENT_BYTES, 'bytes of an extent');
    assert.equal(pool.live[extent], live, 'live bytes of an extent');
  }

  /** Returns an extent in the slab that is to be emptied, or 0. */
  #evacuated(): number {
    const from = this.#pool.evacuateFrom;
    if (from >= this.#noneFrom) return 0;
    if (this.#head >= from) {
      this.#seal();
      this.#head = 0;
      this.#headUsed = 0;
    }
    const { next } = this.#pool;
    let extent = this.#sealed;
    while (extent !== 0 && extent < from) extent = next[extent]!;
    if (extent === 0) this.#noneFrom = from;
    return extent;
  }

  /** Returns the sealed extent with the most dead bytes, or 0 if none has any. */
  #sparsest(): number {
    const { live, used, next } = this.#pool;
    let dead = 0;
    let sparsest = 0;
    for (let extent = this.#sealed; extent !== 0; extent = next[extent]!) {
      const here = used[extent]! - live[extent]!;
      if (here <= dead) continue;
      dead = here;
      sparsest = extent;
    }
    return sparsest;
  }

  #seal(): void {
    const { live, used, next, previous } = this.#pool;
    const extent = this.#head;
    used[extent] = this.#headUsed;
    next[extent] = this.#sealed;
    previous[extent] = 0;
    if (this.#sealed !== 0) previous[this.#sealed] = extent;
    this.#sealed = extent;
    this.#sealedCount++;
    this.#sealedUsed += this.#headUsed;
    this.#sealedLive += live[extent]!;
  }

  #dropHead(): void {
    this.#pool.freeExtent(this.#head);
    this.#head = 0;
    this.#headUsed = 0;
  }

  #dropSealed(extent: number): void {
    const { used, next, previous } = this.#pool;
    const after = next[extent]!;
    const before = previous[extent]!;
    if (after !== 0) previous[after] = before;
    if (before !== 0) next[before] = after;
    else this.#sealed = after;
    this.#sealedCount--;
    this.#sealedUsed -= used[extent]!;
    if (extent === this.victim) this.victim = 0;
    this.#pool.freeExtent(extent);
  }
}
