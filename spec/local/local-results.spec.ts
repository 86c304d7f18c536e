/**
 * Results in the process that depend on the disk: when they are delivered, and their values if the
 * disk fails.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { ADMITTED, type MutationSink } from '../../src/engine/mutation-sink.ts';
import { GridMap } from '../../src/local/grid-map.ts';
import { GridQueue } from '../../src/local/grid-queue.ts';
import { LocalData } from '../../src/local/local-data.ts';
import { LocalResults } from '../../src/local/local-results.ts';
import { PlainBytes } from '../../src/local/plain-bytes.ts';
import { FakeClock } from '../fake-clock.ts';

/** Maps and queues on an engine whose disk syncs on command. */
function onDisk() {
  let isDurable = false;
  const sink: MutationSink = {
    admit: () => ADMITTED,
    abandon() {},
    record() {
      isDurable = false;
    },
    durable: () => (isDurable ? Number.POSITIVE_INFINITY : 0),
  };
  const engine = new EmbeddedEngine({
    ...{ partitionCount: 3, clock: new FakeClock(), sinks: [sink] },
    queueCapacity: () => 10,
  });
  const delay = {
    delaysAll: false,
    delays: (partition: number, sequence: number) => engine.delays(partition, sequence),
    sequences: () => engine.sequences(),
  };
  const answers = new LocalResults(delay);
  const data = new LocalData({
    ...{ engine, answers, cluster: { acceptsWrites: true, isCutOff: false }, waiting: new Set() },
    lifetimes: { of: () => ({ timeToLiveMs: 0, maxIdleSeconds: 0 }) },
  });
  const name = new PlainBytes('name', 10).of('n');
  const sync = () => {
    isDurable = true;
    answers.release();
  };
  return { answers, delay, sync, map: new GridMap(data, name), queue: new GridQueue(data, name) };
}

/** Returns the current state of promises: `delayed`, or the values they settled with. */
async function seen(...promises: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = promises.map((promise) =>
    promise.then(
      (value) => (value as { value?: Buffer })?.value?.toString() ?? value,
      (error) => error.code ?? error.message,
    ),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return Promise.all(settled.map((each) => Promise.race([each, Promise.resolve('delayed')])));
}

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
