/**
 * The engine's two hashes, both over key words (see key-words.ts): bytes as little-endian 32-bit
 * words, the last one padded with zero bytes.
 *
 * MurmurHash3 x86_32 (Appleby, public domain) determines the partition of a key or queue. It is
 * part of the data format: other members and stored data rely on it, so neither it nor its seed
 * ever changes. HalfSipHash-1-3 (Aumasson and Bernstein; the variant that Linux uses for its hash
 * tables) determines a key's place in its partition's index. Its seed is random, so that an
 * attacker cannot choose keys that collide.
 */

/** Seed of the hash that spreads keys over partitions. It never changes. */
const PARTITION_SEED = 0x01000193;

/** Returns the unsigned MurmurHash3 x86_32 of `length` bytes from words[at]. */
export function murmurHash3(words: Int32Array, at: number, length: number, seed: number): number {
  const end = at + (length >>> 2);
  let hash = seed;
  for (let index = at; index < end; index++) {
    hash ^= scramble(words[index]!);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  if ((length & 3) !== 0) hash ^= scramble(words[end]!);
  hash ^= length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Returns the partition, from 0, of a key or queue among `count`; its bytes are passed as to the
 * hash.
 */
export function partitionOf(words: Int32Array, at: number, length: number, count: number): number {
  // All three are 32-bit integers: a remainder of doubles takes ten times as long.
  return (murmurHash3(words, at, length, PARTITION_SEED) % (count >>> 0)) | 0;
}

function scramble(word: number): number {
  const product = Math.imul(word, 0xcc9e2d51);
  return Math.imul((product << 15) | (product >>> 17), 0x1b873593);
}

/**
 * Returns the signed 32-bit HalfSipHash-1-3 of the four bytes of `first` followed by `length` bytes
 * from words[at]. `key0` and `key1` are the seed, little-endian.
 */
export function halfSipHash13(
  key0: number,
  key1: number,
  first: number,
  words: Int32Array,
  at: number,
  length: number,
): number {
  const whole = length >>> 2;
  const tail = (length & 3) !== 0 ? words[at + whole]! : 0;
  let v0 = key0;
  let v1 = key1;
  let v2 = key0 ^ 0x6c796765;
  let v3 = key1 ^ 0x74656462;
  // One round per word; the three final rounds process three zero words.
  for (let index = -1; index < whole + 4; index++) {
    let word = 0;
    if (index < 0) word = first;
    else if (index < whole) word = words[at + index]!;
    else if (index === whole) word = ((length + 4) << 24) | tail;
    else if (index === whole + 1) v2 ^= 0xff;
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
  return v1 ^ v3;
}
