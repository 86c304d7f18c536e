/**
 * Members on an impaired Cluster: the replica of the primary that stores the cluster's record is
 * down or hangs, or the slot of that record is being moved. Only calls that need the impaired part
 * wait.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEngineUrl } from '../../src/base/engine-url.ts';
import { Span } from '../../src/base/span.ts';
import { GAP_MS } from '../../src/cluster/membership-store.ts';
import { APPLIED, FOUND, type Outcome } from '../../src/engine/engine.ts';
import { Layout, SLOT_COUNT } from '../../src/engine/redis/layout.ts';
import { StoreServers } from '../../src/engine/redis/store-servers.ts';
import { type JoinedMember, joinedMember } from './joined-member.ts';
import { serverCommand } from './server-command.ts';
import { type GroupServer, type ServerGroup, startCluster } from './server-group.ts';
import { until } from './server-process.ts';

const LEASE_MS = 3 * GAP_MS;
/** Duration of the impairment, in ms: longer than a lease. */
const IMPAIRED_MS = LEASE_MS + 2000;
const DEADLINE_MS = 3000;
/** Number and content of the items in the moved queue, 200 MB in total. */
const MOVED_ITEMS = 200;
const MOVED_ITEM = Buffer.alloc(1e6, '.');
const LAYOUT = new Layout('any', 271);
/** Replica counts of maps and queues, by name. */
const REPLICA_COUNTS = new Map([
  ['alone', 0],
  ['copied', 1],
]);

/** A primary, its replica, and its range of slots. */
interface Shard {
  readonly first: number;
  readonly last: number;
  readonly primary: GroupServer;
  readonly replica: GroupServer;
  readonly id: string;
}

let group: ServerGroup;
let members: JoinedMember[] = [];
let clusterCount = 0;

for (const minReplicas of [0, 1]) {
  describe(`with min-replicas-to-write ${minReplicas}`, () => {
    before(async () => {
      group = await startCluster([
        ...['--min-replicas-to-write', `${minReplicas}`, '--min-replicas-max-lag', '2'],
        // Prevents a failover while a key is moved, which blocks two servers for seconds.
        ...['--repl-diskless-sync-delay', '0', '--cluster-node-timeout', '10000'],
      ]);
    });
    beforeEach(joinTwoMembers);
    afterEach(endMembers);
    after(() => group.end());

    it('members fail only changes that need the replica that is down', async () => {
      const [home, ...others] = await shards();
      await home!.replica.kill();
      const outcomes = await outcomesOfSets(IMPAIRED_MS, others, ['alone', 'copied']);
      assert.deepEqual(outcomes, [APPLIED]);
      if (minReplicas === 0)
        assert.deepEqual(await outcomesOfSets(500, [home!], ['alone']), [APPLIED]);
      for (const { cluster, reports } of members) {
        assert.ok(cluster.isReady && cluster.acceptsWrites, reports.join());
      }
      await home!.replica.start();
      await until(
        async () => (await outcomesOfSets(0, [home!], ['copied'])).join() === `${APPLIED}`,
      );
    });

    if (minReplicas === 0) {
      it('members serve all calls while the slot of the record is migrating, on either side', async () => {
        const [home, target] = await shards();
        const slot = `${LAYOUT.slotOf(0)}`;
        await target!.primary.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', home!.id);
        await home!.primary.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target!.id);
        const all = await shards();
        assert.deepEqual(await outcomesOfSets(IMPAIRED_MS, all, ['alone', 'copied']), [APPLIED]);
        for (;;) {
          const keys = await home!.primary.ask('CLUSTER', 'GETKEYSINSLOT', slot, '100');
          if (!Array.isArray(keys) || keys.length === 0) break;
          const to = ['127.0.0.1', `${target!.primary.port}`, '', '0', '5000'];
          await home!.primary.ask('MIGRATE', ...to, 'KEYS', ...keys);
        }
        assert.deepEqual(await outcomesOfSets(IMPAIRED_MS, all, ['alone', 'copied']), [APPLIED]);
        await members[0]!.cluster.changeState('FROZEN');
        await members[1]!.cluster.changeState('ACTIVE');
        for (const { reports } of members) assert.equal(reports.length, 1, reports.join());
        for (const { primary } of [target!, home!]) {
          await primary.ask('CLUSTER', 'SETSLOT', slot, 'NODE', target!.id);
        }
        assert.deepEqual(await outcomesOfSets(2000, all, ['alone', 'copied']), [APPLIED]);
      });

      it('members serve all calls of the third primary while a key of 200 MB is moved', async () => {
        const [home, target, third] = await shards();
        const queue = keyIn(home!, 0);
        const { asker } = members[0]!;
        for (let count = 0; count < MOVED_ITEMS; count += 10) {
          const offers = Array.from({ length: 10 }, () => asker.offer(queue, MOVED_ITEM));
          for (const { outcome } of await Promise.all(offers)) assert.equal(outcome, APPLIED);
        }
        const slot = `${slotOf(queue)}`;
        await target!.primary.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', home!.id);
        await home!.primary.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target!.id);
        const keys = await home!.primary.ask('CLUSTER', 'GETKEYSINSLOT', slot, '100');
        assert.ok(Array.isArray(keys));
        let isMoved = false;
        const to = ['127.0.0.1', `${target!.primary.port}`, '', '0', '60000'];
        const moved = serverCommand(
          home!.primary.port,
          'MIGRATE',
          ...to,
          'KEYS',
          ...keys.map(String),
        );
        const done = moved.finally(() => {
          isMoved = true;
        });
        let writeCount = 0;
        while (!isMoved) {
          assert.deepEqual(await outcomesOfSets(0, [third!], ['alone', 'copied']), [APPLIED]);
          writeCount++;
        }
        assert.equal(await done, 'OK');
        assert.ok(writeCount > 1);
        for (const { primary } of [target!, home!]) {
          await primary.ask('CLUSTER', 'SETSLOT', slot, 'NODE', target!.id);
        }
        for (const { cluster, reports } of members) {
          assert.ok(cluster.isReady && cluster.acceptsWrites, reports.join());
        }
        assert.equal((await asker.queueSize(queue)).count, MOVED_ITEMS);
        assert.equal((await asker.poll(queue)).value?.length, MOVED_ITEM.length);
      });

      it('a replica that hangs delays only changes that need it', async () => {
        const [home] = await shards();
        home!.replica.pause();
        const { asker } = members[0]!;
        const key = keyIn(home!, 0);
        let isAnswered = false;
        const copied = asker.set('copied', key, 'v').then(({ outcome }) => {
          isAnswered = true;
          return outcome;
        });
        for (let count = 0; count < 100; count++) {
          assert.equal((await asker.set('alone', key, 'v')).outcome, APPLIED);
          assert.equal((await asker.offer('alone', 'item')).outcome, APPLIED);
          assert.equal((await asker.poll('alone')).outcome, FOUND);
        }
        assert.ok(!isAnswered);
        home!.replica.resume();
        assert.equal(await copied, APPLIED);
      });
    }
  });
}

