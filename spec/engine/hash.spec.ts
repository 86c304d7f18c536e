import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Span } from '../../src/base/span.ts';
import { halfSipHash13, murmurHash3, partitionOf } from '../../src/engine/hash.ts';
import { KeyWords } from '../../src/engine/key-words.ts';
import { span } from './results.ts';

function words(bytes: string | Buffer): KeyWords {
  return new KeyWords().load(span(bytes));
}

/** Published vectors of MurmurHash3 x86_32: bytes in hexadecimal, seed, hash. */
const MURMUR: [string, number, number][] = [
  ['', 0, 0],
  ['', 1, 0x514e28b7],
  ['', 0xffffffff, 0x81f16f39],
  ['ffffffff', 0, 0x76293b50],
  ['21436587', 0, 0xf55b516b],
  ['21436587', 0x5082edee, 0x2362f9de],
  ['214365', 0, 0x7e4a8634],
  ['2143', 0, 0xa0f7b07a],
  ['21', 0, 0x72661cf4],
  ['00000000', 0, 0x2362f9de],
  ['000000', 0, 0x85f0b427],
  ['0000', 0, 0x30f4c306],
  ['00', 0, 0x514e28b7],
];

/**
 * Published vectors of HalfSipHash-1-3, 32 bits: for the bytes 0, 1, … n-1 and the key 0, 1, … 7.
 */
const HALF_SIP: [length: number, hash: number][] = [
  [4, 0x7e059ea6],
  [5, 0x88e3d89b],
  [6, 0xa0080b65],
  [7, 0x9d38d9d6],
  [8, 0x577999b1],
  [11, 0x959246ee],
  [12, 0x6b28096c],
  [15, 0xd0257b04],
  [16, 0x8b31d501],
  [31, 0x08d8791a],
  [32, 0xbc6dda8d],
  [63, 0x87178304],
];

describe('murmurHash3', () => {
  it('returns the published hashes', () => {
    for (const [hex, seed, hash] of MURMUR) {
      const key = words(Buffer.from(hex, 'hex'));
      assert.equal(murmurHash3(key.words, 0, key.length, seed), hash, `${hex} with seed ${seed}`);
    }
    const text = words('The quick brown fox jumps over the lazy dog');
    assert.equal(murmurHash3(text.words, 0, text.length, 0x9747b28c), 0x2fa826cd);
  });

  it('does not depend on the position of the words', () => {
    const key = words('abcdefg');
    const elsewhere = new Int32Array(10);
    elsewhere.set(key.words.subarray(0, 2), 5);
    assert.equal(murmurHash3(elsewhere, 5, 7, 1), murmurHash3(key.words, 0, 7, 1));
  });

  it('assigns keys to the partitions of the data format', () => {
    const partitions = ['', 'a', 'key000000001', 'ä'].map((key) => {
      const { words: keyWords, length } = words(Buffer.from(key));
      return partitionOf(keyWords, 0, length, 271);
    });
    assert.deepEqual(partitions, [252, 173, 73, 188]);
  });
});

describe('halfSipHash13', () => {
  it('returns the published hashes', () => {
    for (const [length, hash] of HALF_SIP) {
      const bytes = Buffer.from(Array.from({ length }, (_, index) => index));
      const key = words(bytes.subarray(4));
      const first = bytes.readInt32LE(0);
      const actual = halfSipHash13(0x03020100, 0x07060504, first, key.words, 0, key.length);
      assert.equal(actual >>> 0, hash, `${length} bytes`);
    }
  });

  it('depends on the seed and on the owner of the key', () => {
    const { words: keyWords, length } = words('key');
    const hashes = [
      halfSipHash13(1, 2, 1, keyWords, 0, length),
      halfSipHash13(1, 3, 1, keyWords, 0, length),
      halfSipHash13(1, 2, 2, keyWords, 0, length),
    ];
    assert.equal(new Set(hashes).size, 3);
  });
});

describe('KeyWords', () => {
  it('distinguishes keys, also by trailing zero bytes, from bytes and from words', () => {
    const keys = ['', '\0', '\0\0', 'a', 'a\0', 'abcd', 'abcd\0', 'x'.repeat(48), 'x'.repeat(49)];
    for (const [index, key] of keys.entries()) {
      for (const [other, text] of keys.entries()) {
        const named = span(Buffer.from(text));
        assert.equal(words(key).is(named), index === other);
        // The bytes after the last one in its word belong to another key.
        const buffer = Buffer.alloc(64, 0xff);
        named.set(buffer, 8, 8 + buffer.write(text, 8));
        named.words = new Int32Array(buffer.buffer, buffer.byteOffset, 16);
        assert.equal(words(key).is(named), index === other);
      }
    }
  });

  it('pads with zeros, whatever was loaded before', () => {
    for (const length of [0, 1, 2, 3, 4, 47, 48, 49, 50, 51, 52, 253, 254, 255, 256, 257, 300]) {
      const used = words(Buffer.alloc(1000, 0xff));
      used.load(span(Buffer.alloc(length, 0x61)));
      const fresh = words(Buffer.alloc(length, 0x61));
      assert.equal(used.length, length);
      assert.deepEqual(
        used.words.subarray(0, used.wordCount),
        fresh.words.subarray(0, fresh.wordCount),
      );
      assert.ok(used.is(span(Buffer.alloc(length, 0x61))));
    }
  });
});

it('KeyWords.is compares every byte, whether the span has words or only bytes', () => {
  for (let length = 1; length <= 13; length++) {
    const memory = new Int32Array(4);
    const bytes = Buffer.from(memory.buffer);
    const key = new KeyWords().load(new Span().set(bytes, 0, length));
    for (const view of [undefined, memory]) {
      for (let at = 0; at < bytes.length; at++) {
        bytes.fill(0);
        bytes[at] = 1;
        const changed = new Span().set(bytes, 0, length);
        changed.words = view;
        assert.equal(key.is(changed), at >= length, `byte ${at} of ${length}`);
      }
    }
  }
});
