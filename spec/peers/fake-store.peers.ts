/**
 * The fake server of spec/world gives the same replies as a real one: to random operations of an
 * engine, and to random commands and scripts. OPERATIONS sets their number, SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { FakeServer } from '../world/fake-server.ts';
import { World } from '../world/world.ts';
import { serverForTests } from './engine-server.ts';
import { commandRound } from './fake-store-commands.ts';
import { memberRound } from './fake-store-members.ts';
import { operationRound } from './fake-store-operations.ts';
import { serverProgram } from './server-process.ts';

const OPERATIONS = Number(process.env.OPERATIONS ?? 3000);
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);

const server = serverForTests();

for (const [name, round] of Object.entries({
  commands: commandRound,
  'steps of members': memberRound,
  'operations of an engine': operationRound,
})) {
  test(`${OPERATIONS} ${name} have the same results on ${serverProgram()}, seed ${SEED}`, async () => {
    const world = new World(SEED);
    // Times in arguments are far from the present, by either clock.
    world.clock.setWall(Date.now());
    const count = await round(new FakeServer(world), server.port, new Random(SEED), OPERATIONS);
    assert(count >= OPERATIONS);
  });
}
