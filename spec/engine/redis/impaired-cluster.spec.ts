/**
 * Covers src/engine/redis/dispatcher.ts and src/engine/redis/redis-membership-store.ts. Members on
 * an impaired Cluster: the replica of the primary that stores the cluster's record is down, or has
 * replaced that primary; two primaries are blocked; the slot of that record is being moved. Only
 * calls that need the impaired part wait.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GAP_MS } from '../../../src/cluster/membership-store.ts';
import { APPLIED, type Outcome } from '../../../src/engine/engine.ts';
import { Layout } from '../../../src/engine/redis/layout.ts';
import { FakeCluster } from '../../world/fake-cluster.ts';
import type { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { fakeStore, PARTITION_COUNT } from '../../world/world-engines.ts';
import { span } from '../results.ts';
import { type JoinedMember, joinedMember } from './joined-member.ts';

const LEASE_MS = 3 * GAP_MS;
/** Duration of the impairment, in ms: longer than a lease. */
const IMPAIRED_MS = LEASE_MS + 2000;
const DEADLINE_MS = 3000;
const LAYOUT = new Layout('any', PARTITION_COUNT);
const RECORD_SLOT = LAYOUT.slotOf(0);
/** Entries of this map need no replica. */
const ALONE = 'alone';
const BOTH = [ALONE, 'copied'];

const world = new World();

interface Setting {
  readonly cluster: FakeCluster;
  readonly members: readonly JoinedMember[];
  /** The primaries; the first one stores the cluster's record. */
  readonly primaries: readonly [FakeServer, FakeServer, FakeServer];
  /** Sets entries on the primaries by each member for this time, at least once. */
  set(ms: number, on: readonly FakeServer[], maps?: readonly string[]): Promise<Outcome[]>;
}

/** Runs a test on two members on three primaries, each with a replica. */
function onMembers(run: (setting: Setting) => Promise<void>): () => Promise<void> {
  const runAll = async (): Promise<void> => {
    const cluster = new FakeCluster(world, 3, 1);
    const members: JoinedMember[] = [];
    for (const uuid of ['a', 'b']) {
      const { engine } = fakeStore(world, cluster.url, {
        deadlineMs: DEADLINE_MS,
        mapReplicaCount: (map) => (`${map.toBuffer()}` === ALONE ? 0 : 1),
        clusterReplicaCount: 1,
      });
      await engine.open();
      members.push(await joinedMember(engine, world.clock, { uuid, leaseMs: LEASE_MS }));
    }
    const home = cluster.primaryOf(RECORD_SLOT);
    const others = cluster.servers.filter((each) => each.primary === undefined && each !== home);
    const primaries = [home, others[0]!, others[1]!] as const;
    await run({
      ...{ cluster, members, primaries },
      set: async (ms, on, maps = BOTH) => {
        const outcomes = new Set<Outcome>();
        const end = world.clock.now() + ms;
        for (let number = 0; number === 0 || world.clock.now() < end; number++) {
          const keys = on.map((server) => keyOn(cluster, server, number));
          const calls = members.flatMap(({ asker }) =>
            keys.flatMap((key) => maps.map((map) => asker.set(map, key, 'v'))),
          );
          for (const { outcome } of await Promise.all(calls)) outcomes.add(outcome);
          await world.sleep(400);
        }
        return [...outcomes];
      },
    });
    for (const { cluster, reports } of members) {
      assert.ok(cluster.isReady && cluster.acceptsWrites, reports.join());
      assert.equal(reports.length, 1, reports.join());
    }
    await Promise.all(members.map((member) => member.end()));
  };
  return () => world.during(runAll());
}

/** Returns a key of the primary in another slot than the record, a different one for each number. */
function keyOn(cluster: FakeCluster, primary: FakeServer, number: number): string {
  for (let at = number * 1000; ; at++) {
    const key = `key ${at}`;
    const slot = LAYOUT.slotOf(LAYOUT.partitionOf(span(key)));
    if (slot !== RECORD_SLOT && cluster.primaryOf(slot) === primary) return key;
  }
}

for (const minReplicas of [0, 1]) {
  test(
    `members fail only changes that need the replica that is down, with min-replicas-to-write ${minReplicas}`,
    onMembers(async ({ primaries: [home, ...others], set }) => {
      const [replica] = home.replication.servers;
      replica!.stop();
      home.run('CONFIG', 'SET', 'min-replicas-to-write', `${minReplicas}`);
      assert.deepEqual(await set(IMPAIRED_MS, others), [APPLIED]);
      if (minReplicas === 0) assert.deepEqual(await set(500, [home], [ALONE]), [APPLIED]);
      else assert.ok(!(await set(0, [home], [ALONE])).includes(APPLIED));
      replica!.listen();
      home.run('CONFIG', 'SET', 'min-replicas-to-write', `${minReplicas}`);
      while ((await set(0, [home], BOTH)).join() !== `${APPLIED}`);
    }),
  );
}

test(
  'members fail only changes of a failed primary whose replica has replaced it and needs a replica',
  onMembers(async ({ cluster, members, primaries: [home, ...others], set }) => {
    const [replica] = home.replication.servers;
    const limit = () => replica!.run('CONFIG', 'SET', 'min-replicas-to-write', '1');
    home.stop();
    cluster.failOver(replica!);
    limit();
    while ((await set(0, others)).join() !== `${APPLIED}`);
    assert.deepEqual(await set(IMPAIRED_MS, others), [APPLIED]);
    assert.ok(!(await set(0, [replica!], BOTH)).includes(APPLIED));
    for (const { cluster } of members)
      await assert.rejects(cluster.stopAll('POST /x'), /NOREPLICAS/);
    home.listen();
    cluster.rejoin(home, replica!);
    limit();
    while ((await set(0, [replica!, ...others], BOTH)).join() !== `${APPLIED}`);
  }),
);

test(
  'members serve all calls while the slot of the record is migrating, on either side',
  onMembers(async ({ cluster, members, primaries, set }) => {
    cluster.migrate(RECORD_SLOT, primaries[1]);
    assert.deepEqual(await set(IMPAIRED_MS, primaries), [APPLIED]);
    cluster.moveKeys(RECORD_SLOT);
    assert.deepEqual(await set(IMPAIRED_MS, primaries), [APPLIED]);
    await members[0]!.cluster.changeState('FROZEN');
    await members[1]!.cluster.changeState('ACTIVE');
    cluster.assign(RECORD_SLOT);
    assert.deepEqual(await set(2000, primaries), [APPLIED]);
  }),
);

test(
  'members serve all calls of a primary while the others are blocked, as by the move of a large key',
  onMembers(async ({ primaries: [home, target, third], set }) => {
    for (const { address } of [home, target]) world.network.cut(address, true);
    assert.deepEqual(await set(DEADLINE_MS - 1000, [third]), [APPLIED]);
    for (const { address } of [home, target]) world.network.cut(address, false);
    assert.deepEqual(await set(0, [home, target, third]), [APPLIED]);
  }),
);
