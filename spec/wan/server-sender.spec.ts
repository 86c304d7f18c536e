/**
 * The batches of a cluster on fake servers, and a simulation of members that start, end and are
 * parted while they send. Also covers server-lane.ts and waiting-events.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LATEST_UPDATE, PASS_THROUGH, PUT_IF_ABSENT } from '../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, SET } from '../../src/engine/mutation.ts';
import { BATCH, openMessage } from '../../src/wan/message-format.ts';
import { readBatch } from '../../src/wan/received-batch.ts';
import { WaitingEvents } from '../../src/wan/waiting-events.ts';
import { durableMember, endpoint, generator, type Network } from './members.ts';
import { changeOf } from './messages.ts';
import { clusterOf, type ServerMember } from './server-members.ts';

const CASES = Number(process.env.WAN_CASES ?? 20);
const PARTITION_COUNT = 13;
/** Longer than any delay of these tests. */
const LONG_MS = 3000;

interface Sent {
  readonly to: string;
  /** The lanes, and the numbers of events and bytes. */
  readonly lanes: readonly number[];
  readonly events: number;
  readonly bytes: number;
}

/** Returns the batches that were sent. */
async function batchesOf({ sent }: Network): Promise<Sent[]> {
  const batches: Sent[] = [];
  for (const { to, message } of sent) {
    const opened = await openMessage(message, 2 ** 28);
    if (opened.kind !== BATCH) continue;
    const { sections } = readBatch(opened);
    const lanes = sections.map(({ lane }) => lane);
    const events = sections.reduce((sum, { count }) => sum + count, 0);
    batches.push({ to, lanes, events, bytes: opened.payload.length });
  }
  return batches;
}

test('a batch has up to batch-size events of several partitions', async () => {
  const { network, members, servers } = clusterOf(1, { batchSize: 50 });
  const b = durableMember(network, 'b');
  members[0]!.control.pause();
  for (let key = 0; key < 1000; key++) members[0]!.engine.change(SET, 'map', `key${key}`);
  await network.pass(LONG_MS);
  members[0]!.control.resume();
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  const batches = await batchesOf(network);
  assert.equal(Math.max(...batches.map(({ events }) => events)), 50);
  assert.equal(batches.length < 30, true, `${batches.length} batches`);
  assert.equal(new Set(batches.flatMap(({ lanes }) => lanes)).size, PARTITION_COUNT);
});

test('a key that was deleted and set again counts as two events, if the policy needs them', async () => {
  const { network, cluster, members, servers } = clusterOf(1, { batchSize: 7 });
  cluster.policy = PUT_IF_ABSENT;
  const b = durableMember(network, 'b');
  const { engine, control } = members[0]!;
  control.pause();
  for (let key = 0; key < 100; key++) {
    engine.change(DELETE, 'map', `key${key}`);
    engine.change(SET, 'map', `key${key}`);
  }
  await network.pass(LONG_MS);
  control.resume();
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  const counts = (await batchesOf(network)).map(({ events }) => events);
  assert.deepEqual([Math.max(...counts), counts.reduce((sum, count) => sum + count, 0)], [6, 200]);
});

test('events have twice the number of their key, and a removal before an entry one less', () => {
  const entry = changeOf(SET, 'a', 'x');
  const removal = changeOf(DELETE, 'a', '');
  const changes = [
    { number: 7, entry, removal: undefined },
    { number: 8, entry, removal },
    { number: 9, entry: undefined, removal },
  ];
  const waiting = { changes, readTo: 12, hasMore: false };
  const rule = { target: Buffer.alloc(16, 't'), policyOf: () => PUT_IF_ABSENT };
  const eventsIn = (count: number) =>
    new WaitingEvents(3, waiting, rule, { count, bytes: 1_000_000 });
  const events = eventsIn(9);
  const numbersOf = (each: WaitingEvents) =>
    Array.from({ length: each.count }, (_, index) => each.numberOf(index));
  assert.deepEqual(numbersOf(events), [14, 15, 16, 18]);
  // A key is done if both of its events are.
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((count) => events.doneTo(count)),
    [0, 7, 7, 8, 12],
  );
  const cut = eventsIn(2);
  assert.deepEqual([numbersOf(cut), cut.hasMore, cut.doneTo(1)], [[14], true, 7]);
  assert.deepEqual([numbersOf(eventsIn(3)), numbersOf(eventsIn(1))], [[14, 15, 16], [14]]);
});

