/** Records in a page: written, verified and read back, with all lengths. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { Span } from '../../src/base/span.ts';
import { DELETE, Mutation, OFFER, REMOVE, RETURN, SET } from '../../src/engine/mutation.ts';
import { SummedMemory } from '../../src/persistence/checksum.ts';
import { Page } from '../../src/persistence/page.ts';
import {
  checkRecord,
  isMutation,
  MARK,
  PARTITION,
  readMutation,
  recordBytes,
  SKIPPED_TYPE_MIN,
  unknownIn,
  writeMutation,
} from '../../src/persistence/record-codec.ts';

const SEED = 12_345;

/** Sets the span to random bytes surrounded by others, aligned to a word if it has words. */
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
  if (random.below(3) === 0) mutation.maker = random.next() | 0;
  if (random.below(3) === 0) mutation.maxIdleSeconds = random.below(1000);
  if (random.below(3) === 0) {
    setRandom(mutation.path, random, 16 * (1 + random.below(16)), random.below(2) === 0);
  }
  const hasWords = random.below(2) === 0;
  for (const span of [mutation.name, mutation.key, mutation.contentType]) {
    setRandom(span, random, random.below(40), hasWords);
  }
  setRandom(mutation.value, random, random.below(random.below(2) === 0 ? 40 : 600), hasWords);
  return mutation;
}

function shown(mutation: Mutation): object {
  const { name, key, value, contentType, path, version, life, ...rest } = mutation;
  const bytes = [name, key, value, contentType, path].map((span) =>
    span.toBuffer().toString('hex'),
  );
  const words = [version.low, version.high, life.low, life.high];
  return { ...rest, bytes, words, replaced: undefined };
}

test('a record is read as it was written, and has the length recordBytes', () => {
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
      const paddedLength = checkRecord(page, at, end, SEED);
      assert.equal(paddedLength, recordBytes(mutation));
      assert.ok(isMutation(page, at));
      readMutation(page, at, read);
      assert.deepEqual(shown(read), shown(mutation));
      at += paddedLength;
    }
    assert.equal(at, end);
  }
});

test('a record is identical when written from bytes and from words, with zeros as padding', () => {
  const random = new Random(12);
  for (let count = 0; count < 200; count++) {
    const mutation = randomMutation(random);
    const one = new Page(4096);
    const other = new Page(4096);
    one.bytes.fill(0xff);
    other.bytes.fill(0);
    const end = writeMutation(one, 0, mutation, SEED);
    const { name, key, contentType, value, path } = mutation;
    for (const span of [name, key, contentType, value, path]) span.words = undefined;
    writeMutation(other, 0, mutation, SEED);
    assert.ok(one.bytes.subarray(0, end).equals(other.bytes.subarray(0, end)));
  }
});

/** Returns a mutation with a name of 3 bytes, a key of 5, a content type of 10 and a value of 9. */
function plainMutation(operation: typeof SET | typeof DELETE | typeof OFFER = SET): Mutation {
  const mutation = new Mutation();
  mutation.operation = operation;
  mutation.partition = 3;
  for (const [span, length] of [
    [mutation.name, 3],
    [mutation.key, 5],
    [mutation.contentType, 10],
    [mutation.value, 9],
  ] as const) {
    span.set(Buffer.alloc(length, 97), 0, length);
  }
  return mutation;
}

test('a record without a path has only the length of its fixed fields and spans', () => {
  const page = new Page(4096);
  const mutation = plainMutation();
  // 48 fixed; 4 + 8 + 12 for name, key and content type; 9 for the value: 81, padded to 88.
  assert.equal(recordBytes(mutation), 88);
  assert.equal(writeMutation(page, 0, mutation, SEED), 88);
  assert.equal(page.bytes[9], 0);
  assert.equal(page.bytes.subarray(48, 51).toString(), 'aaa');
  mutation.expiryMs = 1e12;
  assert.equal(recordBytes(mutation), 104);
  assert.equal(writeMutation(page, 0, mutation, SEED), 104);
  assert.equal(page.bytes[9], 1);
});

test('a path takes 4 bytes and 16 for each of up to 16 data sets, after the lifetime', () => {
  const page = new Page(4096);
  const mutation = plainMutation();
  const ids = new Random(14).bytes(17 * 16);
  for (const count of [1, 2, 15, 16]) {
    mutation.path.set(ids, 0, count * 16);
    assert.equal(recordBytes(mutation), (81 + 4 + count * 16 + 7) & ~7);
    assert.equal(writeMutation(page, 0, mutation, SEED), recordBytes(mutation));
    assert.equal(page.bytes[9], 2);
    assert.equal(page.words[12], count);
    assert.ok(page.bytes.subarray(52, 52 + count * 16).equals(ids.subarray(0, count * 16)));
  }
  mutation.maxIdleSeconds = 7;
  writeMutation(page, 0, mutation, SEED);
  assert.equal(page.bytes[9], 3);
  assert.equal(page.words[16], 16);
  for (const length of [17 * 16, 15]) {
    mutation.path.set(ids, 0, length);
    assert.throws(() => recordBytes(mutation), { name: 'AssertionError' });
  }
});

test('a mutation that is read does not keep the path of the previous one', () => {
  const page = new Page(4096);
  const mutation = plainMutation();
  mutation.path.set(Buffer.alloc(32, 1), 0, 32);
  const end = writeMutation(page, 0, mutation, SEED);
  writeMutation(page, end, plainMutation(OFFER), SEED);
  const read = new Mutation();
  readMutation(page, 0, read);
  assert.equal(read.path.length, 32);
  readMutation(page, end, read);
  assert.equal(read.path.length, 0);
});

test('a record whose path has no data set, or more than 16, is not a mutation', () => {
  const page = new Page(4096);
  const mutation = plainMutation();
  mutation.path.set(Buffer.alloc(32, 1), 0, 32);
  // 8 is within the limit, but not within the record.
  for (const count of [0, 8, 17, -1, 2 ** 31 - 1]) {
    writeMutation(page, 0, mutation, SEED);
    page.words[12] = count;
    assert.equal(isMutation(page, 0), false);
  }
});

test('a record of an unknown type, or a mutation with unknown flags, is reported', () => {
  const page = new Page(4096);
  writeMutation(page, 0, plainMutation(), SEED);
  for (let type = 0; type < 256; type++) {
    page.bytes[8] = type;
    const isKnown = (type >= SET && type <= RETURN) || (type >= MARK && type <= PARTITION);
    assert.equal(unknownIn(page, 0), isKnown ? undefined : `type ${type}`);
    assert.ok(type < SKIPPED_TYPE_MIN || !isKnown);
  }
  for (const type of [SET, DELETE, REMOVE]) {
    page.bytes[8] = type;
    for (const flags of [16, 17, 24, 31, 128, 255]) {
      page.bytes[9] = flags;
      assert.equal(unknownIn(page, 0), `flags ${flags & ~15}`);
      assert.equal(isMutation(page, 0), false);
    }
  }
});

test('a record with lengths that do not fit into it is not a mutation', () => {
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
