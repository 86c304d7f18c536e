import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { LOG_END } from '../../src/persistence/log-end-file.ts';
import { LOG, NUMBER_MAX, parseSegmentName, segmentName } from '../../src/persistence/segment.ts';
import { segmentBytesFor } from '../../src/persistence/segment-supply.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { openPersistent, until } from './subject.ts';

const READY_COUNT = 2;

test('prepared segments that cannot follow a longer one are removed', async () => {
  const storage = new MemoryStorage(new Random(1), 'boot');
  const { ask, persistence, quiet } = await openPersistent(storage);
  await quiet();
  const first = persistence.log.segment;
  ask.set('m', 'k', Buffer.alloc(100_000, 'long'));
  await quiet();
  await until(persistence.log.sync(), quiet);
  await quiet();
  const names = await until(storage.list(), async () => storage.pump());
  const numbers = names
    .map(parseSegmentName)
    .flatMap((id) => (id === undefined ? [] : [id.number]));
  numbers.sort((a, b) => a - b);
  persistence.log.invariants();
  const { segment } = persistence.log;
  assert.ok(segment > first + READY_COUNT);
  const ready = numbers.filter((number) => number > segment);
  assert.deepEqual(
    names.filter((name) => name.startsWith('log') && name !== LOG_END).sort(),
    [first, segment, ...ready].map((number) => segmentName({ kind: LOG, number, part: 0 })),
  );
  assert.equal(ready.length, READY_COUNT);
});

test('a segment is a 32nd of the disk in whole mebibytes, within what recovery may read', () => {
  const mebibyte = 1_048_576;
  const lengthOn = (disk: number, read: number) =>
    segmentBytesFor(disk * mebibyte, read * mebibyte, 32 * mebibyte) / mebibyte;
  assert.deepEqual(
    [lengthOn(16, 32), lengthOn(255, 32), lengthOn(256, 32), lengthOn(256, 7.5), lengthOn(1e6, 64)],
    [1, 7, 8, 7, 32],
  );
});

test('the name of a segment has its number, from 1 to the maximum', () => {
  const nameOf = (number: number) => segmentName({ kind: LOG, number, part: 0 });
  for (const number of [1, NUMBER_MAX])
    assert.deepEqual(parseSegmentName(nameOf(number)), { kind: LOG, number, part: 0 });
  for (const number of [0, NUMBER_MAX + 1])
    assert.equal(parseSegmentName(nameOf(number)), undefined);
});