test('a full batch does not wait for the delay', async () => {
  const { network, members } = clusterOf(1, { batchSize: 20, batchMaxDelayMs: 100_000 });
  const b = durableMember(network, 'b');
  await network.pass(LONG_MS + 100);
  for (let key = 0; key < 19; key++) members[0]!.engine.change(SET, 'map', `key${key}`);
  await network.pass(300);
  assert.equal(b.places.length, 0);
  members[0]!.engine.change(SET, 'map', 'key19');
  await network.pass(100);
  assert.equal(b.places.length, 20);
});

test('long values are sent one by one, and others with what fits', async () => {
  const { network, members, servers } = clusterOf(1, { batchSize: 500 });
  durableMember(network, 'b');
  const { engine, control } = members[0]!;
  control.pause();
  for (let key = 0; key < 20; key++) engine.change(SET, 'map', `long${key}`, 'x'.repeat(3_000_000));
  for (let key = 0; key < 300; key++) engine.change(SET, 'map', `key${key}`, 'y'.repeat(60_000));
  await network.pass(LONG_MS);
  control.resume();
  await network.pass(LONG_MS);
  assert.equal(servers.markCount, 0);
  const batches = await batchesOf(network);
  assert.equal(Math.max(...batches.map(({ bytes }) => bytes)) < 4_194_304 + 500, true);
  assert.equal(batches.length < 40, true, `${batches.length} batches`);
  // What does not fit is read again, but not often.
  const { read } = servers.stepCounts;
  assert.equal(read < 20 + 300, true, `${read} reads`);
});

test('a batch that is too long is halved, and a key that is too long is skipped', async () => {
  const { network, cluster, members, servers } = clusterOf(1, { batchSize: 500 });
  cluster.policy = PUT_IF_ABSENT;
  const b = durableMember(network, 'b');
  const { engine, control, log } = members[0]!;
  control.pause();
  engine.change(DELETE, 'map', 'key7');
  for (let key = 0; key < 40; key++) {
    engine.change(SET, 'map', `key${key}`, 'x'.repeat(key === 7 ? 20_000 : 1000));
  }
  network.answer = ({ length }) =>
    length > 15_000 ? { status: 413, body: Buffer.alloc(0) } : undefined;
  await network.pass(LONG_MS);
  control.resume();
  await network.pass(LONG_MS);
  assert.equal(servers.markCount, 0);
  assert.equal(b.places.length, 39);
  const { eventsSent, eventsRejected } = members[0]!.status;
  // The key that was set again has two events, of which the removal fits.
  assert.deepEqual([eventsSent, eventsRejected], [40, 1]);
  const skipped = log.lines.filter((line) => line.includes('is skipped'));
  assert.equal(skipped.length, 1);
  assert.match(skipped[0]!, /an event of 20\d+ bytes is too long for b:5701/);
});

test('events that the target rejects, or has no memory for, are counted and sent again', async () => {
  const { network, members, servers } = clusterOf(1);
  const b = durableMember(network, 'b');
  const { engine } = members[0]!;
  engine.change(SET, 'map', 'x'.repeat(40_000), '');
  engine.change(SET, 'map', 'key', '');
  await network.pass(LONG_MS);
  assert.deepEqual([members[0]!.status.eventsSent, members[0]!.status.eventsRejected], [1, 1]);
  assert.deepEqual(b.places, ['map/key']);
  b.isPassive = true;
  engine.change(SET, 'map', 'other', '');
  await network.pass(LONG_MS);
  assert.match(`${members[0]!.status.lastError}`, /its cluster is PASSIVE/);
  assert.equal(servers.markCount, 1);
  b.isPassive = false;
  await network.pass(LONG_MS);
  assert.equal(members[0]!.status.eventsSent, 2);
});

