/**
 * The key of the entry that a call operates on, read once: its words, its partition, and its hash
 * in the index for one map. One object is reused for every call. Tested by embedded-engine.spec.ts.
 */
import type { Span } from '../../base/span.ts';
import { KeyWords } from '../key-words.ts';
import type { CellStore } from './cell-store.ts';

export class HashedKey {
  readonly words = new KeyWords();
  /** Partition number of the key. */
  partition = 0;
  /** The bytes that it was read from; valid during the call. */
  span!: Span;
  readonly #store: CellStore;
  /** The hash in the map with the id `#hashOf`; -1 for none. */
  #hash = 0;
  #hashOf = -1;

  constructor(store: CellStore) {
    this.#store = store;
  }

  load(span: Span): this {
    this.span = span;
    this.partition = this.#store.partitionOf(this.words.load(span));
    this.#hashOf = -1;
    return this;
  }

  /** Returns the hash of the entry in the map with this id. */
  hash(map: number): number {
    if (this.#hashOf !== map) {
      this.#hash = this.#store.hash(map, this.words);
      this.#hashOf = map;
    }
    return this.#hash;
  }
}
