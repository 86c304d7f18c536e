/**
 * The last removals of entries in a replay. A removal leaves nothing in the engine, so a set of the
 * same version that is replayed after it would win, although the removal should (compareChanges in
 * ../mutation.ts). The log of a member that merges changes contains no such set, because the merge
 * has dropped it: so a bounded number of removals is enough. They are identified by the hash of the
 * key, its length and partition, the life of the map, and the version.
 *
 * Removals are stored in a ring; those with the same lower bits of the hash are chained, latest
 * first. The number of a removal shows whether the ring still contains it.
 */
import type { Mutation } from '../mutation.ts';
import { Version } from '../version.ts';

const REMOVALS_MAX = 2 ** 16;
const MASK = REMOVALS_MAX - 1;

/**
 * The hash, partition and length, the two words of the version and of the life, the previous
 * number.
 */
const RING_WORDS = 7;

export class RecentRemovals {
  /** The latest version of a removal: no removal has the version of a later set. */
  readonly #latest = new Version();
  /** Removals so far: the number of the last one. */
  #count = 0;
  /** Allocated for the first removal. */
  #ring: Int32Array = NONE;
  /** By the lower bits of the hash: the number of the last removal. */
  #heads: Int32Array = NONE;

  add(removal: Mutation, hash: number): void {
    if (this.#count === 0) {
      this.#ring = new Int32Array(REMOVALS_MAX * RING_WORDS);
      this.#heads = new Int32Array(REMOVALS_MAX);
    }
    const { version } = removal;
    if (version.isAfter(this.#latest)) this.#latest.copyFrom(version);
    const ring = this.#ring;
    const number = ++this.#count;
    const at = (number & MASK) * RING_WORDS;
    ring[at] = hash;
    ring[at + 1] = placeOf(removal.partition, removal.key.length);
    ring[at + 2] = version.low;
    ring[at + 3] = version.high;
    ring[at + 4] = removal.life.low;
    ring[at + 5] = removal.life.high;
    ring[at + 6] = this.#heads[hash & MASK]!;
    this.#heads[hash & MASK] = number;
  }

  /** Whether a removal of the same key has the version of the set. */
  has(set: Mutation, hash: number): boolean {
    const { version } = set;
    // In the log of one member a set is later than everything before it.
    if (this.#count === 0 || version.isAfter(this.#latest)) return false;
    const oldest = Math.max(this.#count - REMOVALS_MAX, 0);
    for (let number = this.#heads[hash & MASK]!; number > oldest; ) {
      const at = (number & MASK) * RING_WORDS;
      if (this.#isAt(at, set, hash)) return true;
      number = this.#ring[at + 6]!;
    }
    return false;
  }

  #isAt(at: number, { partition, key, version, life }: Mutation, hash: number): boolean {
    const ring = this.#ring;
    if (ring[at] !== hash || ring[at + 1] !== placeOf(partition, key.length)) return false;
    if (ring[at + 2] !== version.low || ring[at + 3] !== version.high) return false;
    return ring[at + 4] === life.low && ring[at + 5] === life.high;
  }
}

/** Packs the partition and the key's length into one word. */
function placeOf(partition: number, keyLength: number): number {
  return partition | (keyLength << 16);
}

const NONE = new Int32Array(0);
