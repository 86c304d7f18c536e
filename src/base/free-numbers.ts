/**
 * The numbers from 0 on that are free: the lowest one is taken first. Objects that are used again are taken
 * by such a number, in the order in which they were made. So those in use lie together in memory and are
 * met in their order, which processors read ahead in. Where the one that was given last is taken first,
 * they end up in no order, and many at a time wait for memory, each twice (bench: free-numbers).
 */

const FIRST_GROUPS = 1;

export class FreeNumbers {
  /** A bit for each number: whether it is free. */
  #words = new Int32Array(FIRST_GROUPS << 5);
  /** A bit for each word: whether it has any. */
  #groups = new Int32Array(FIRST_GROUPS);

  /** The lowest number that is free: it is not any more. -1 where there is none. */
  take(): number {
    const groups = this.#groups;
    let group = 0;
    while (group < groups.length && groups[group] === 0) group++;
    if (group === groups.length) return -1;
    const at = (group << 5) | lowestBit(groups[group]!);
    const word = this.#words[at]!;
    const rest = word & (word - 1);
    this.#words[at] = rest;
    if (rest === 0) groups[group]! &= groups[group]! - 1;
    return (at << 5) | lowestBit(word);
  }

  /** The number is free. */
  give(number: number): void {
    const at = number >> 5;
    if (at >= this.#words.length) this.#grow(at);
    this.#words[at]! |= 1 << (number & 31);
    this.#groups[at >> 5]! |= 1 << (at & 31);
  }

  #grow(at: number): void {
    let count = this.#groups.length;
    while (count << 5 <= at) count *= 2;
    const words = new Int32Array(count << 5);
    words.set(this.#words);
    this.#words = words;
    const groups = new Int32Array(count);
    groups.set(this.#groups);
    this.#groups = groups;
  }
}

/** The place of the lowest bit that is set; there must be one. */
function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
