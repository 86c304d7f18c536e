/**
 * The numbers in use, from 0 up, of which the lowest free one is allocated next. The numbers identify
 * reusable objects, in the order of their creation. Allocating the lowest keeps the objects in use together
 * in memory and visited in their order, which processors prefetch. With last-in, first-out reuse their order
 * becomes random, and when many are in use, each waits for memory twice (bench: free-numbers). That is 4 %
 * of a pipelined GET with an engine on servers (`make bench-peers NAME=store-pipelined-32`).
 */
import assert from 'node:assert/strict';
import { growArray } from './grow-array.ts';

const ALL = -1;
const NONE = -1;

export class NumberAllocator {
  /** One bit per number: whether it is in use. */
  #words = new Int32Array(32);
  /** One bit per word: whether all its numbers are in use. */
  #groups = new Int32Array(1);
  /** Number of numbers in use. */
  count = 0;

  /** Returns the lowest free number and marks it as used. */
  allocate(): number {
    let group = 0;
    while (this.#groups[group] === ALL) group++;
    if (group === this.#groups.length) this.#grow(group << 5);
    const at = (group << 5) | lowestZero(this.#groups[group]!);
    const word = this.#words[at]!;
    this.#set(at, word | (word + 1));
    return (at << 5) | lowestZero(word);
  }

  /** Marks the free number as used. */
  use(number: number): void {
    const at = number >> 5;
    if (at >= this.#words.length) this.#grow(at);
    this.#set(at, this.#words[at]! | (1 << (number & 31)));
  }

  /** Marks the number as free. */
  free(number: number): void {
    if (!this.isUsed(number)) assert.fail('the number is already free');
    const at = number >> 5;
    this.#words[at]! &= ~(1 << (number & 31));
    this.#groups[at >> 5]! &= ~(1 << (at & 31));
    this.count--;
  }

  isUsed(number: number): boolean {
    return (this.#words[number >> 5]! & (1 << (number & 31))) !== 0;
  }

  /** Returns the lowest number in use from this one on, or -1. */
  firstUsed(from: number): number {
    let at = from >> 5;
    if (at >= this.#words.length) return NONE;
    let bits = this.#words[at]! & (ALL << (from & 31));
    while (bits === 0) {
      if (++at === this.#words.length) return NONE;
      bits = this.#words[at]!;
    }
    return (at << 5) | lowestZero(~bits);
  }

  /** Yields the numbers in use, in order. O(all numbers). */
  *used(): Generator<number> {
    for (let at = 0; at < this.#words.length; at++) {
      for (let bits = this.#words[at]!; bits !== 0; bits &= bits - 1)
        yield (at << 5) | lowestZero(~bits);
    }
  }

  /** Asserts that the groups and the count match the numbers in use. O(all numbers). */
  invariants(): void {
    assert.equal([...this.used()].length, this.count, 'numbers in use');
    for (const [at, word] of this.#words.entries()) {
      const isFull = (this.#groups[at >> 5]! & (1 << (at & 31))) !== 0;
      assert.equal(isFull, word === ALL, 'words without a free number');
    }
  }

  /** Sets a word, which has one more number in use. */
  #set(at: number, word: number): void {
    this.#words[at] = word;
    if (word === ALL) this.#groups[at >> 5]! |= 1 << (at & 31);
    this.count++;
  }

  #grow(at: number): void {
    this.#groups = growArray(this.#groups, (at >> 5) + 1);
    this.#words = growArray(this.#words, this.#groups.length << 5);
  }
}

/** Returns the index of the lowest bit that is 0; the word must not be ALL. */
function lowestZero(word: number): number {
  return 31 - Math.clz32(~word & (word + 1));
}
