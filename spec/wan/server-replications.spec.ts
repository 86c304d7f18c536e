/**
 * Covers src/wan/server-replications.ts, src/wan/server-publisher.ts and src/wan/cluster-sender.ts.
 * Members of a cluster on fake servers replicate to members that store their own data.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import {
  EXPIRATION_TIME,
  LATEST_UPDATE,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, SET } from '../../src/engine/mutation.ts';
import { durableMember, endpoint, OPTIONS } from './members.ts';
import { clusterOf, type ServerMember } from './server-members.ts';

/** Longer than any delay of these tests. */
const LONG_MS = 3000;

function setKeys(members: readonly ServerMember[], count: number, value = 'value'): void {
  for (let index = 0; index < count; index++) {
    members[index % members.length]!.engine.change(SET, 'map', `key${index}`, `${value}${index}`);
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

test('changes of every member arrive, and their marks are removed', async () => {
  const { network, members, servers } = clusterOf(2);
  const b = durableMember(network, 'b');
  setKeys(members, 40);
  members[0]!.engine.change(DELETE, 'map', 'key3');
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  assert.equal(b.engine.contents().length, 39);
  assert.equal(servers.markCount, 0);
  const statuses = members.map(({ status }) => status);
  assert.equal(sum(statuses.map(({ eventsSent }) => eventsSent)), 40);
  for (const { queueSize, queueBytes, lagMillis, lastError } of statuses) {
    assert.deepEqual([queueSize, queueBytes, lagMillis, lastError], [0, -1, 0, null]);
  }
});

test('each change arrives within twice the delay, whichever member makes it', async () => {
  const { network, members, servers } = clusterOf(3, { batchMaxDelayMs: 50 });
  const b = durableMember(network, 'b');
  setKeys(members, 3);
  await network.pass(LONG_MS);
  for (let round = 0; round < 10; round++) {
    setKeys(members, 30, `round ${round} `);
    await network.pass(115);
    assert.deepEqual(b.engine.contents(), servers.contents());
  }
});

test('changes of which nobody has told are found', async () => {
  const { network, members, servers } = clusterOf(3, { batchMaxDelayMs: 50 });
  const b = durableMember(network, 'b');
  for (const { engine } of members) engine.announces = false;
  await network.pass(LONG_MS + 300);
  setKeys(members, 30);
  await network.pass(200);
  assert.notDeepEqual(b.engine.contents(), servers.contents());
  await network.pass(1000);
  assert.deepEqual(b.engine.contents(), servers.contents());
});

test('a paused member keeps its share, a stopped one also marks nothing', async () => {
  const { network, members, servers } = clusterOf(2);
  const [one, two] = members as [ServerMember, ServerMember];
  const b = durableMember(network, 'b');
  await network.pass(LONG_MS);
  one.control.pause();
  setKeys(members, 60);
  await network.pass(LONG_MS);
  const { queueSize, state, lagMillis } = one.status;
  assert.ok(queueSize > 10 && queueSize < 50);
  assert.equal(state, 'PAUSED');
  assert.ok(lagMillis >= LONG_MS - 1000 && lagMillis <= LONG_MS + 1000);
  assert.equal(servers.markCount, queueSize);
  assert.equal(b.engine.contents().length, 60 - queueSize);
  assert.equal(two.status.queueSize, 0);
  one.control.resume();
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  one.control.stop();
  one.engine.change(SET, 'map', 'unmarked', '');
  two.engine.change(DELETE, 'map', 'key0');
  assert.equal(one.status.state, 'STOPPED');
  await network.pass(LONG_MS);
  one.control.resume();
  await network.pass(LONG_MS);
  assert.equal(servers.contents().length, 60);
  assert.equal(b.engine.contents().length, 59);
});

test('a paused member counts its partitions as often, however much is marked', async () => {
  const { network, members, servers } = clusterOf(1, { batchSize: 10 });
  durableMember(network, 'b');
  members[0]!.control.pause();
  await network.pass(LONG_MS);
  const { count } = servers.stepCounts;
  for (let round = 0; round < 100; round++) {
    setKeys(members, 20);
    await network.pass(10);
  }
  assert.ok(servers.stepCounts.count - count <= 3 * servers.partitionCount);
});

test('a clear of the queue drops what waits in the partitions of the member', async () => {
  const { network, members, servers } = clusterOf(2);
  const [one, two] = members as [ServerMember, ServerMember];
  const b = durableMember(network, 'b');
  for (const { control } of members) control.pause();
  setKeys(members, 60);
  await network.pass(LONG_MS);
  const { queueSize } = two.status;
  assert.equal(one.status.queueSize + queueSize, 60);
  await one.control.clear();
  assert.equal(servers.markCount, queueSize);
  assert.equal(one.status.queueSize, 0);
  servers.fate = () => ({ isDone: true, isKnown: false, delayMs: 0 });
  await assert.rejects(two.control.clear(), (error: unknown) => {
    return error instanceof GridError && error.status === 503;
  });
  servers.fate = () => ({ isDone: true, isKnown: true, delayMs: 0 });
  for (const { control } of members) control.resume();
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), []);
});

