/** Merges of sections on a real Redis or Valkey server; see engine/redis/merge-sections.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { SystemClock } from '../../src/base/clock.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { APPLIED, MEMORY_FULL } from '../../src/engine/engine.ts';
import { CLEAR, DELETE, SET } from '../../src/engine/mutation.ts';
import { changeOf } from '../engine/changes.ts';
import { eventsOf, MergeRound, sectionOf } from '../engine/redis/merge-sections.ts';
import { Asker } from '../engine/results.ts';
import { serverForTests } from './engine-server.ts';
import { sendCommand, startCluster } from './server-group.ts';
import { serverProgram } from './server-process.ts';
import { type StoreEngineOptions, storeEngine } from './store-engines.ts';

const SEEDS = Number(process.env.MERGE_SEEDS ?? 10);
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const STEPS = 60;
/** No entry expires during the test. */
const EXPIRY_STEP_MS = 1_000_000_000;

const server = serverForTests();

/** Merges random sections by engines with these options, each seed in a cluster of its own. */
async function runRounds(options: StoreEngineOptions, seeds: number): Promise<void> {
  for (let seed = SEED; seed < SEED + seeds; seed++) {
    const named = { ...options, clusterName: `merges ${seed}` };
    const engines = [await storeEngine(named), await storeEngine(named)];
    const oracle = new EmbeddedEngine({
      clock: new SystemClock(),
      partitionCount: 3,
      queueCapacity: () => 0,
    });
    const round = new MergeRound({
      random: new Random(seed),
      engines,
      oracle,
      now: () => Date.now(),
      expiryStepMs: EXPIRY_STEP_MS,
      pass: () => sleep(1),
    });
    await round.run(STEPS);
    assert.ok(round.outcomes.size > 2);
    for (const engine of [...engines, oracle]) await engine.close();
  }
}

test(`random sections are merged as by StoredEngine.merge on ${serverProgram()}, seed ${SEED}`, () =>
  runRounds({ port: server.port }, SEEDS));

test(`random sections are merged as by StoredEngine.merge on a Cluster, seed ${SEED}`, async () => {
  const group = await startCluster();
  try {
    await runRounds({ url: group.url, mapReplicaCount: () => 1 }, Math.ceil(SEEDS / 3));
  } finally {
    await group.end();
  }
});

test('a full server takes deletes, those before a set, and clears in steps', async () => {
  const options = { port: server.port, partitionCount: 1, clusterName: 'full' };
  const engine = await storeEngine({ ...options, onRefused: () => {} });
  const asker = new Asker(engine);
  const sets = Array.from({ length: 2000 }, (_, at) =>
    changeOf(SET, { key: `k${at}`, version: 10 + (at % 2), value: 'v'.repeat(100) }),
  );
  assert.equal((await engine.mergeSection(sectionOf(eventsOf(sets)))).outcome, APPLIED);
  await sendCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '1');
  const removals = ['k0', 'k1'].map((key) => changeOf(DELETE, { key, version: 20 }));
  const changes = [...removals, changeOf(SET, { key: 'new', version: 21 })];
  const section = sectionOf(eventsOf(changes, 1), { lane: 1 });
  assert.equal((await engine.mergeSection(section)).outcome, MEMORY_FULL);
  assert.equal((await asker.size('m')).count, 1998);
  const clear = sectionOf(eventsOf([changeOf(CLEAR, { version: 10 })], 1), { lane: 2 });
  assert.equal((await engine.mergeSection(clear)).outcome, APPLIED);
  assert.equal((await asker.size('m')).count, 999);
  await sendCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '0');
  assert.equal((await engine.mergeSection(section)).outcome, APPLIED);
  assert.equal((await asker.size('m')).count, 1000);
  await engine.close();
});