async function joinTwoMembers(): Promise<void> {
  const clusterName = `impaired ${clusterCount++}`;
  const countOf = (name: string) => REPLICA_COUNTS.get(name);
  const options = {
    ...{ port: 0, clusterName, deadlineMs: DEADLINE_MS, clusterReplicaCount: 1 },
    connect: (options: ConstructorParameters<typeof StoreServers>[1], observer: Observer) =>
      new StoreServers(parseEngineUrl(group.url), options, observer),
    mapReplicaCount: (map: Span) => countOf(map.toBuffer().toString()),
    queueReplicaCount: (queue: Buffer) => countOf(queue.toString()),
  };
  for (const uuid of ['a', 'b']) {
    members.push(await joinedMember(options, { uuid, leaseMs: LEASE_MS }));
  }
}

type Observer = ConstructorParameters<typeof StoreServers>[2];

async function endMembers(): Promise<void> {
  await Promise.all(members.map((member) => member.end()));
  members = [];
}

/** Sets entries in the shards by each member for this time, at least once; returns the outcomes. */
async function outcomesOfSets(
  ms: number,
  among: readonly Shard[],
  maps: readonly string[],
): Promise<readonly Outcome[]> {
  const outcomes = new Set<Outcome>();
  const end = performance.now() + ms;
  for (let number = 0; number === 0 || performance.now() < end; number++) {
    for (const { asker } of members) {
      const calls = among.flatMap((shard) =>
        maps.map((map) => asker.set(map, keyIn(shard, number), 'v')),
      );
      for (const { outcome } of await Promise.all(calls)) outcomes.add(outcome);
    }
    await sleep(20);
  }
  return [...outcomes];
}

/** First slot, last slot, primary, replica. */
type SlotRow = readonly [number, number, SlotNode, SlotNode];
type SlotNode = readonly [string, number, string];

/** The shards of the Cluster; the first one stores the cluster's record. */
async function shards(): Promise<Shard[]> {
  let rows: readonly SlotRow[] = [];
  await until(async () => {
    const reply = await group.servers[0]!.ask('CLUSTER', 'SLOTS');
    rows = reply as unknown as readonly SlotRow[];
    return rows.every((row) => row.length > 3);
  });
  const at = (port: number) => group.servers.find((server) => server.port === port)!;
  const byPrimary = new Map<string, Shard>();
  for (const [first, last, [, port, id], [, replica]] of rows) {
    if (byPrimary.has(id) && last - first < SLOT_COUNT / 10) continue;
    byPrimary.set(id, { first, last, primary: at(port), replica: at(replica), id });
  }
  const slot = LAYOUT.slotOf(0);
  const [, , [, , homeId]] = rows.find(([first, last]) => first <= slot && slot <= last)!;
  return [...byPrimary.values()].sort((one, other) => {
    return Number(other.id === homeId) - Number(one.id === homeId);
  });
}

/** Returns a key whose slot is in the shard, a different one for each number. */
function keyIn({ first, last }: Shard, number: number): string {
  for (let at = number * 1000; ; at++) {
    const key = `key ${at}`;
    const slot = slotOf(key);
    if (slot !== LAYOUT.slotOf(0) && slot >= first && slot <= last) return key;
  }
}

function slotOf(key: string): number {
  const bytes = Buffer.from(key);
  return LAYOUT.slotOf(LAYOUT.partitionOf(new Span().set(bytes, 0, bytes.length)));
}
