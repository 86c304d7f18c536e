/**
 * The two hashes of an entry that hash trees use: 64 bits of its content, and the leaf that it
 * belongs to.
 *
 * The content hash is HalfSipHash-1-3 with 64 bits of output (Aumasson and Bernstein) of these
 * 32-bit words, little-endian. Each comparison chooses a new key, so that nobody can craft entries
 * whose differences cancel out in the sums of a tree:
 *
 *     0  length in bytes of the key, of the value, of the content type
 *     3  expiry in ms since 1970, low and high word, 0 for none; max idle in seconds, 0 for none
 *     6  key, then value, then content type, each padded with zero bytes to whole words
 *
 * The leaf is the upper bits of MurmurHash3 (x86, 32 bits, seed 0x9747b28c) of the key. The hash
 * that selects the key's partition has another seed, so the entries of a partition spread over all
 * its leaves.
 */
import type { Span } from '../base/span.ts';
import { murmurHash3 } from '../engine/hash.ts';
import { KeyWords } from '../engine/key-words.ts';
import type { Mutation } from '../engine/mutation.ts';

export const HASH_KEY_BYTES = 8;

const LEAF_SEED = 0x9747b28c;
const HEAD_WORDS = 6;
/** Bytes hashed per call for long values: V8 can switch to compiled code between two calls. */
const PIECE_BYTES = 16_384;
/** Rounds of the finish: 1 for the word with the length, then 3 for each half of the output. */
const LENGTH_ROUND = -1;
const HALF_ROUND = 3;
const ROUNDS_END = 6;

export class EntryHash {
  /** The hash of the last entry, as signed words. */
  low = 0;
  high = 0;
  readonly #key0: number;
  readonly #key1: number;
  readonly #head = new Int32Array(HEAD_WORDS);
  readonly #scratch = new KeyWords();
  #v0 = 0;
  #v1 = 0;
  #v2 = 0;
  #v3 = 0;
  /** Number of words hashed so far. */
  #count = 0;

  constructor(key: Uint8Array) {
    const view = new DataView(key.buffer, key.byteOffset, HASH_KEY_BYTES);
    this.#key0 = view.getInt32(0, true);
    this.#key1 = view.getInt32(4, true);
  }

  /** Hashes the content of an entry. */
  hash({ key, value, contentType, expiryMs, maxIdleSeconds }: Mutation): void {
    const head = this.#head;
    head[0] = key.length;
    head[1] = value.length;
    head[2] = contentType.length;
    head[3] = expiryMs;
    head[4] = Math.floor(expiryMs / 0x1_0000_0000);
    head[5] = maxIdleSeconds;
    this.#v0 = this.#key0;
    this.#v1 = this.#key1 ^ 0xee;
    this.#v2 = this.#key0 ^ 0x6c796765;
    this.#v3 = this.#key1 ^ 0x74656462;
    this.#count = 0;
    this.#mix(head, 0, HEAD_WORDS * 4);
    this.#mixSpan(key);
    this.#mixSpan(value);
    this.#mixSpan(contentType);
    this.#finish();
  }

  #mixSpan(span: Span): void {
    const { words: own, start, length } = span;
    if (length === 0) return;
    const words = own ?? this.#scratch.load(span).words;
    let at = own === undefined ? 0 : start >>> 2;
    let rest = length;
    for (; rest > PIECE_BYTES; rest -= PIECE_BYTES) {
      this.#mix(words, at, PIECE_BYTES);
      at += PIECE_BYTES / 4;
    }
    this.#mix(words, at, rest);
  }

  /** Hashes `length` bytes from words[at]; bytes of the last word beyond them are ignored. */
  #mix(words: Int32Array, at: number, length: number): void {
    const end = at + ((length + 3) >>> 2);
    const mask = (length & 3) === 0 ? -1 : (1 << ((length & 3) * 8)) - 1;
    let v0 = this.#v0;
    let v1 = this.#v1;
    let v2 = this.#v2;
    let v3 = this.#v3;
    for (let index = at; index < end; index++) {
      const word = index === end - 1 ? words[index]! & mask : words[index]!;
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    this.#v0 = v0;
    this.#v1 = v1;
    this.#v2 = v2;
    this.#v3 = v3;
    this.#count += end - at;
  }

  /** Hashes the word with the length and computes the output. */
  #finish(): void {
    const length = this.#count << 26;
    let v0 = this.#v0;
    let v1 = this.#v1;
    let v2 = this.#v2;
    let v3 = this.#v3 ^ length;
    for (let round = LENGTH_ROUND; round < ROUNDS_END; round++) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      if (round === LENGTH_ROUND) {
        v0 ^= length;
        v2 ^= 0xee;
      } else if (round === HALF_ROUND - 1) {
        this.low = v1 ^ v3;
        v1 ^= 0xdd;
      }
    }
    this.high = v1 ^ v3;
  }
}

/** Selects the leaf of an entry. */
export class LeafOf {
  readonly #words = new KeyWords();

  /** Returns the index of the key's leaf among 2^bits leaves. */
  leaf(key: Span, bits: number): number {
    if (bits === 0) return 0;
    const { words, length } = this.#words.load(key);
    return murmurHash3(words, 0, length, LEAF_SEED) >>> (32 - bits);
  }
}
