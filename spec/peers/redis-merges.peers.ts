/** Merges of sections on a real Redis or Valkey server; see engine/redis/merge-sections.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { SystemClock } from '../../src/base/clock.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { MergeRound } from '../engine/redis/merge-sections.ts';
import { serverForTests } from './engine-server.ts';
import { serverProgram } from './server-process.ts';
import { storeEngine } from './store-engines.ts';

const SEEDS = Number(process.env.MERGE_SEEDS ?? 10);
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const STEPS = 60;
/** No entry expires during the test. */
const EXPIRY_STEP_MS = 1_000_000_000;

const server = serverForTests();

test(`random sections are merged as by StoredEngine.merge on ${serverProgram()}, seed ${SEED}`, async () => {
  for (let seed = SEED; seed < SEED + SEEDS; seed++) {
    const options = { port: server.port, clusterName: `merges ${seed}` };
    const engines = [await storeEngine(options), await storeEngine(options)];
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
});
