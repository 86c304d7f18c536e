/**
 * Covers src/wan. Members that write at random and replicate over a network that loses, delays,
 * duplicates and reorders messages, with clocks that are apart or equal, and restarts,
 * synchronisations and checks. At the end all must have equal entries. `make soak` runs many seeds.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CLEAR, DELETE, SET } from '../../src/engine/mutation.ts';
import {
  generator,
  type Member,
  Network,
  OPTIONS,
  type Shape,
  shaped,
  untilIdle,
} from './members.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 2);
const FIRST = Number(process.env.WAN_SEED ?? 1);

describe('WanReplications over a network that loses, delays, duplicates and reorders', () => {
  for (const [name, shape, count] of [
    ['pair', 'ring', 2],
    ['chain', 'chain', 3],
    ['ring', 'ring', 3],
    ['mesh', 'mesh', 3],
  ] as const) {
    it(`make all members of a ${name} equal, seeds from ${FIRST} on`, async () => {
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        await simulate(shape, count, seed).catch((error: unknown) => {
          throw new Error(`Seed ${seed} failed`, { cause: error });
        });
      }
    });
  }
});

async function simulate(shape: Shape, count: number, seed: number): Promise<void> {
  const random = generator(seed * 1_000_003);
  const below = (count: number) => Math.floor(random() * count);
  const network = new Network();
  network.random = random;
  const clocks = below(2) === 0 ? [0, 0, 0] : [0, 10_000, -10_000];
  const options = {
    ...OPTIONS,
    batchSize: 1 + below(8),
    batchMaxDelayMs: 1 + below(50),
    snapshotEnabled: below(3) === 0,
    maxConcurrentInvocations: below(2) * 2,
    consistencyCheckStrategy: 'MERKLE_TREES' as const,
  };
  const members = shaped(network, shape, clocks.slice(0, count), options);
  const keys = below(2) === 0 ? 6 : 100;
  network.disturb(below, { twiceMs: 3000, delayMs: 200, answerMs: 100 });
  // In a chain only the first one writes: no member sends to it.
  const writers = shape === 'chain' ? members.slice(0, 1) : members;
  for (let step = 0; step < 150; step++) {
    write(writers[below(writers.length)]!, keys, below);
    const member = members[below(members.length)]!;
    const kind = below(40);
    if (kind < 4) member.sync();
    else if (kind === 12) member.restart();
    else if (kind < 15) beginTask(member, below);
    await network.pass(below(3) === 0 ? below(40) : 0);
  }
  network.calm();
  // Tasks in progress end, even after failures. With batches of one event this may take longer, but
  // not without progress.
  await network.pass(options.responseTimeoutMs * 3, 50);
  for (let round = 0; round < 20 && members.some(hasTask); round++) {
    const before = headway(members);
    await network.pass(options.responseTimeoutMs * 2, 50);
    assert.notEqual(headway(members), before, `seed ${seed}: no progress`);
  }
  for (const member of members)
    assert.ok(!hasTask(member), `seed ${seed}: ${member.name} has a task`);
  const rounds = network.sent.length;
  await untilIdle(network, members, `seed ${seed}`);
  assert.ok(network.sent.length - rounds < 5000, 'messages circulate');
  for (const member of members) {
    const dropped = member.replications
      .publishers()
      .reduce((sum, { eventsDropped }) => sum + eventsDropped, 0);
    assert.equal(dropped, 0);
  }
  // All lifetimes have ended by every clock.
  await network.pass(25_000, 5000);
  const [first, ...others] = members.map(({ engine }) => engine.contents());
  for (const other of others) assert.deepEqual(other, first, `seed ${seed}, ${shape}`);
  for (const member of members) member.sync();
  for (const member of members) await checkAll(member, seed);
}

/** Asserts that a check finds no difference to any target. */
async function checkAll(member: Member, seed: number): Promise<void> {
  const { replications } = member;
  for (const { wanPublisherId } of replications.publishers()) {
    const uuid = replications.check('r', wanPublisherId, Buffer.from('map0'));
    const { stage, differentLeaves, message } = await member.ended(uuid);
    const context = `seed ${seed}: ${member.name}, ${message}`;
    assert.deepEqual([stage, differentLeaves], ['FINISHED', 0], context);
  }
}

/** Starts a synchronisation or a check, unless one is in progress. */
function beginTask(member: Member, below: (count: number) => number): void {
  const { replications } = member;
  const publishers = replications.publishers();
  const id = publishers[below(publishers.length)]?.wanPublisherId;
  if (id === undefined || hasTask(member)) return;
  const map = Buffer.from(`map${below(2)}`);
  if (below(3) === 0) member.lastTask = replications.check('r', id, map);
  else member.lastTask = replications.synchronise('r', id, below(2) === 0 ? map : undefined);
}

/** Returns a text that changes with each acknowledged event and each completed partition. */
function headway(members: readonly Member[]): string {
  return JSON.stringify(
    members.map(({ replications, lastTask }) => [
      lastTask === undefined ? undefined : replications.progressOf(lastTask),
      replications.publishers().map(({ eventsSent }) => eventsSent),
    ]),
  );
}

function hasTask({ replications, lastTask }: Member): boolean {
  const stage = lastTask === undefined ? undefined : replications.progressOf(lastTask)?.stage;
  return stage === 'STARTED' || stage === 'IN_PROGRESS';
}

function write({ engine }: Member, keys: number, below: (count: number) => number): void {
  const map = `map${below(2)}`;
  const key = `key${below(keys)}`;
  const kind = below(20);
  if (kind < 12) engine.change(SET, map, key, `v${below(5)}`);
  else if (kind < 15) engine.change(SET, map, key, `v${below(5)}`, 1 + below(2000));
  else if (kind < 19) engine.change(DELETE, map, key);
  else engine.change(CLEAR, map, '');
}
