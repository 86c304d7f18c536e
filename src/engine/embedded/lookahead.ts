/**
 * Fetches the memory that a few coming changes of entries need, so that they do not wait for it one by
 * one. A read of memory that is not in a cache takes some 200 ns; ten that do not depend on each other
 * take hardly more. So all places of new cells are read first, in a loop that does nothing else, then
 * all places in indexes, then all cells that stand there. The words read are ignored, and nothing is
 * changed (bench: refill).
 */

import type { CellStore } from './cell-store.ts';
import { HashIndex } from './hash-index.ts';

/** Changes looked at together: somewhat more than the reads that a processor has under way. */
export const AHEAD_MAX = 32;
const NO_OWNER = 0;
/** Lines of 64 bytes that are fetched of a new cell. */
const LINES = 3;
const LINE_WORDS = 16;

export class Lookahead {
  readonly #store: CellStore;
  /** Of each change: the map's id, and the hash by which the entry is found. */
  readonly #owners = new Int32Array(AHEAD_MAX);
  readonly #hashes = new Int32Array(AHEAD_MAX);
  /** Its index; its words and the entry's place in them are kept, too, as the loops are to be short. */
  readonly #indexes: HashIndex[] = [];
  readonly #words: Int32Array[] = [];
  readonly #homes = new Int32Array(AHEAD_MAX);
  /** Where the partition's next cell is written; 0 where that is not known. */
  readonly #targets = new Int32Array(AHEAD_MAX);
  /** Ignored; kept so that no compiler leaves out the reads. */
  read = 0;

  constructor(store: CellStore) {
    this.#store = store;
    const none = new HashIndex();
    for (let index = 0; index < AHEAD_MAX; index++) {
      this.#indexes.push(none);
      this.#words.push(none.words);
    }
  }

  expect(at: number, owner: number, partition: number, hash: number): void {
    const found = this.#store.partition(partition);
    const index = found?.index;
    this.#owners[at] = owner;
    this.#hashes[at] = hash;
    this.#targets[at] = found === undefined ? 0 : found.log.nextAddress;
    if (index === undefined) return;
    this.#indexes[at] = index;
    this.#words[at] = index.words;
    this.#homes[at] = index.home(hash);
  }

  /** The change has no entry, or one in a map that is not known yet. */
  skip(at: number): void {
    this.#owners[at] = NO_OWNER;
  }

  /** Whether the change's hash is known, which depends on its map. */
  knows(at: number, owner: number): boolean {
    return this.#owners[at] === owner;
  }

  hash(at: number): number {
    return this.#hashes[at]!;
  }

  /** Fetches the memory of the first `count` changes; a skipped one has the values of another. */
  fetch(count: number): void {
    const { pool } = this.#store;
    const words = this.#words;
    const homes = this.#homes;
    let read = pool.isTouched ? this.#fetchTargets(count) : 0;
    for (let at = 0; at < count; at++) read ^= words[at]![homes[at]!]!;
    for (let at = 0; at < count; at++) {
      const index = this.#indexes[at]!;
      const place = index.first(this.#hashes[at]!);
      const address = place < 0 ? 0 : index.address(place);
      if (address !== 0) read ^= pool.words(address)[pool.at(address)]!;
    }
    this.read = read;
  }

  /** Only memory that exists: a page that is read before it is written is faulted in twice. */
  #fetchTargets(count: number): number {
    const { pool } = this.#store;
    let read = 0;
    for (let at = 0; at < count; at++) {
      const target = this.#targets[at]!;
      if (target === 0) continue;
      const words = pool.words(target);
      const first = pool.at(target);
      const last = Math.min(first + LINES * LINE_WORDS, words.length);
      for (let word = first; word < last; word += LINE_WORDS) read ^= words[word]!;
    }
    return read;
  }
}
