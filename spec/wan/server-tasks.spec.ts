/**
 * Covers src/wan/server-tasks.ts, src/wan/task-run.ts, src/wan/partition-walk.ts and
 * src/wan/shared-tasks.ts. Synchronisations and checks of a cluster on fake servers.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PASS_THROUGH, PUT_IF_ABSENT } from '../../src/engine/merge-policy.ts';
import { SET } from '../../src/engine/mutation.ts';
import type { WanPublisherOptions } from '../../src/wan/wan-config.ts';
import type { TaskStatus } from '../../src/wan/wan-status.ts';
import { durableMember, generator, type Member, type Network } from './members.ts';
import { clusterOf, type ServerCluster, type ServerMember } from './server-members.ts';

const CASES = Number(process.env.WAN_CASES ?? 30);
/** Longer than any delay of these tests. */
const LONG_MS = 3000;

/** Returns a cluster with entries that have not been sent, under PassThrough. */
function filled(
  count: number,
  keys: number,
  options: Partial<WanPublisherOptions> = {},
  policy: number = PASS_THROUGH,
) {
  const found = clusterOf(count, { initialPublisherState: 'STOPPED', ...options });
  found.cluster.policy = policy;
  for (let key = 0; key < keys; key++) {
    found.members[key % count]!.engine.change(SET, 'map', `key${key}`, `value${key}`);
  }
  return found;
}

function textsOf(contents: readonly string[]): string[] {
  return contents.map((text) => text.split(' at ')[0]!);
}

function statusOf({ replications }: ServerMember, uuid: string): TaskStatus {
  const status = replications.progressOf(uuid);
  assert(status !== undefined);
  return status;
}

function begin({ replications }: ServerMember, map?: string): Promise<string> {
  return replications.synchronise('r', 'p', map === undefined ? undefined : Buffer.from(map));
}

/** Resolves with the status at the end, as the last member reports it; calls `onStep` meanwhile. */
async function ended(
  network: Network,
  cluster: ServerCluster,
  uuid: string,
  onStep: (passedMs: number) => void = () => {},
): Promise<TaskStatus> {
  let before = -1;
  for (let passed = 0; passed < 60_000; passed += 5) {
    const status = statusOf(cluster.members.at(-1)!, uuid);
    assert.ok(status.progress >= before);
    assert.equal(status.progress === 100, status.stage === 'FINISHED');
    before = status.progress;
    if (status.stage === 'FINISHED' || status.stage === 'FAILED') return status;
    onStep(passed);
    await network.pass(5);
  }
  return assert.fail('the task does not end');
}

for (const state of ['REPLICATING', 'PAUSED', 'STOPPED'] as const) {
  test(`every entry is sent once while the publisher is ${state}`, async () => {
    const { network, cluster, members, servers } = filled(3, 300, { batchSize: 7 });
    const b = durableMember(network, 'b');
    await network.pass(LONG_MS);
    if (state === 'REPLICATING') for (const { control } of members) control.resume();
    if (state === 'PAUSED') for (const { control } of members) control.pause();
    assert.equal(b.places.length, 0);
    const uuid = await begin(members[1]!, 'map');
    assert.deepEqual(statusOf(members[0]!, uuid), {
      stage: 'STARTED',
      progress: 0,
      wanReplicationName: 'r',
      wanPublisherId: 'p',
      creationTime: Math.floor(network.clock.wall()),
      entriesNotTaken: 0,
    });
    const { stage, progress, entriesNotTaken, message } = await ended(network, cluster, uuid);
    assert.deepEqual([stage, progress, entriesNotTaken, message], ['FINISHED', 100, 0, undefined]);
    assert.deepEqual(b.engine.contents(), servers.contents());
    assert.equal(members[0]!.status.state, state);
    assert.equal(members[0]!.status.eventsSent, 0);
    const logs = members.flatMap(({ log }) => log.lines.filter((line) => line.includes(uuid)));
    assert.deepEqual(logs, [`info WAN sync ${uuid} finished`]);
  });
}

