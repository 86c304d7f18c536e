/**
 * Covers src/persistence/record-codec.ts and src/engine/change-codec.ts. Records: written, verified and
 * read back, with all lengths; each field lies where the description of the layout says.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { Random } from '../../bench/harness.ts';
import { ViewedBytes, viewed } from '../../src/base/copy-bytes.ts';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import type { Span } from '../../src/base/span.ts';
import { readChange } from '../../src/engine/change-codec.ts';
import { CLEAR, DELETE, Mutation, OFFER, REMOVE, RETURN, SET } from '../../src/engine/mutation.ts';
import {
  checkRecord,
  MARK,
  PARTITION,
  readMutation,
  recordBytes,
  reseal,
  SEAL,
  SKIPPED_TYPE_MIN,
  unknownIn,
  writeControlRecord,
  writeMutation,
} from '../../src/persistence/record-codec.ts';
import { double, fields } from '../packed-fields.ts';

const SEED = 12_345;
/** Offset of the change in its record. */
const CHANGE = 4;

/** Sets the span to random bytes surrounded by others, aligned to a word if it has words. */
function setRandom(span: Span, random: Random, length: number, hasWords: boolean): void {
  const memory = new ViewedBytes((length + 24) & ~7);
  memory.bytes.set(random.bytes(memory.length));
  const start = hasWords ? 4 : 3;
  span.set(memory.bytes, start, start + length);
  if (hasWords) span.words = new Int32Array(memory.bytes.buffer);
}

function randomMutation(random: Random): Mutation {
  const mutation = new Mutation();
  mutation.operation = random.below(2) === 0 ? SET : OFFER;
  mutation.partition = random.below(271);
  mutation.sequence = random.next() * 1000;
  mutation.version.set(random.next(), random.next());
  if (mutation.operation === OFFER) mutation.item = random.next() * 1000;
  else mutation.life.set(random.next(), random.next());
  const isSet = mutation.operation === SET;
  if (isSet && random.below(3) === 0) mutation.expiryMs = 1e12 + random.next();
  if (random.below(3) === 0) mutation.maker = random.next() | 0;
  if (isSet && random.below(3) === 0) mutation.maxIdleSeconds = random.below(1000);
  if (isSet && random.below(3) === 0) mutation.hits = random.next();
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
  const page = new ViewedBytes(65_536);
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
    assert.ok(readMutation(page, at, read));
    assert.deepEqual(shown(read), shown(mutation));
    at += paddedLength;
  }
  assert.equal(at, end);
});

