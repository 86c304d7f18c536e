/**
 * Has the memory that a few coming changes of entries need fetched while nobody waits for it. A read
 * of memory that is not at hand takes some 200 ns, ten that do not wait for each other hardly more:
 * so all places in indexes are read first, in a loop that does nothing else, then all records that
 * stand there. What was read is not used, and nothing is changed.
 */
import { HashIndex } from './hash-index.ts';
import type { RecordStore } from './record-store.ts';

/** Changes looked at together: some more than the reads that a processor has under way. */
export const AHEAD_MAX = 32;
const NO_OWNER = 0;

export class Lookahead {
  readonly #store: RecordStore;
  /** Of each change: the map's id, and the hash by which the entry is found. */
  readonly #owners = new Int32Array(AHEAD_MAX);
  readonly #hashes = new Int32Array(AHEAD_MAX);
  /** Its index and, as the loops are to be short, its words and where the entry stands in them. */
  readonly #indexes: HashIndex[] = [];
  readonly #words: Int32Array[] = [];
  readonly #homes = new Int32Array(AHEAD_MAX);
  /** Means nothing: kept so that no compiler leaves out the reads. */
  read = 0;

  constructor(store: RecordStore) {
    this.#store = store;
    const none = new HashIndex();
    for (let index = 0; index < AHEAD_MAX; index++) {
      this.#indexes.push(none);
      this.#words.push(none.words);
    }
  }

  expect(at: number, owner: number, partition: number, hash: number): void {
    const index = this.#store.partition(partition)?.index;
    this.#owners[at] = owner;
    this.#hashes[at] = hash;
    if (index === undefined) return;
    this.#indexes[at] = index;
    this.#words[at] = index.words;
    this.#homes[at] = index.home(hash);
  }

  /** The change is of no entry, or of one in a map that is not known yet. */
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

  /** Fetches what the first `count` changes need; for one that is skipped, what another one has. */
  fetch(count: number): void {
    const { pool } = this.#store;
    const words = this.#words;
    const homes = this.#homes;
    let read = 0;
    for (let at = 0; at < count; at++) read ^= words[at]![homes[at]!]!;
    for (let at = 0; at < count; at++) {
      const index = this.#indexes[at]!;
      const place = index.first(this.#hashes[at]!);
      const address = place < 0 ? 0 : index.address(place);
      if (address !== 0) read ^= pool.words(address)[pool.at(address)]!;
    }
    this.read = read;
  }
}