test('all maps that refer to the replication are sent, without filtered keys', async () => {
  const { network, cluster, members } = filled(2, 10);
  const b = durableMember(network, 'b');
  for (const map of ['other', 'own']) members[0]!.engine.change(SET, map, 'key', 'v');
  members[0]!.engine.change(SET, 'other', 'not this', 'v');
  members[0]!.engine.change(SET, 'other', 'long', 'v'.repeat(70_000));
  await network.pass(LONG_MS);
  const { stage } = await ended(network, cluster, await begin(members[1]!));
  assert.equal(stage, 'FINISHED');
  const others = b.places.filter((place) => !place.startsWith('map'));
  assert.deepEqual([others, b.places.length], [['other/key', 'other/long'], 12]);
});

test('entries that the target did not take are counted exactly', async () => {
  const { network, cluster, members, servers } = filled(3, 200, { batchSize: 9 }, PUT_IF_ABSENT);
  const b = durableMember(network, 'b');
  for (let key = 0; key < 50; key++) b.engine.change(SET, 'map', `key${key}`, 'own');
  await network.pass(LONG_MS);
  let pages = 0;
  servers.beginsAgain = () => ++pages % 3 === 0;
  const status = await ended(network, cluster, await begin(members[2]!, 'map'));
  assert.deepEqual([status.stage, status.entriesNotTaken], ['FINISHED', 50]);
  assert.equal(b.places.length, 200);
});

test('one task is in progress at a time, and the last ones are kept', async () => {
  const { network, cluster, members } = filled(2, 5);
  durableMember(network, 'b');
  await network.pass(LONG_MS);
  const [one, two] = members as [ServerMember, ServerMember];
  const first = await begin(one);
  await assert.rejects(begin(two, 'map'), {
    code: 'WAN_TASK_UNDER_WAY',
    message: `Cannot synchronise: synchronisation ${first} is under way`,
  });
  await assert.rejects(begin(two, 'own'), { code: 'WAN_MAP_UNKNOWN' });
  await ended(network, cluster, first);
  let last = first;
  for (let round = 0; round < 100; round++) {
    last = await begin(two);
    await ended(network, cluster, last);
  }
  assert.equal(one.replications.progressOf(first), undefined);
  assert.equal(statusOf(one, last).stage, 'FINISHED');
});

test('a task fails if the target is away, does not take entries, or has a new data set', async () => {
  const { network, cluster, members } = filled(2, 100, { batchSize: 3 });
  await network.pass(LONG_MS);
  const away = await ended(network, cluster, await begin(members[1]!));
  assert.equal(away.stage, 'FAILED');
  assert.match(away.message!, /^nothing was acknowledged for 1000 ms: b:5701 .*refused/);
  const b = durableMember(network, 'b');
  b.isPassive = true;
  const passive = await ended(network, cluster, await begin(members[1]!));
  assert.match(passive.message!, /PASSIVE/);
  b.isPassive = false;
  const uuid = await begin(members[0]!);
  const changed = await ended(network, cluster, uuid, (passed) => {
    if (passed !== 20) return;
    durableMember(network, 'b', [], { dataSet: 'c' });
  });
  assert.match(changed.message!, /^the data set of the target has changed/);
  const again = await ended(network, cluster, await begin(members[0]!));
  assert.equal(again.stage, 'FINISHED');
});

test('the task of a removed publisher fails, and a lost record refuses tasks', async () => {
  const { network, cluster, members } = filled(2, 5);
  await network.pass(LONG_MS);
  const uuid = await begin(members[0]!);
  members[1]!.replications.remove('r', 'p');
  await network.settle();
  assert.equal(statusOf(members[0]!, uuid).message, 'its publisher was removed');
  cluster.record.compareAndSet = () => Promise.reject(new Error('away'));
  await assert.rejects(begin(members[0]!), {
    code: 'WAN_TASK_NOT_KEPT',
    message: 'Cannot synchronise: away',
  });
});

/** Whether the target has at least the entries of the cluster. */
function assertHasAll(b: Member, cluster: ServerCluster, context: string): void {
  const has = new Set(textsOf(b.engine.contents()));
  const lost = textsOf(cluster.servers.contents()).filter((text) => !has.has(text));
  assert.deepEqual(lost, [], context);
}