test('a full queue drops changes, or refuses them while it replicates', async () => {
  const behaviours = [
    ['DISCARD_AFTER_MUTATION', [true, true, true]],
    ['THROW_EXCEPTION', [false, false, true]],
    ['THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE', [false, true, true]],
  ] as const;
  for (const [queueFullBehavior, accepted] of behaviours) {
    const { members, servers } = clusterOf(1, { queueCapacity: 1, queueFullBehavior });
    const { engine, control } = members[0]!;
    const keys = Array.from({ length: 2000 }, (_, index) => `key${index}`);
    for (const key of keys) engine.change(SET, 'map', key);
    // At least 64 keys fit into each of the 13 partitions.
    assert.equal(servers.markCount, 13 * 64);
    const before = members[0]!.status.eventsDropped;
    const isDropping = queueFullBehavior === 'DISCARD_AFTER_MUTATION';
    assert.equal(before, isDropping ? 2000 - 13 * 64 : 0);
    const actions = [() => control.resume(), () => control.pause(), () => control.stop()];
    const seen = actions.map((act) => {
      act();
      return engine.change(SET, 'map', keys.at(-1)!);
    });
    assert.deepEqual(seen, accepted);
    // A key that waits always has room.
    control.resume();
    assert.ok(engine.change(SET, 'map', keys[0]!));
  }
  const { members, servers } = clusterOf(1, { queueCapacity: 13_000 });
  for (let key = 0; key < 20_000; key++) members[0]!.engine.change(SET, 'map', `${key}`);
  assert.equal(servers.markCount, 13 * 1127);
});

test('changes that came from the target, and those of other maps, are not sent', async () => {
  const { network, cluster, members, servers } = clusterOf(1);
  const b = durableMember(network, 'b');
  const { engine } = members[0]!;
  engine.change(SET, 'map', 'sent', '1', Buffer.alloc(16, 'c'));
  engine.change(SET, 'map', 'back', '2', Buffer.alloc(16, 'b'));
  engine.change(SET, 'map', 'long', '3', Buffer.alloc(256, 'd'));
  engine.change(SET, 'own', 'key', '4');
  engine.change(SET, 'map', 'not this', '5');
  await network.pass(LONG_MS);
  assert.deepEqual(b.places, ['map/sent']);
  assert.equal(servers.markCount, 0);
  // A map that lost its reference is not sent any more.
  members[0]!.control.pause();
  engine.change(SET, 'map', 'late', '');
  cluster.refOf = () => undefined;
  members[0]!.replications.review();
  members[0]!.control.resume();
  await network.pass(LONG_MS);
  assert.deepEqual(b.places, ['map/sent']);
  assert.equal(servers.markCount, 0);
});

test('a key that was deleted and set again arrives also under a policy that keeps entries', async () => {
  const { network, cluster, members, servers } = clusterOf(1);
  const b = durableMember(network, 'b');
  cluster.policy = 1;
  const { engine } = members[0]!;
  engine.change(SET, 'map', 'key', 'old');
  await network.pass(LONG_MS);
  engine.change(DELETE, 'map', 'key');
  engine.change(SET, 'map', 'key', 'new');
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  engine.change(CLEAR, 'map', '');
  engine.change(SET, 'map', 'key', 'newer');
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
});

test('keys that are set after a clear arrive under every policy, whichever is sent first', async () => {
  for (const policy of [PASS_THROUGH, PUT_IF_ABSENT, LATEST_UPDATE, EXPIRATION_TIME]) {
    const { network, cluster, members, servers } = clusterOf(1);
    const b = durableMember(network, 'b');
    cluster.policy = policy;
    const { engine, control } = members[0]!;
    for (let key = 0; key < 60; key++) engine.change(SET, 'map', `key${key}`, 'old');
    await network.pass(LONG_MS);
    control.pause();
    engine.change(CLEAR, 'map', '');
    for (let key = 0; key < 40; key++) engine.change(SET, 'map', `key${key}`, 'new');
    await network.pass(LONG_MS);
    control.resume();
    await network.pass(LONG_MS);
    assert.deepEqual(b.engine.contents(), servers.contents(), `policy ${policy}`);
  }
});

