/** Random changes that are marked, on a real Redis or Valkey server; see engine/redis/marked-rounds.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { SystemClock } from '../../src/base/clock.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { APPLIED, MEMORY_FULL } from '../../src/engine/engine.ts';
import { publisherOf, referencesTo } from '../engine/marked.ts';
import { MarkedRound } from '../engine/redis/marked-rounds.ts';
import { Asker } from '../engine/results.ts';
import { serverForTests } from './engine-server.ts';
import { sendCommand, startCluster } from './server-group.ts';
import { serverProgram } from './server-process.ts';
import { type StoreEngineOptions, storeEngine } from './store-engines.ts';

const SEEDS = Number(process.env.MARK_SEEDS ?? 10);
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const STEPS = 60;
/** No entry expires during the test. */
const LIFETIME_MS = 1_000_000_000;
const LONG_KEYS = 500;

const server = serverForTests();

async function runRounds(options: StoreEngineOptions, seeds: number): Promise<void> {
  for (let seed = SEED; seed < SEED + seeds; seed++) {
    const named = { ...options, clusterName: `marks ${seed}`, partitionCount: 3 };
    const engines = [await storeEngine(named), await storeEngine(named)];
    const clock = new SystemClock();
    const target = new EmbeddedEngine({ clock, partitionCount: 3, queueCapacity: () => 0 });
    const round = new MarkedRound({
      random: new Random(seed),
      server: { script: () => undefined, run: () => null },
      engines,
      target,
      hasFaults: false,
      lifetimeMs: LIFETIME_MS,
      now: () => clock.wall(),
      sleep: () => sleep(1),
    });
    await round.run(STEPS);
    await round.finish();
    for (const engine of [...engines, target]) await engine.close();
  }
}

test(`random changes are marked and end equal elsewhere on ${serverProgram()}, seed ${SEED}`, () =>
  runRounds({ port: server.port }, SEEDS));

test(`random changes are marked and end equal elsewhere on a Cluster, seed ${SEED}`, async () => {
  const group = await startCluster();
  try {
    await runRounds({ url: group.url, mapReplicaCount: () => 1 }, Math.ceil(SEEDS / 3));
    const engine = await storeEngine({ url: group.url, mapReplicaCount: () => 1 });
    const asker = new Asker(engine);
    const publishers = ['p', 'q'].map((name) => publisherOf(name));
    engine.setReferences(referencesTo(publishers));
    for (let index = 0; index < LONG_KEYS; index++) await asker.set('m', `k${index}`, 'x');
    assert.equal(await engine.dropOthers([publishers[0]!.name]), LONG_KEYS);
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    assert.equal((await asker.size('m')).count, 0);
    await engine.close();
  } finally {
    await group.end();
  }
});

test('a full server takes deletes, sweeps and clears of maps whose changes are marked', async () => {
  const engine = await storeEngine({ port: server.port, partitionCount: 1, onRefused: () => {} });
  const asker = new Asker(engine);
  engine.setReferences(referencesTo([publisherOf('p')]));
  for (const key of ['a', 'b', 'c']) await asker.set('m', key, 'x');
  await asker.set('m', 'd', 'x', '', { timeToLiveMs: 1, maxIdleSeconds: 0 });
  await sendCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '1');
  await sleep(100);
  assert.equal((await asker.set('m', 'e', 'x')).outcome, MEMORY_FULL);
  assert.equal((await asker.delete('m', 'a')).outcome, APPLIED);
  assert.equal((await asker.size('m')).count, 2);
  assert.equal((await asker.clear('m')).outcome, APPLIED);
  assert.equal((await asker.size('m')).count, 0);
  await sendCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '0');
  await engine.close();
});