test(`${CASES} syncs while members are killed, join and are cut off, with exact figures`, async () => {
  for (let seed = 1; seed <= CASES; seed++) {
    const context = `seed ${seed}`;
    const random = generator(seed * 1_000_003);
    const below = (limit: number): number => Math.floor(random() * limit);
    const count = 2 + below(2);
    const policy = below(2) === 0 ? PUT_IF_ABSENT : PASS_THROUGH;
    const options = {
      batchSize: 1 + below(20),
      initialPublisherState: below(2) === 0 ? ('REPLICATING' as const) : ('STOPPED' as const),
    };
    const { network, cluster, members, servers } = filled(count, 200, options, policy);
    const b = durableMember(network, 'b');
    await network.pass(LONG_MS);
    b.engine.change(SET, 'map', 'only here', 'own');
    let own = 0;
    for (let key = 0; key < 200; key += 1 + below(20)) {
      b.engine.change(SET, 'map', `key${key}`, 'own');
      own++;
    }
    // A message that is lost blocks its partition for the response timeout, so few are.
    const isLost = (): boolean => below(150) === 0;
    network.fate = () => ({
      arrivals: isLost() ? [] : below(5) === 0 ? [below(30), below(300)] : [below(60)],
      answerMs: isLost() ? undefined : below(60),
    });
    servers.fate = () => ({ isDone: true, isKnown: below(20) > 0, delayMs: below(3) });
    servers.beginsAgain = () => below(30) === 0;
    const uuid = await begin(members[below(count)]!);
    let next = 20 + below(200);
    let killed = 0;
    const status = await ended(network, cluster, uuid, (passed) => {
      if (passed < next) return;
      next = passed + 20 + below(600);
      const victim = cluster.members[below(cluster.members.length)]!;
      const kind = below(3);
      if (kind === 0 && killed < count - 1) {
        killed++;
        victim.kill();
        cluster.remove(victim);
      } else if (kind === 1 && cluster.members.length < 4) cluster.join(`n${passed}`);
      else victim.view.isCutOff = !victim.view.isCutOff && cluster.members.length > 2;
    });
    if (status.stage === 'FAILED') {
      assert.match(status.message!, /^nothing was acknowledged for 1000 ms/, context);
      continue;
    }
    const notTaken = policy === PUT_IF_ABSENT ? own : 0;
    assert.equal(status.entriesNotTaken, notTaken, context);
    if (policy === PASS_THROUGH) assertHasAll(b, cluster, context);
    else assert.equal(b.places.length, 201, context);
  }
});

/** A cluster and a target that have the same number of partitions, for checks. */
function comparable(count: number, keys: number, options: Partial<WanPublisherOptions> = {}) {
  const found = filled(count, keys, { consistencyCheckStrategy: 'MERKLE_TREES', ...options });
  const { partitionCount } = found.servers;
  return { ...found, b: durableMember(found.network, 'b', [], { partitionCount }) };
}

function check({ replications }: ServerMember, map = 'map'): Promise<string> {
  return replications.check('r', 'p', Buffer.from(map));
}

/** The figures of a check: partitions, leaves and entries. */
function figuresOf(status: TaskStatus): (number | undefined)[] {
  const { checkedPartitions, differentPartitions, checkedLeaves } = status;
  return [
    checkedPartitions,
    differentPartitions,
    checkedLeaves,
    status.differentLeaves,
    status.entriesToSync,
  ];
}

