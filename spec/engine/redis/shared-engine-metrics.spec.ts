import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { APPLIED, UNKNOWN, UNREACHABLE } from '../../../src/engine/engine.ts';
import { reportSharedEngine } from '../../../src/engine/redis/shared-engine-metrics.ts';
import { scraped } from '../../telemetry/scraped.ts';
import { CUT, FakeServer, replying, SILENCE } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import {
  DEADLINE_MS,
  type FakeStore,
  fakeStore,
  set,
  withStore,
} from '../../world/world-engines.ts';

const world = new World();
let server: FakeServer;
beforeEach(() => {
  server = new FakeServer(world);
});

/** Returns whether the engine is reachable, and the three counts. */
function figuresOf({ engine }: FakeStore): number[] {
  const series = scraped((to) => reportSharedEngine(to, engine));
  const names = [
    'reachable',
    'operations_under_way',
    'reconnections_total',
    'unknown_outcomes_total',
  ];
  assert.deepEqual(
    Object.keys(series),
    names.map((name) => `gridnode_engine_${name}`),
  );
  return Object.values(series);
}

test('An engine is reachable from its start to its end, and operations count until their result', async () => {
  const closed = fakeStore(world, server.url);
  assert.deepEqual(figuresOf(closed), [0, 0, 0, 0]);
  await withStore(world, server.url, {}, async (store) => {
    assert.deepEqual(figuresOf(store), [1, 0, 0, 0]);
    const outcomes = ['a', 'b', 'c'].map((key) => set(store.engine, key, 'v'));
    assert.deepEqual(figuresOf(store), [1, 3, 0, 0]);
    assert.deepEqual(await Promise.all(outcomes), [APPLIED, APPLIED, APPLIED]);
    assert.deepEqual(figuresOf(store), [1, 0, 0, 0]);
    await store.engine.close();
    assert.deepEqual(figuresOf(store), [0, 0, 0, 0]);
  });
});

test('A lost connection counts once, and the operation that was lost with it', async () => {
  server.script = replying('HSET', CUT, 1);
  await withStore(world, server.url, {}, async (store) => {
    assert.equal(await set(store.engine, 'key', '1'), UNKNOWN);
    assert.deepEqual(figuresOf(store).slice(1), [0, 1, 1]);
    assert.equal(await set(store.engine, 'key', '2'), APPLIED);
    assert.deepEqual(figuresOf(store), [1, 0, 1, 1]);
  });
});

test('Attempts to connect to a server that is away are not lost connections', async () => {
  await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async (store) => {
    server.stop();
    await world.sleep(50);
    const [isReachable, , lostCount] = figuresOf(store);
    assert.ok(isReachable === 0 && lostCount! > 0);
    assert.equal(await set(store.engine, 'key', '1'), UNREACHABLE);
    await world.sleep(20 * DEADLINE_MS);
    assert.deepEqual(figuresOf(store), [0, 0, lostCount, 0]);
    server.listen();
    await world.sleep(20 * DEADLINE_MS);
    assert.equal(await set(store.engine, 'key', '2'), APPLIED);
    assert.deepEqual(figuresOf(store), [1, 0, lostCount, 0]);
  });
});

test('An operation without a reply has an unknown outcome, one that was not sent has not', async () => {
  await withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async (store) => {
    server.script = () => SILENCE;
    assert.equal(await set(store.engine, 'a', '1'), UNKNOWN);
    assert.equal(figuresOf(store)[3], 1);
    await world.sleep(2 * DEADLINE_MS);
    assert.equal(await set(store.engine, 'a', '2'), UNREACHABLE);
    assert.equal(figuresOf(store)[3], 1);
  });
});