test('several endpoints share the partitions, and one that is lost is replaced', async () => {
  const { network, members, servers } = clusterOf(1, {
    targetEndpoints: [endpoint('b'), endpoint('b2')],
  });
  const b = durableMember(network, 'b');
  network.members.set('b2', b);
  for (let key = 0; key < 60; key++) members[0]!.engine.change(SET, 'map', `key${key}`);
  await network.pass(LONG_MS);
  const lanesOf = async (to: string) =>
    new Set(
      (await batchesOf(network)).filter((each) => each.to === to).flatMap(({ lanes }) => lanes),
    );
  const lanes = [...(await lanesOf('b'))].filter((lane) => lane % 2 === 1);
  // Only the batches before the second handshake.
  assert.equal(lanes.length <= 8, true);
  assert.equal((await lanesOf('b2')).size > 3, true);
  network.members.delete('b2');
  for (let key = 0; key < 60; key++) members[0]!.engine.change(SET, 'map', `key${key}`, 'x');
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
});

test('a member that is cut off, and servers that fail, cause no rush of steps', async () => {
  const { network, members, servers } = clusterOf(1);
  const b = durableMember(network, 'b');
  const { engine, view } = members[0]!;
  await network.pass(LONG_MS);
  servers.fate = () => ({ isDone: false, isKnown: true, delayMs: 0 });
  engine.change(SET, 'map', 'key');
  await network.pass(LONG_MS);
  view.isCutOff = true;
  engine.change(SET, 'map', 'key2');
  await network.pass(LONG_MS);
  servers.fate = () => ({ isDone: true, isKnown: true, delayMs: 0 });
  await network.pass(LONG_MS);
  assert.equal(b.places.length, 0);
  const { read, acknowledge, count } = servers.stepCounts;
  assert.equal(read + acknowledge < 20, true, `${read} ${acknowledge}`);
  assert.equal(count < 20 * PARTITION_COUNT, true, `${count}`);
  view.isCutOff = false;
  await network.pass(LONG_MS);
  assert.equal(b.places.length, 2);
});

test('partitions whose servers do not respond delay no others', async () => {
  const { network, members, servers } = clusterOf(2, { batchMaxDelayMs: 50 });
  const b = durableMember(network, 'b');
  await network.pass(LONG_MS);
  // Half of the partitions are on a server that has stopped; its steps fail after 5 s.
  servers.fate = (partition) =>
    partition % 2 === 0
      ? { isDone: false, isKnown: true, delayMs: 5000 }
      : { isDone: true, isKnown: true, delayMs: 1 };
  for (let key = 0; key < 200; key++) members[key % 2]!.engine.change(SET, 'map', `key${key}`);
  await network.pass(LONG_MS);
  const { length } = b.places;
  assert.equal(length > 60 && length < 140, true, `${length}`);
  await network.pass(10_000);
  for (let round = 0; round < 10; round++) {
    for (const { engine } of members) engine.announces = round < 5;
    for (let key = 0; key < 200; key++) {
      members[key % 2]!.engine.change(SET, 'map', `key${key}`, `${round}`);
    }
    await network.pass(round < 5 ? 400 : 1800);
    const current = b.engine.contents().filter((text) => text.includes(` = ${round} `));
    assert.equal(current.length, length, `round ${round}`);
  }
  servers.fate = () => ({ isDone: true, isKnown: true, delayMs: 0 });
  await network.pass(8000);
  assert.deepEqual(b.engine.contents(), servers.contents());
});