test('a check finds what differs, and a sync after it sends only that', async () => {
  const { network, cluster, members, servers, b } = comparable(3, 300);
  await network.pass(LONG_MS);
  const first = await begin(members[0]!, 'map');
  await ended(network, cluster, first);
  const equal = await check(members[1]!);
  const status = statusOf(members[2]!, equal);
  assert.deepEqual([status.stage, ...figuresOf(status)], ['STARTED', -1, -1, -1, -1, -1]);
  assert.equal(status.entriesNotTaken, undefined);
  assert.deepEqual(figuresOf(await ended(network, cluster, equal)), [13, 0, 13 * 512, 0, 0]);
  for (const key of [3, 40, 50]) b.engine.change(SET, 'map', `key${key}`, 'other');
  members[0]!.engine.change(SET, 'map', 'only here', 'new');
  const [partitions, different, , leaves, entries] = figuresOf(
    await ended(network, cluster, await check(members[2]!)),
  );
  assert.deepEqual([partitions, leaves, entries], [13, 4, 4]);
  assert.ok(different! >= 1 && different! <= 4);
  network.sent.splice(0);
  // A member that has joined since knows of the check.
  await ended(network, cluster, await begin(cluster.join('late'), 'map'));
  assert.deepEqual(textsOf(b.engine.contents()), textsOf(servers.contents()));
  const bytes = network.sent.filter(({ message }) => message[20] === 2);
  assert.ok(bytes.length <= 4, `${bytes.length} batches`);
});

test('checks that cannot be made are refused, or fail with the reason', async () => {
  const { network, cluster, members } = comparable(2, 10);
  await network.pass(LONG_MS);
  cluster.tree = { isOn: false, depth: 10 };
  await assert.rejects(check(members[0]!), { code: 'WAN_CHECK_OFF' });
  await assert.rejects(check(members[0]!, 'own'), { code: 'WAN_MAP_UNKNOWN' });
  cluster.tree = { isOn: true, depth: 9 };
  const other = await ended(network, cluster, await check(members[1]!));
  assert.equal(
    other.message,
    'Cannot compare map "map": its merkle-tree has depth 9 here and 10 at the target',
  );
  const { members: plain } = clusterOf(1);
  await assert.rejects(check(plain[0]!), {
    code: 'WAN_CHECK_OFF',
    message: /consistency-check-strategy is NONE/,
  });
});

test('all of a map is sent if it cannot be compared any more', async () => {
  const { network, cluster, members, servers, b } = comparable(2, 30);
  await network.pass(LONG_MS);
  await ended(network, cluster, await check(members[0]!));
  cluster.tree = { isOn: true, depth: 9 };
  const { stage } = await ended(network, cluster, await begin(members[1]!));
  assert.equal(stage, 'FINISHED');
  assert.deepEqual(b.engine.contents(), servers.contents());
  const lines = members.flatMap(({ log }) => log.lines);
  assert.ok(lines.some((line) => line.startsWith('warn WAN sync: all of map "map" is sent')));
});

test(`${CASES} checks while members are killed have exact figures`, async () => {
  for (let seed = 1; seed <= CASES; seed++) {
    const random = generator(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const { network, cluster, members, servers, b } = comparable(3, 100);
    await network.pass(LONG_MS);
    await ended(network, cluster, await begin(members[0]!));
    const changed = new Set<number>();
    for (let count = below(30); count > 0; count--) changed.add(below(100));
    for (const key of changed) b.engine.change(SET, 'map', `key${key}`, 'other');
    servers.fate = () => ({ isDone: true, isKnown: below(20) > 0, delayMs: below(4) });
    servers.beginsAgain = () => below(30) === 0;
    const killAt = below(60);
    const status = await ended(network, cluster, await check(members[2]!), (passed) => {
      if (passed < killAt || cluster.members.length < 3) return;
      const victim = cluster.members[below(3)]!;
      victim.kill();
      cluster.remove(victim);
    });
    assert.deepEqual(
      [status.stage, status.entriesToSync, status.message],
      ['FINISHED', changed.size, undefined],
      `seed ${seed}`,
    );
  }
});

test('a call is answered once the other members know the task, or after two seconds', async () => {
  const { network, cluster, members } = filled(2, 5);
  durableMember(network, 'b');
  await network.pass(LONG_MS);
  cluster.record.allConfirmed = () => new Promise(() => {});
  let uuid = '';
  void begin(members[0]!).then((begun) => {
    uuid = begun;
  });
  await network.pass(1900);
  assert.equal(uuid, '');
  await network.pass(200);
  assert.equal(statusOf(members[1]!, uuid).stage, 'FINISHED');
});
