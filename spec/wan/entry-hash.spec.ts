/** Hashes of entries, and the trees that are sums of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Span } from '../../src/base/span.ts';
import { Mutation } from '../../src/engine/mutation.ts';
import { EntryHash, LeafOf } from '../../src/wan/entry-hash.ts';
import { PartitionTree } from '../../src/wan/partition-tree.ts';
import { span } from '../engine/results.ts';
import { generator } from './members.ts';

/** HalfSipHash as defined, with 64 bits of output. */
function halfSipHash(key: Buffer, message: Buffer, rounds: readonly [number, number]): Buffer {
  const k0 = key.readInt32LE(0);
  const k1 = key.readInt32LE(4);
  const v = new Int32Array([k0, k1 ^ 0xee, k0 ^ 0x6c796765, k1 ^ 0x74656462]);
  const rotate = (index: number, by: number) => {
    v[index] = (v[index]! << by) | (v[index]! >>> (32 - by));
  };
  const half = (a: number, b: number, by: number) => {
    v[a]! += v[b]!;
    rotate(b, by);
    v[b]! ^= v[a]!;
  };
  const mix = (count: number) => {
    for (let round = 0; round < count; round++) {
      half(0, 1, 5);
      rotate(0, 16);
      half(2, 3, 8);
      half(0, 3, 7);
      half(2, 1, 13);
      rotate(2, 16);
    }
  };
  const padded = Buffer.alloc((message.length & ~3) + 4);
  message.copy(padded);
  padded[padded.length - 1] = message.length;
  for (let at = 0; at < padded.length; at += 4) {
    v[3]! ^= padded.readInt32LE(at);
    mix(rounds[0]);
    v[0]! ^= padded.readInt32LE(at);
  }
  v[2]! ^= 0xee;
  mix(rounds[1]);
  const result = Buffer.alloc(8);
  result.writeInt32LE(v[1]! ^ v[3]!, 0);
  v[1]! ^= 0xdd;
  mix(rounds[1]);
  result.writeInt32LE(v[1]! ^ v[3]!, 4);
  return result;
}

function entryOf(key: string, value: string, type = ''): Mutation {
  const entry = new Mutation();
  entry.key.copyFrom(span(key));
  entry.value.copyFrom(span(value));
  entry.contentType.copyFrom(span(type));
  return entry;
}

function hashOf(entry: Mutation, key = Buffer.from('0123abcd')): string {
  const hash = new EntryHash(key);
  hash.hash(entry);
  const bytes = Buffer.alloc(8);
  bytes.writeInt32LE(hash.low, 0);
  bytes.writeInt32LE(hash.high, 4);
  return bytes.toString('hex');
}

/** Returns a span of equal bytes with others before and after them, also as words. */
function embedded(content: Span): Span {
  const bytes = content.toBuffer();
  const words = new Int32Array(bytes.length + 4).fill(-1);
  const around = Buffer.from(words.buffer);
  around.set(bytes, 8);
  const moved = span('').set(around, 8, 8 + bytes.length);
  moved.words = words;
  return moved;
}

describe('EntryHash', () => {
  it('is HalfSipHash-1-3 of lengths, lifetime, key, value and content type', () => {
    const known = Buffer.from('0001020304050607', 'hex');
    assert.equal(halfSipHash(known, Buffer.alloc(0), [2, 4]).toString('hex'), '218d1f59b9b83cc8');
    const entry = entryOf('a key', 'a value that is longer', 'text/plain');
    entry.expiryMs = 1_700_000_123_456;
    entry.maxIdleSeconds = 77;
    const head = Buffer.alloc(24);
    for (const [at, length] of [5, 22, 10].entries()) head.writeInt32LE(length, at * 4);
    head.writeBigInt64LE(1_700_000_123_456n, 12);
    head.writeInt32LE(77, 20);
    const padded = ['a key\0\0\0', 'a value that is longer\0\0', 'text/plain\0\0'];
    const message = Buffer.concat([head, ...padded.map((each) => Buffer.from(each))]);
    const key = Buffer.from('0123abcd');
    assert.equal(hashOf(entry, key), halfSipHash(key, message, [1, 3]).toString('hex'));
  });

  it('does not depend on the position of the bytes', () => {
    for (let length = 0; length < 20; length++) {
      const entry = entryOf('k'.repeat(length), 'v'.repeat(19 - length), 't'.repeat(length >> 1));
      const moved = new Mutation();
      for (const name of ['key', 'value', 'contentType'] as const) {
        moved[name].copyFrom(embedded(entry[name]));
      }
      assert.equal(hashOf(moved), hashOf(entry), `${length}`);
      assert.equal(new LeafOf().leaf(moved.key, 15), new LeafOf().leaf(entry.key, 15));
    }
  });

  it('depends on each field, on the boundaries between them, and on the key', () => {
    const texts = [
      ['ab', 'c', 'd'],
      ['a', 'bc', 'd'],
      ['ab', '', 'cd'],
      ['ab', 'c', 'e'],
      ['ab', 'c\0', 'd'],
    ] as const;
    const hashes = texts.map(([key, value, type]) => hashOf(entryOf(key, value, type)));
    hashes.push(hashOf(entryOf('ab', 'c', 'd'), Buffer.from('0123abce')));
    for (const [name, value] of [
      ['expiryMs', 1],
      ['expiryMs', 2 ** 32],
      ['maxIdleSeconds', 1],
    ] as const) {
      const entry = entryOf('ab', 'c', 'd');
      entry[name] = value;
      hashes.push(hashOf(entry));
    }
    assert.equal(new Set(hashes).size, hashes.length);
  });
});

describe('PartitionTree', () => {
  it('has in each node the sum of the hashes below it, in any order', () => {
    const random = generator(3);
    const added = Array.from({ length: 2000 }, () => ({
      leaf: Math.floor(random() * 16),
      low: Math.floor(random() * 2 ** 32) | 0,
      high: Math.floor(random() * 2 ** 32) | 0,
    }));
    const tree = new PartitionTree(4, true);
    const other = new PartitionTree(4, false);
    for (const { leaf, low, high } of added) tree.add(leaf, low, high);
    for (const { leaf, low, high } of added.toReversed()) other.add(leaf, low, high);
    for (let level = 0; level <= 4; level++) {
      for (let index = 0; index < 2 ** level; index++) {
        const below = added.filter(({ leaf }) => leaf >> (4 - level) === index);
        const sum = below.reduce(
          (all, { low, high }) => all + BigInt(low >>> 0) + (BigInt(high >>> 0) << 32n),
          0n,
        );
        for (const { low, high } of [tree.sum(level, index), other.sum(level, index)]) {
          assert.equal(BigInt(low) + (BigInt(high) << 32n), sum % 2n ** 64n);
        }
        if (level === 4) assert.equal(tree.counts?.[index], below.length);
      }
    }
  });
});
