/**
 * The 128 bits by which a tombstone is found: four HalfSipHashes of the map's name, and for an
 * entry four of its key, each with the name's hash as its first word. They are part of the data
 * format, as snapshots contain them: they never change. Tested by tombstones.spec.ts.
 */
import type { Span } from '../../base/span.ts';
import { halfSipHash13 } from '../hash.ts';
import { KeyWords } from '../key-words.ts';

export const HASH_BYTES = 16;
const LANES = HASH_BYTES / 4;
/** Two words for each lane. */
const SEEDS = new Int32Array([
  0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89,
]);
const OF_NAME = 0x6d6170;

export class TombstoneHash {
  /** The hash of the last call. */
  readonly words = new Int32Array(LANES);
  readonly bytes = Buffer.from(this.words.buffer);
  readonly #name = new KeyWords();
  readonly #ofName = new Int32Array(LANES);
  #hasName = false;
  readonly #key = new KeyWords();

  ofMap(name: Span): void {
    this.#readName(name);
    this.words.set(this.#ofName);
  }

  ofKey(name: Span, key: Span): void {
    this.#readName(name);
    const { words, length } = this.#key.load(key);
    for (let lane = 0; lane < LANES; lane++) {
      this.words[lane] = hashOf(lane, this.#ofName[lane]!, words, length);
    }
  }

  /** Hashes the name, unless it equals the name of the previous call, as in most calls. */
  #readName(name: Span): void {
    if (this.#hasName && this.#name.is(name)) return;
    const { words, length } = this.#name.load(name);
    for (let lane = 0; lane < LANES; lane++) {
      this.#ofName[lane] = hashOf(lane, OF_NAME, words, length);
    }
    this.#hasName = true;
  }
}

function hashOf(lane: number, first: number, words: Int32Array, length: number): number {
  return halfSipHash13(SEEDS[2 * lane]!, SEEDS[2 * lane + 1]!, first, words, 0, length);
}