test('a record is identical when written from bytes and from words, with zeros as padding', () => {
  const random = new Random(12);
  for (let count = 0; count < 200; count++) {
    const mutation = randomMutation(random);
    const one = new ViewedBytes(4096);
    const other = new ViewedBytes(4096);
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

/** A record whose change has these bytes. */
function recordOf(change: Buffer): Buffer {
  const record = Buffer.alloc((CHANGE + change.length + 7) & ~7);
  change.copy(record, CHANGE);
  record.writeUInt32LE(crc32(record.subarray(CHANGE), SEED));
  return record;
}

function writtenBy(mutation: Mutation): Buffer {
  const page = new ViewedBytes(4096);
  return page.bytes.subarray(0, writeMutation(page, 0, mutation, SEED));
}

test('a set with every field has each where the description says', () => {
  const mutation = plainMutation();
  const ids = Buffer.from(new Random(14).bytes(32));
  mutation.sequence = 0x1234_5678_9abc;
  mutation.version.set(-2, 77);
  mutation.life.set(-3, 78);
  mutation.expiryMs = 1e12;
  mutation.maxIdleSeconds = 60;
  mutation.hits = 2 ** 31 + 5;
  mutation.lastAccessSeconds = 1_700_000_000;
  mutation.maker = -5;
  mutation.path.set(ids, 0, 32);
  const [named, typed] = [Buffer.alloc(8, 97), Buffer.alloc(19, 97)];
  const change = fields(
    [4, 139],
    [1, SET],
    [1, 63],
    [1, 0],
    [1, 2],
    [4, -2],
    [4, 77],
    [4, 3],
    [4, 5],
    [4, 10],
    [6, 0x1234_5678_9abc],
    [2, 3],
    [4, -3],
    [4, 78],
    double(1e12),
    [4, 60],
    [4, 2 ** 31 + 5],
    [4, 1_700_000_000],
    [4, -5],
    ids,
    named,
    typed,
  );
  change.writeUInt32LE(change.length);
  assert.deepEqual(writtenBy(mutation), recordOf(change));
});

test('a change without optional fields has 28 bytes, its place and its spans', () => {
  const names = Buffer.alloc(27, 97);
  const place = [[6, 0] as const, [2, 3] as const] as const;
  const lengths = [[4, 3] as const, [4, 5] as const, [4, 10] as const] as const;
  for (const [operation, flags, own] of [
    [SET, 1, Buffer.alloc(0)],
    [DELETE, 1, Buffer.alloc(0)],
    [OFFER, 3, double(0)],
  ] as const) {
    const head = [[4, 63 + own.length] as const, [1, operation] as const, [1, flags] as const];
    const change = fields(...head, [2, 0], [8, 0], ...lengths, ...place, own, names);
    const mutation = plainMutation(operation);
    assert.deepEqual(writtenBy(mutation), recordOf(change));
    assert.equal(recordBytes(mutation), (CHANGE + 63 + own.length + 7) & ~7);
  }
});

test('a clear of every partition has the partition 65535, and the version of its tombstone', () => {
  const mutation = new Mutation();
  mutation.operation = CLEAR;
  mutation.partition = EVERY_PARTITION;
  mutation.sequence = 9;
  mutation.tombstone.set(5, 6);
  mutation.name.set(Buffer.from('m'), 0, 1);
  const head = fields([4, 45], [1, CLEAR], [1, 17], [2, 0], [8, 0], [4, 1], [8, 0]);
  const change = Buffer.concat([
    head,
    fields([6, 9], [2, 65_535], [4, 5], [4, 6]),
    Buffer.from('m'),
  ]);
  assert.deepEqual(writtenBy(mutation), recordOf(change));
  const read = new Mutation();
  assert.ok(readMutation(viewed(writtenBy(mutation)), 0, read));
  assert.deepEqual(shown(read), shown(mutation));
});

test('MARK, SEAL and PARTITION have 40 bytes: length, type, version and place', () => {
  for (const type of [MARK, SEAL, PARTITION] as const) {
    const page = new ViewedBytes(64);
    page.bytes.fill(0xff);
    assert.equal(writeControlRecord(page, 0, type, 7, 2 ** 33, { low: 5, high: 6 }, SEED), 40);
    const head = fields([4, 36], [1, type], [1, 1], [2, 0], [4, 5], [4, 6], [8, 0], [4, 0]);
    const change = Buffer.concat([head, fields([6, 2 ** 33], [2, 7])]);
    assert.deepEqual(page.bytes.subarray(0, 40), recordOf(change));
    assert.equal(checkRecord(page, 0, 40, SEED), 40);
    assert.equal(readMutation(page, 0, new Mutation()), false);
  }
});

test('a path has at most 16 data sets, all of them whole', () => {
  const mutation = plainMutation();
  const ids = Buffer.from(new Random(14).bytes(17 * 16));
  for (const count of [1, 2, 15, 16]) {
    mutation.path.set(ids, 0, count * 16);
    const record = writtenBy(mutation);
    assert.equal(record[CHANGE + 7], count);
    assert.ok(record.subarray(40, 40 + count * 16).equals(ids.subarray(0, count * 16)));
  }
  for (const length of [17 * 16, 15]) {
    mutation.path.set(ids, 0, length);
    assert.throws(() => writtenBy(mutation), { name: 'AssertionError' });
  }
});

test('a mutation that is read does not keep a field of the previous one', () => {
  const random = new Random(15);
  const read = new Mutation();
  for (let count = 0; count < 500; count++) {
    const mutation = randomMutation(random);
    assert.ok(readMutation(viewed(writtenBy(mutation)), 0, read));
    assert.deepEqual(shown(read), shown(mutation));
  }
});

test('a change that is cut anywhere, or whose lengths do not fit, is not read', () => {
  const random = new Random(16);
  for (let count = 0; count < 100; count++) {
    const record = writtenBy(randomMutation(random));
    const length = record.readUInt32LE(CHANGE);
    const read = new Mutation();
    for (let end = 0; end < length; end++) {
      assert.equal(readChange(viewed(record), CHANGE, CHANGE + end, read), -1);
    }
    assert.equal(readChange(viewed(record), CHANGE, CHANGE + length, read), CHANGE + length);
    for (const at of [CHANGE, CHANGE + 16, CHANGE + 20, CHANGE + 24]) {
      for (const wrong of [4096, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
        const damaged = Buffer.from(record);
        damaged.writeUInt32LE(wrong, at);
        assert.equal(readMutation(viewed(damaged), 0, read), false);
      }
    }
    for (const wrong of [17, 255]) {
      const damaged = Buffer.from(record);
      damaged[CHANGE + 7] = wrong;
      assert.equal(readMutation(viewed(damaged), 0, read), false);
    }
  }
});

test('a key and a value are read up to the limits of an engine', () => {
  const read = new Mutation();
  // The bytes are reserved, but not touched.
  const from = new ViewedBytes(2 ** 30 + 2 ** 24 + 64);
  const lengthOf = (keyBytes: number, valueBytes: number): number => {
    const length = 28 + keyBytes + valueBytes;
    from.bytes.fill(0, 0, 28);
    from.view.setUint32(0, length, true);
    from.bytes[4] = SET;
    from.view.setUint32(20, keyBytes, true);
    return readChange(from, 0, length, read);
  };
  assert.equal(lengthOf(2 ** 24 - 1, 0), 28 + 2 ** 24 - 1);
  assert.equal(lengthOf(2 ** 24, 0), -1);
  assert.equal(lengthOf(0, 2 ** 30), 28 + 2 ** 30);
  assert.equal(lengthOf(0, 2 ** 30 + 1), -1);
});

test('a lifetime or an item out of its range is not read', () => {
  const read = new Mutation();
  const withDouble = (value: number, mutation: Mutation): boolean => {
    const record = writtenBy(mutation);
    record.writeDoubleLE(value, 40);
    return readMutation(viewed(record), 0, read);
  };
  const expiring = plainMutation();
  expiring.expiryMs = 1e12;
  const offered = plainMutation(OFFER);
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
    assert.equal(withDouble(value, expiring), false);
    assert.equal(withDouble(value, offered), false);
  }
  assert.deepEqual([withDouble(0, expiring), withDouble(-1, expiring)], [false, false]);
  assert.deepEqual([withDouble(1.5, offered), withDouble(1.5, expiring)], [false, true]);
  const idle = plainMutation();
  idle.maxIdleSeconds = 1;
  for (const [seconds, isValid] of [
    [0, false],
    [1, true],
    [2 ** 31 - 1, true],
    [2 ** 31, false],
  ] as const) {
    const record = writtenBy(idle);
    record.writeUInt32LE(seconds, 40);
    assert.equal(readMutation(viewed(record), 0, read), isValid);
  }
});

test('a record of an unknown type, or a mutation with unknown fields, is reported', () => {
  const page = new ViewedBytes(4096);
  writeMutation(page, 0, plainMutation(), SEED);
  for (let type = 0; type < 256; type++) {
    page.bytes[8] = type;
    const isKnown = (type >= SET && type <= RETURN) || (type >= MARK && type <= PARTITION);
    assert.equal(unknownIn(page, 0), isKnown ? undefined : `type ${type}`);
    assert.ok(type < SKIPPED_TYPE_MIN || !isKnown);
  }
  for (const type of [SET, DELETE, REMOVE]) {
    page.bytes[8] = type;
    for (const own of [64, 65, 127, 128, 255]) {
      page.bytes[9] = own;
      assert.equal(unknownIn(page, 0), `fields ${own & ~63}`);
      assert.equal(readMutation(page, 0, new Mutation()), false);
    }
  }
});

test('a record without a place is not a mutation', () => {
  const page = new ViewedBytes(4096);
  const end = writeMutation(page, 0, plainMutation(), SEED);
  page.bytes[9] = 0;
  assert.equal(reseal(page, 0, SEED), end);
  assert.equal(checkRecord(page, 0, end, SEED), end);
  assert.equal(readMutation(page, 0, new Mutation()), false);
});
