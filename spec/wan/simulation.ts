/**
 * Members that write at random and replicate over a network that loses, delays, duplicates and
 * reorders messages, with clocks that are apart or equal, and restarts, synchronisations and
 * checks. At the end all must have equal entries.
 */
import assert from 'node:assert/strict';
import { CLEAR, DELETE, SET } from '../../src/engine/mutation.ts';
import { endpoint, Member, Network, OPTIONS } from './members.ts';

export type Shape = 'pair' | 'chain' | 'ring' | 'mesh';

/** Rounds of 50 ms after the faults and the tasks, in which every message arrives. */
const QUIET_ROUNDS = 20;
/** The numbers of the members that each member sends to. */
const TARGETS: Readonly<Record<Shape, readonly (readonly number[])[]>> = {
  pair: [[1], [0]],
  chain: [[1], [2], []],
  ring: [[1], [2], [0]],
  mesh: [
    [1, 2],
    [0, 2],
    [0, 1],
  ],
};

/** Returns a Park-Miller generator, which repeats its numbers for a seed. */
export function generator(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return (state - 1) / 2_147_483_646;
  };
}

export async function simulate(shape: Shape, seed: number): Promise<void> {
  const random = generator(seed * 7 + 3);
  const below = (count: number) => Math.floor(random() * count);
  const network = new Network();
  network.random = random;
  const aheadMs = below(2) === 0 ? [0, 0, 0] : [0, 10_000, -10_000];
  const options = {
    ...OPTIONS,
    batchSize: 1 + below(8),
    batchMaxDelayMs: 1 + below(50),
    snapshotEnabled: below(3) === 0,
    maxConcurrentInvocations: below(2) * 2,
    consistencyCheckStrategy: 'MERKLE_TREES' as const,
  };
  const members = TARGETS[shape].map((targets, index) => {
    const publishers = targets.map((target) => ({
      ...options,
      publisherId: `p${target}`,
      targetEndpoints: [endpoint(`m${target}`)],
    }));
    return new Member(network, `m${index}`, publishers, { aheadMs: aheadMs[index]! });
  });
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
  for (let round = 0; round < 400; round++) {
    for (const member of members) member.sync();
    await network.pass(50, 10);
    if (round > QUIET_ROUNDS && members.every(({ isIdle }) => isIdle)) break;
  }
  for (const member of members) {
    assert.ok(member.isIdle, `seed ${seed}: the queues of ${member.name} are not empty`);
    assert.ok(network.sent.length - rounds < 5000, `seed ${seed}: messages circulate`);
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
  const { replications, network } = member;
  for (const { wanPublisherId } of replications.publishers()) {
    member.lastTask = replications.check('r', wanPublisherId, Buffer.from('map0'));
    for (let round = 0; round < 1000 && hasTask(member); round++) await network.pass(5);
    const { stage, differentLeaves, message } = replications.progressOf(member.lastTask) ?? {};
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
