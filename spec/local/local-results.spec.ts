/**
 * Results in the process that depend on the disk: when they are delivered, and their values if the
 * disk fails.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onDisk, seen } from './data-on-disk.ts';

test('a result is delivered when its data is on the disk', async () => {
  const { answers, sync, map } = onDisk();
  const results = [map.set('k', 'v'), map.get('k'), map.clear(), map.size()];
  assert.equal(map.getSync('k'), undefined);
  assert.deepEqual((await seen(...results)).slice(0, 3), ['delayed', 'delayed', 'delayed']);
  sync();
  assert.deepEqual((await seen(...results)).slice(1), ['v', undefined, 0]);
  assert.equal(answers.delayedCount, 0);
});

test('the refusal of a change is delivered when the entry that causes it is on the disk', async () => {
  const { sync, map } = onDisk();
  const results = [
    map.set('k', 'v'),
    map.set('k', 'w', { ifNoneMatch: '*' }),
    map.delete('k', { ifMatch: '"a"' }),
    map.add('k'),
  ];
  assert.deepEqual(await seen(...results), ['delayed', 'delayed', 'delayed', 'delayed']);
  sync();
  assert.deepEqual((await seen(...results)).slice(1), [undefined, false, 'VALUE_NO_NUMBER']);
});

test('a list passes no entry that a crash can undo', async () => {
  const { sync, map } = onDisk();
  const setting = map.set('k', 'v');
  const next = map.entries().next();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(await seen(next), ['delayed']);
  sync();
  await setting;
  assert.deepEqual(String((await next).value?.key), 'k');
});

test('no result is delivered while all are delayed', async () => {
  const { delay, sync, map } = onDisk();
  delay.delaysAll = true;
  const read = map.get('absent');
  sync();
  assert.deepEqual(await seen(read), ['delayed']);
  delay.delaysAll = false;
  sync();
  assert.equal(await read, undefined);
});

test('delayed results are not delivered when the disk fails', async () => {
  const { answers, sync, map, queue } = onDisk();
  await Promise.all([queue.offer('item'), Promise.resolve().then(sync)]);
  const results = [map.set('k', 'v'), queue.poll()];
  answers.failDelayed();
  assert.deepEqual(await seen(...results), ['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN']);
});

test('an item is returned if its poll is aborted before the disk has it', async () => {
  const { sync, queue } = onDisk();
  await Promise.all([queue.offer('item'), Promise.resolve().then(sync)]);
  const giving = new AbortController();
  const poll = queue.poll(0, giving);
  giving.abort(new Error('given up'));
  assert.deepEqual(await seen(poll), ['given up']);
  sync();
  const again = queue.poll();
  sync();
  assert.equal(String((await again)?.value), 'item');
});
