/**
 * The hash tree of a map's entries in one partition. A leaf is the sum of its entries' hashes
 * modulo 2^64, so their order does not matter. A node is the sum of the leaves below it, so only
 * the leaves are stored. A tree with a single leaf is only a root.
 * Tested by tree-comparison.spec.ts.
 */

/** Maximum number of levels of a tree; more would take 512 KiB and more per partition. */
export const TREE_DEPTH_MAX = 16;
/** Maximum size of the trees that one side stores at a time, in bytes. */
export const TREE_BYTES_MAX = 8_388_608;
/** Length of a sum, in bytes. */
export const SUM_BYTES = 8;

/** Approximate memory of a tree beside its leaves, in bytes. */
const TREE_OVERHEAD_BYTES = 512;

/** Returns how many trees of 2^bits leaves fit into TREE_BYTES_MAX. */
export function treesMax(bits: number): number {
  return Math.floor(TREE_BYTES_MAX / treeBytes(bits));
}

export function treeBytes(bits: number): number {
  return TREE_OVERHEAD_BYTES + SUM_BYTES * 2 ** bits;
}

export class PartitionTree {
  /** The tree has 2^bits leaves; its depth is bits + 1. */
  readonly bits: number;
  /** Number of entries by leaf. */
  readonly counts: Uint32Array | undefined;
  /** The last computed sum, as unsigned words. */
  low = 0;
  high = 0;
  readonly #sums: Uint32Array;

  constructor(bits: number, hasCounts: boolean) {
    this.bits = bits;
    this.#sums = new Uint32Array(2 << bits);
    this.counts = hasCounts ? new Uint32Array(1 << bits) : undefined;
  }

  /** Adds an entry's hash, given as signed words. */
  add(leaf: number, low: number, high: number): void {
    const sums = this.#sums;
    const sum = sums[2 * leaf]! + (low >>> 0);
    sums[2 * leaf] = sum;
    sums[2 * leaf + 1] = sums[2 * leaf + 1]! + (high >>> 0) + (sum > 0xffff_ffff ? 1 : 0);
    if (this.counts !== undefined) this.counts[leaf]!++;
  }

  /** Sets `low` and `high` to the sum of a node. The root has level 0. */
  sum(level: number, index: number): this {
    const sums = this.#sums;
    const width = 2 ** (this.bits - level);
    const end = (index + 1) * width;
    let low = 0;
    let high = 0;
    // Exact: there are at most 2^15 terms of 32 bits.
    for (let leaf = index * width; leaf < end; leaf++) {
      low += sums[2 * leaf]!;
      high += sums[2 * leaf + 1]!;
    }
    this.low = low >>> 0;
    this.high = (high + Math.floor(low / 0x1_0000_0000)) >>> 0;
    return this;
  }
}