test('keys that cannot be read are the last error until a batch succeeds', async () => {
  const { network, members, servers } = clusterOf(1, { batchMaxDelayMs: 50 });
  const b = durableMember(network, 'b');
  await network.pass(LONG_MS);
  const [member] = members;
  const errorOf = () => member!.replications.publishers()[0]!.lastError;
  assert.equal(errorOf(), null);
  servers.fate = () => ({ isDone: false, isKnown: true, delayMs: 0 });
  member!.engine.change(SET, 'map', 'key');
  await network.pass(LONG_MS);
  assert.match(errorOf() ?? '', /^the keys that wait in partition \d+ cannot be read$/);
  servers.fate = () => ({ isDone: true, isKnown: true, delayMs: 0 });
  await network.pass(LONG_MS);
  assert.equal(errorOf(), null);
  assert.equal(b.places.length, 1);
});

/** Runs random changes and faults. Returns whether the target is equal to the source at the end. */
async function simulated(seed: number): Promise<void> {
  const random = generator(seed * 1_000_003);
  const below = (count: number) => Math.floor(random() * count);
  const { network, cluster, servers } = clusterOf(1 + below(3), {
    batchSize: 1 + below(20),
    batchMaxDelayMs: 1 + below(100),
    acknowledgeType: below(2) === 0 ? 'ACK_ON_RECEIPT' : 'ACK_ON_OPERATION_COMPLETE',
  });
  network.random = random;
  const b = durableMember(network, 'b');
  cluster.policy = below(2) === 0 ? PASS_THROUGH : LATEST_UPDATE;
  network.disturb(below, { twiceMs: 400, delayMs: 50, answerMs: 50 });
  servers.fate = () => ({ isDone: below(20) > 0, isKnown: below(20) > 0, delayMs: below(20) });
  let names = 3;
  const { members } = cluster;
  const anyOf = () => members[below(members.length)]!;
  const faults: (() => void)[] = [
    () => void (members.length < 4 && cluster.join(`s${names++}`)),
    () => {
      if (members.length < 2) return;
      const member = anyOf();
      member.kill();
      // The others learn of it later.
      members.splice(members.indexOf(member), 1);
      network.clock.after(below(1500), () => cluster.tellAll());
    },
    () => anyOf().sees([anyOf(), anyOf()]),
    () => cluster.tellAll(),
    () => {
      const { view } = anyOf();
      view.isCutOff = !view.isCutOff;
    },
    () => anyOf().control.pause(),
    () => anyOf().control.resume(),
    () => {
      b.isDown = !b.isDown;
    },
    () => b.restart(),
  ];
  for (let step = 0; step < 80; step++) {
    for (let change = below(8); change > 0; change--) {
      const kind = below(12);
      const operation = kind === 0 ? CLEAR : kind < 4 ? DELETE : SET;
      const key = operation === CLEAR ? '' : `key${below(30)}`;
      anyOf().engine.change(operation, `map${below(2)}`, key, `${step} ${change}`);
    }
    if (below(6) === 0) faults[below(faults.length)]!();
    await network.pass(below(60));
  }
  network.calm();
  b.isDown = false;
  servers.fate = () => ({ isDone: true, isKnown: true, delayMs: 0 });
  for (const { view, control } of members) {
    view.isCutOff = false;
    control.resume();
  }
  cluster.tellAll();
  for (let round = 0; round < 100 && servers.markCount > 0; round++) await network.pass(100);
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  assert.equal(servers.markCount, 0);
  for (const { status } of members) assertIdle(status);
}

function assertIdle({ queueSize, lagMillis, eventsRejected }: ServerMember['status']): void {
  assert.deepEqual([queueSize, lagMillis, eventsRejected], [0, 0, 0]);
}

test(`${CASES} simulated clusters: the target gets what the source has`, async (t) => {
  const first = Number(process.env.WAN_SEED ?? 1);
  for (let seed = first; seed < first + CASES; seed++) {
    await simulated(seed).catch((error: unknown) => {
      t.diagnostic(`seed ${seed}`);
      throw error;
    });
  }
});