test('another member goes on when a member dies, is cut off or leaves', async () => {
  const { network, cluster, members, servers } = clusterOf(3);
  const b = durableMember(network, 'b');
  b.isDown = true;
  setKeys(members, 60);
  await network.pass(LONG_MS);
  const [one, two, three] = members as [ServerMember, ServerMember, ServerMember];
  one.kill();
  two.view.isCutOff = true;
  b.isDown = false;
  await network.pass(2 * LONG_MS);
  const { length } = b.engine.contents();
  assert.ok(length > 10 && length < 50);
  assert.equal(two.status.eventsSent, 0);
  cluster.remove(one);
  cluster.remove(two);
  await network.pass(LONG_MS);
  assert.equal(b.engine.contents().length, 60);
  assert.equal(three.status.eventsSent, 60);
  // A member that is back sends again, but not what the others send.
  two.view.isCutOff = false;
  cluster.members.push(two);
  cluster.tellAll();
  await network.pass(LONG_MS);
  setKeys([two], 60, 'again');
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  assert.ok(two.status.eventsSent > 10);
  assert.equal(two.status.eventsSent + three.status.eventsSent, 120);
});

test('two senders of a partition send the same numbers', async () => {
  const { network, cluster, members, servers } = clusterOf(2);
  const b = durableMember(network, 'b');
  cluster.policy = PASS_THROUGH;
  for (const member of members) member.sees([member]);
  await network.pass(LONG_MS);
  servers.fate = () => ({ isDone: true, isKnown: true, delayMs: 20 });
  setKeys(members, 60);
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  assert.equal(b.engine.mergedCount, 60);
  assert.ok(sum(members.map(({ status }) => status.eventsSent)) >= 60);
  assert.equal(members[0]!.log.lines.filter((line) => line.includes('409')).length, 0);
});

test('the epoch and the data set are those of the cluster', async () => {
  const { network, cluster, members, servers } = clusterOf(2);
  const b = durableMember(network, 'b');
  setKeys(members, 20);
  await network.pass(LONG_MS);
  const { dataSetId, wanEpoch = 0 } = cluster.record.values;
  assert.match(`${dataSetId}`, /^[0-9a-f-]{36}$/);
  assert.ok(wanEpoch >= 1_700_000_000_000_000);
  // Another sender has begun a later epoch at the target, and nobody has told the members.
  await cluster.record.compareAndSet(cluster.record.revision, { wanEpoch: wanEpoch - 5 });
  const third = cluster.join('s2');
  cluster.members.splice(0, 2);
  cluster.tellAll();
  for (const member of members) member.kill();
  setKeys([third], 20, 'later');
  await network.pass(LONG_MS);
  assert.deepEqual(b.engine.contents(), servers.contents());
  assert.equal(cluster.record.values.wanEpoch, wanEpoch);
});

test('nothing is sent before the record of the cluster has the data set', async () => {
  const { network, cluster } = clusterOf(0);
  const b = durableMember(network, 'b');
  const { record } = cluster;
  const { compareAndSet } = record;
  record.compareAndSet = () => Promise.reject(new Error('too few replicas'));
  cluster.join('s0').engine.change(SET, 'map', 'key');
  await network.pass(LONG_MS);
  assert.equal(network.sent.length, 0);
  record.compareAndSet = compareAndSet.bind(record);
  await network.pass(LONG_MS);
  assert.deepEqual(b.places, ['map/key']);
});

test('a member that sees others join stops sending for their partitions at once', async () => {
  const { network, cluster, members } = clusterOf(1, { batchMaxDelayMs: 10 });
  durableMember(network, 'b');
  const [one] = members as [ServerMember];
  await network.pass(LONG_MS + 100);
  cluster.join('s1');
  setKeys([one], 60);
  await network.pass(800);
  const sent = one.status.eventsSent;
  assert.equal(sent > 10 && sent < 50, true, `${sent}`);
  assert.equal(sum(cluster.members.map(({ status }) => status.eventsSent)), 60);
});

