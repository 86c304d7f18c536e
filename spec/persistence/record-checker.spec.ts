/** The records that the thread finds valid, compared with a check of each record. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { type Viewed, viewed } from '../../src/base/copy-bytes.ts';
import { Mutation, SET } from '../../src/engine/mutation.ts';
import { RecordChecker } from '../../src/persistence/record-checker.ts';
import { checkRecord, writeMutation } from '../../src/persistence/record-codec.ts';

const BYTES = 65_536;
const SEED = 12_345;
const FROM = 32;

const checker = new RecordChecker();
after(() => checker.close());

function pageOf(bytes: number): Viewed {
  return viewed(Buffer.from(new SharedArrayBuffer(bytes)));
}

/** Writes records and returns the offset after them. */
function fill(page: Viewed, random: Random): number {
  const mutation = new Mutation();
  mutation.operation = SET;
  let at = FROM;
  while (at < BYTES - 2000) {
    const value = Buffer.from(random.bytes(random.below(300)));
    mutation.value.set(value, 0, value.length);
    at = writeMutation(page, at, mutation, SEED);
  }
  return at;
}

/** Returns the offset after the valid records, which are checked one by one. */
function validEnd(page: Viewed, end: number): number {
  let at = FROM;
  for (let paddedLength = 1; paddedLength > 0; at += paddedLength)
    paddedLength = checkRecord(page, at, end, SEED);
  return at;
}

test('records are valid up to the first with a wrong bit, in two segments at once', async () => {
  const random = new Random(21);
  const pages = [pageOf(BYTES), pageOf(BYTES)] as const;
  for (let round = 0; round < 100; round++) {
    const ends = pages.map((page) => {
      const end = fill(page, random);
      page.bytes.fill(0, end);
      page.bytes[FROM + random.below(end - FROM)]! ^= 1 << random.below(8);
      return validEnd(page, BYTES);
    });
    const found = pages.map((page) => checker.validEnd(page, FROM, BYTES, SEED));
    assert.deepEqual(await Promise.all(found), ends);
  }
});

test('a length that is too short, too long, or out of range ends the valid records', async () => {
  const page = pageOf(BYTES);
  for (const length of [0, 1, 35, 36, BYTES, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 8, 2 ** 32 - 1]) {
    const end = fill(page, new Random(22));
    page.view.setUint32(end + 4, length, true);
    assert.equal(await checker.validEnd(page, FROM, BYTES, SEED), end);
  }
  for (const end of [FROM, FROM + 4, FROM + 36]) {
    assert.equal(await checker.validEnd(page, FROM, end, SEED), FROM);
  }
});

test('no record is verified after the thread has ended', async () => {
  const ended = new RecordChecker();
  const page = pageOf(BYTES);
  const end = fill(page, new Random(23));
  const asked = ended.validEnd(page, FROM, BYTES, SEED);
  await ended.close();
  assert.ok([0, end].includes(await asked));
  assert.equal(await ended.validEnd(page, FROM, BYTES, SEED), 0);
});
