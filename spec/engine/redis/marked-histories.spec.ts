/**
 * Covers src/engine/redis/marked-maps.ts and src/engine/redis/map-clears.ts. Random histories, which
 * MARK_SEEDS lengthens; MARK_SEED is the first seed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { fakeStore } from '../../world/world-engines.ts';
import { engineOf } from '../embedded/components-of.ts';
import { joinedMember } from './joined-member.ts';
import { MarkedRound } from './marked-rounds.ts';

const SEEDS = Number(process.env.MARK_SEEDS ?? 10);
const FIRST_SEED = Number(process.env.MARK_SEED ?? 1);
const STEPS = 60;
const MEMBERS = 3;
const OPTIONS = { partitionCount: 3, deadlineMs: 500, onFault() {}, onRefused() {} };
/** Time in which the oldest member continues each clear. */
const ROUND_MS = 12_000;

async function runRound(seed: number, hasFaults: boolean): Promise<MarkedRound> {
  const world = new World(seed);
  world.clock.setWall(1_700_000_000_000);
  const server = new FakeServer(world);
  const engines = Array.from(
    { length: MEMBERS },
    () => fakeStore(world, server.url, OPTIONS).engine,
  );
  const { engine: target } = engineOf({ partitionCount: 3, clock: world.clock });
  const round = new MarkedRound({
    random: new Random(seed),
    server,
    engines,
    target,
    hasFaults,
    lifetimeMs: 200,
    now: () => world.clock.wall(),
    sleep: (ms) => world.sleep(ms),
  });
  await world.during(
    (async () => {
      for (const engine of engines) await engine.open();
      await round.run(STEPS);
      const settings = { uuid: 'a', leaseMs: 10_000 };
      const member = await joinedMember(engines[0]!, world.clock, settings);
      await world.sleep(ROUND_MS);
      await round.finish();
      await member.cluster.leave();
      for (const engine of engines) await engine.close();
    })(),
  );
  return round;
}

for (const hasFaults of [false, true]) {
  const title = hasFaults ? 'with faults at the same time' : 'one change after another';
  test(`random changes, ${title}, are all marked and end equal elsewhere`, async () => {
    const outcomes = new Map<number, number>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      try {
        const round = await runRound(seed, hasFaults);
        for (const [outcome, count] of round.outcomes) {
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
        }
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    // APPLIED; REFUSED, or UNREACHABLE and UNKNOWN.
    for (const outcome of hasFaults ? [3, 6, 9] : [3, 8, 11, 14]) {
      assert.ok(outcomes.has(outcome) || SEEDS < 10, `${outcome}`);
    }
  });
}