test('numbers that a failover lost and the servers assigned again are not mistaken', async () => {
  for (const isTold of [true, false]) {
    const { network, cluster, members, servers } = clusterOf(2, { batchSize: 100 });
    const b = durableMember(network, 'b');
    // The clocks of the partitions are an hour ahead, so each change takes the next number.
    for (let partition = 0; partition < servers.partitionCount; partition++) {
      servers.nextNumber(partition, network.clock.wall() + 3_600_000);
    }
    // Both members have met the target.
    setKeys(members, 40, 'first');
    await network.pass(700);
    const { wanEpoch } = cluster.record.values;
    const lost = servers.snapshot();
    if (!isTold) network.fate = () => ({ arrivals: [1], answerMs: undefined });
    setKeys(members, 40, 'lost');
    await network.pass(700);
    assert.equal(servers.markCount, isTold ? 0 : 40);
    assert.equal(b.engine.contents().filter((text) => text.includes('lost')).length, 40);
    servers.restore(lost);
    network.calm();
    for (let key = 99; key >= 0; key--) members[0]!.engine.change(SET, 'map', `new${key}`, 'new');
    await network.pass(2 * LONG_MS);
    assert.equal(b.places.filter((place) => place.startsWith('map/new')).length, 100);
    assert.equal(servers.markCount, 0);
    assert.notEqual(cluster.record.values.wanEpoch, wanEpoch);
  }
});

test('the next sender of a partition does not mistake them either', async () => {
  const { network, cluster, members, servers } = clusterOf(1, { batchSize: 100 });
  const b = durableMember(network, 'b');
  for (let partition = 0; partition < servers.partitionCount; partition++) {
    servers.nextNumber(partition, network.clock.wall() + 3_600_000);
  }
  setKeys(members, 40, 'first');
  await network.pass(LONG_MS);
  const lost = servers.snapshot();
  setKeys(members, 40, 'lost');
  await network.pass(LONG_MS);
  assert.equal(b.engine.contents().filter((text) => text.includes('lost')).length, 40);
  for (const member of cluster.members.splice(0)) member.kill();
  servers.restore(lost);
  const next = cluster.join('s1');
  for (let key = 99; key >= 0; key--) next.engine.change(SET, 'map', `new${key}`, 'new');
  await network.pass(2 * LONG_MS);
  assert.equal(b.places.filter((place) => place.startsWith('map/new')).length, 100);
  assert.equal(servers.markCount, 0);
});

test('a member that ends sends what waits, and logs the rest', async () => {
  const { network, members, servers } = clusterOf(2, { batchMaxDelayMs: 100_000 });
  const [one, two] = members as [ServerMember, ServerMember];
  const b = durableMember(network, 'b');
  await network.pass(100);
  setKeys([one], 60);
  let isClosed = false;
  void one.replications.close(5000).then(() => {
    isClosed = true;
  });
  await network.pass(200);
  assert.equal(isClosed, true);
  assert.equal(b.places.length, 60);
  assert.deepEqual(
    one.log.lines.filter((line) => line.startsWith('warn')),
    [],
  );
  // Those of the other partitions were told before the end.
  await network.pass(200);
  assert.equal(two.status.queueSize, 0);
  b.isDown = true;
  two.engine.change(SET, 'map', 'key', '');
  for (let key = 0; key < 40; key++) two.engine.change(SET, 'map', `late${key}`, '');
  await network.pass(1100);
  void two.replications.close(500);
  await network.pass(1000);
  const { queueSize } = two.status;
  assert.ok(queueSize > 5 && servers.markCount === 41);
  const line = `warn WAN publisher: ${queueSize} events were not sent; the servers keep what waits`;
  assert.ok(two.log.lines.includes(line));
});

test('publishers are added and removed while the members run', async () => {
  const { network, members, servers } = clusterOf(2);
  const b = durableMember(network, 'b');
  const c = durableMember(network, 'c');
  await network.pass(LONG_MS);
  const added = { ...OPTIONS, publisherId: 'q', targetEndpoints: [endpoint('c')] };
  for (const { replications } of members) replications.add('r', [added, OPTIONS]);
  setKeys(members, 40);
  await network.pass(LONG_MS);
  assert.deepEqual([b.places.length, c.places.length], [40, 40]);
  c.isDown = true;
  setKeys(members, 30, 'later');
  await network.pass(LONG_MS);
  assert.equal(servers.markCount, 30);
  const sentBefore = members[0]!.replications.publisherOf('r', 'q').eventCounts.sent;
  for (const { replications } of members) replications.remove('r', 'q');
  assert.throws(() => members[0]!.replications.publisherOf('r', 'q'), /r and publisher ID q/);
  setKeys(members, 20, 'only b ');
  assert.equal(await members[0]!.replications.dropOthers(), 30);
  c.isDown = false;
  await network.pass(LONG_MS);
  for (const { replications } of members) replications.add('r', [added]);
  setKeys(members, 3, 'again');
  await network.pass(LONG_MS);
  assert.equal(c.engine.contents().filter((text) => text.includes('again')).length, 3);
  assert.equal(c.engine.contents().filter((text) => text.includes('only b')).length, 0);
  assert.ok(members[0]!.replications.publisherOf('r', 'q').eventCounts.sent >= sentBefore);
});
