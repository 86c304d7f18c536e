/** Records in a page: written, checked and read again, whatever their lengths. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { Span } from '../../src/base/span.ts';
import { Mutation, OFFER, SET } from '../../src/engine/mutation.ts';
import { SummedMemory } from '../../src/persistence/checksum.ts';
import {
  checkRecord,
  isMutation,
  Page,
  readMutation,
  recordBytes,
  writeMutation,
} from '../../src/persistence/record-codec.ts';

const SEED = 12_345;

/** Sets the span to random bytes, with others around them; at a whole word where it has words. */
function setRandom(span: Span, random: Random, length: number, hasWords: boolean): void {
  const page = new Page((length + 24) & ~7);
  page.bytes.set(random.bytes(page.bytes.length));
  const start = hasWords ? 4 : 3;
  span.set(page.bytes, start, start + length);
  if (hasWords) span.words = page.words;
}

function randomMutation(random: Random): Mutation {
  const mutation = new Mutation();
  mutation.operation = random.below(2) === 0 ? SET : OFFER;
  mutation.partition = random.below(271);
  mutation.sequence = random.next() * 1000;
  mutation.version.set(random.next(), random.next());
  if (mutation.operation === OFFER) mutation.item = random.next() * 1000;
  else mutation.life.set(random.next(), random.next());
  if (random.below(3) === 0) mutation.expiryMs = 1e12 + random.next();
  if (random.below(3) === 0) mutation.maxIdleSeconds = random.below(1000);
  const hasWords = random.below(2) === 0;
  for (const span of [mutation.name, mutation.key, mutation.contentType]) {
    setRandom(span, random, random.below(40), hasWords);
  }
  setRandom(mutation.value, random, random.below(random.below(2) === 0 ? 40 : 600), hasWords);
  return mutation;
}

function shown(mutation: Mutation): object {
  const { name, key, value, contentType, version, life, ...rest } = mutation;
  const bytes = [name, key, value, contentType].map((span) => span.toBuffer().toString('hex'));
  const words = [version.low, version.high, life.low, life.high];
  return { ...rest, bytes, words, replaced: undefined };
}

test('a record is read as it was written, and takes recordBytes', () => {
  const random = new Random(11);
  for (const isKept of [true, false]) {
    const page = new Page(65_536, isKept ? new SummedMemory(65_536) : undefined);
    page.bytes.fill(0xff);
    const written: Mutation[] = [];
    let end = 0;
    for (let count = 0; count < 60; count++) {
      const mutation = randomMutation(random);
      const next = writeMutation(page, end, mutation, SEED);
      assert.equal(next - end, recordBytes(mutation));
      written.push(mutation);
      end = next;
    }
    const read = new Mutation();
    let at = 0;
    for (const mutation of written) {
      const taken = checkRecord(page, at, end, SEED);
      assert.equal(taken, recordBytes(mutation));
      assert.ok(isMutation(page, at));
      readMutation(page, at, read);
      assert.deepEqual(shown(read), shown(mutation));
      at += taken;
    }
    assert.equal(at, end);
  }
});

test('a record is written the same from bytes and from words, its filling zero', () => {
  const random = new Random(12);
  for (let count = 0; count < 200; count++) {
    const mutation = randomMutation(random);
    const [one, other] = [new Page(4096), new Page(4096)];
    one.bytes.fill(0xff);
    other.bytes.fill(0);
    const end = writeMutation(one, 0, mutation, SEED);
    for (const span of [mutation.name, mutation.key, mutation.contentType, mutation.value]) {
      span.words = undefined;
    }
    writeMutation(other, 0, mutation, SEED);
    assert.ok(one.bytes.subarray(0, end).equals(other.bytes.subarray(0, end)));
  }
});

test('a record with lengths that do not fit into it is no mutation', () => {
  const page = new Page(4096);
  const mutation = randomMutation(new Random(13));
  for (const field of [7, 8, 9]) {
    for (const length of [4096, 2 ** 31 - 1, -1, -(2 ** 31)]) {
      writeMutation(page, 0, mutation, SEED);
      page.words[field] = length;
      assert.equal(isMutation(page, 0), false);
    }
  }
});
