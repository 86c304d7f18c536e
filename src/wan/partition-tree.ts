/**
 * The hash tree of a map's entries in one partition. A leaf is the sum of the hashes of its entries, modulo
 * 2^64, so their order does not matter; a node is the sum of the leaves below it, so only the leaves are
 * kept. A tree of a single leaf is a root alone.
 */

/** Levels of a tree at most; more would take 512 KiB and more a partition. */
export const TREE_DEPTH_MAX = 16;
/** The trees that one side keeps at a time, in bytes. */
export const TREE_BYTES_MAX = 8_388_608;
/** Bytes of a sum. */
export const SUM_BYTES = 8;

/** What a tree takes beside its leaves, about. */
const FURTHER_BYTES = 512;

/** How many trees of 2^bits leaves are kept at a time. */
export function treesMax(bits: number): number {
  return Math.floor(TREE_BYTES_MAX / treeBytes(bits));
}

export function treeBytes(bits: number): number {
  return FURTHER_BYTES + SUM_BYTES * 2 ** bits;
}

export class PartitionTree {
  /** It has 2^bits leaves; its depth is one more. */
  readonly bits: number;
  /** Entries by leaf. */
  readonly counts: Uint32Array | undefined;
  /** Of the last node that was asked for, unsigned words. */
  low = 0;
  high = 0;
  readonly #sums: Uint32Array;

  constructor(bits: number, hasCounts: boolean) {
    this.bits = bits;
    this.#sums = new Uint32Array(2 << bits);
    this.counts = hasCounts ? new Uint32Array(1 << bits) : undefined;
  }

  /** Adds an entry's hash, signed words. */
  add(leaf: number, low: number, high: number): void {
    const sums = this.#sums;
    const sum = sums[2 * leaf]! + (low >>> 0);
    sums[2 * leaf] = sum;
    sums[2 * leaf + 1] = sums[2 * leaf + 1]! + (high >>> 0) + (sum > 0xffff_ffff ? 1 : 0);
    if (this.counts !== undefined) this.counts[leaf]!++;
  }

  /** Sets `low` and `high` to the sum of a node; the root's level is 0. */
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
