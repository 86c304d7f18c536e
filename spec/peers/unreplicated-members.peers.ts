/**
 * Members on a Cluster of which a part is impaired: the replica of the primary that has the cluster's own
 * record is away, or hangs, or the slot of that record is being moved. Only what needs that part waits.
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
/** Longer than any lease. */
const IMPAIRED_MS = LEASE_MS + 2000;
const DEADLINE_MS = 3000;
/** A queue of 200 MB. */
const MOVED_ITEMS = 200;
const MOVED_ITEM = Buffer.alloc(1e6, '.');
const LAYOUT = new Layout('any', 271);
/** Maps by their count of replicas. */
const COUNTS = new Map([
  ['alone', 0],
  ['copied', 1],
]);

interface Part {
  readonly first: number;
  readonly last: number;
  readonly primary: GroupServer;
  readonly replica: GroupServer;
  readonly id: string;
}

let group: ServerGroup;
let members: JoinedMember[] = [];
let clusterCount = 0;

for (const least of [0, 1]) {
  describe(`with min-replicas-to-write ${least}`, () => {
    before(async () => {
      group = await startCluster([
        ...['--min-replicas-to-write', `${least}`, '--min-replicas-max-lag', '2'],
        // No failover while a key is moved, which stops two servers for seconds.
        ...['--repl-diskless-sync-delay', '0', '--cluster-node-timeout', '10000'],
      ]);
    });
    beforeEach(joinTwo);
    afterEach(endAll);
    after(() => group.end());

    it('all goes on but what needs the replica that is away', async () => {
      const [own, ...others] = await parts();
      await own!.replica.kill();
      const outcomes = await written(IMPAIRED_MS, others, ['alone', 'copied']);
      assert.deepEqual(outcomes, [APPLIED]);
      if (least === 0) assert.deepEqual(await written(500, [own!], ['alone']), [APPLIED]);
      for (const { cluster, told } of members) {
        assert.ok(cluster.isReady && cluster.acceptsWrites, told.join());
      }
      await own!.replica.start();
      await until(async () => (await written(0, [own!], ['copied'])).join() === `${APPLIED}`);
    });

    if (least === 0) {
      it('all goes on while the slot of the record is open, on either side', async () => {
        const [own, target] = await parts();
        const slot = `${LAYOUT.slotOf(0)}`;
        await target!.primary.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', own!.id);
        await own!.primary.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target!.id);
        const all = await parts();
        assert.deepEqual(await written(IMPAIRED_MS, all, ['alone', 'copied']), [APPLIED]);
        for (;;) {
          const keys = await own!.primary.ask('CLUSTER', 'GETKEYSINSLOT', slot, '100');
          if (!Array.isArray(keys) || keys.length === 0) break;
          const to = ['127.0.0.1', `${target!.primary.port}`, '', '0', '5000'];
          await own!.primary.ask('MIGRATE', ...to, 'KEYS', ...keys);
        }
        assert.deepEqual(await written(IMPAIRED_MS, all, ['alone', 'copied']), [APPLIED]);
        await members[0]!.cluster.changeState('FROZEN');
        await members[1]!.cluster.changeState('ACTIVE');
        for (const { told } of members) assert.equal(told.length, 1, told.join());
        for (const { primary } of [target!, own!]) {
          await primary.ask('CLUSTER', 'SETSLOT', slot, 'NODE', target!.id);
        }
        assert.deepEqual(await written(2000, all, ['alone', 'copied']), [APPLIED]);
      });

      it('all goes on at the third primary while a key of 200 MB is moved', async () => {
        const [own, target, third] = await parts();
        const queue = keyIn(own!, 0);
        const { asker } = members[0]!;
        for (let count = 0; count < MOVED_ITEMS; count += 10) {
          const offers = Array.from({ length: 10 }, () => asker.offer(queue, MOVED_ITEM));
          for (const { outcome } of await Promise.all(offers)) assert.equal(outcome, APPLIED);
        }
        const slot = `${slotOf(queue)}`;
        await target!.primary.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', own!.id);
        await own!.primary.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target!.id);
        const keys = await own!.primary.ask('CLUSTER', 'GETKEYSINSLOT', slot, '100');
        assert.ok(Array.isArray(keys));
        let isMoved = false;
        const to = ['127.0.0.1', `${target!.primary.port}`, '', '0', '60000'];
        const moved = serverCommand(
          own!.primary.port,
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
          assert.deepEqual(await written(0, [third!], ['alone', 'copied']), [APPLIED]);
          writeCount++;
        }
        assert.equal(await done, 'OK');
        assert.ok(writeCount > 1);
        for (const { primary } of [target!, own!]) {
          await primary.ask('CLUSTER', 'SETSLOT', slot, 'NODE', target!.id);
        }
        for (const { cluster, told } of members) {
          assert.ok(cluster.isReady && cluster.acceptsWrites, told.join());
        }
        assert.equal((await asker.queueSize(queue)).count, MOVED_ITEMS);
        assert.equal((await asker.poll(queue)).value?.length, MOVED_ITEM.length);
      });

      it('a replica that hangs delays only what needs it', async () => {
        const [own] = await parts();
        own!.replica.stopInPlace();
        const { asker } = members[0]!;
        const key = keyIn(own!, 0);
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
        own!.replica.goOn();
        assert.equal(await copied, APPLIED);
      });
    }
  });
}

async function joinTwo(): Promise<void> {
  const clusterName = `impaired ${clusterCount++}`;
  const countOf = (name: string) => COUNTS.get(name);
  const options = {
    ...{ port: 0, clusterName, deadlineMs: DEADLINE_MS, clusterReplicaCount: 1 },
    connect: (own: ConstructorParameters<typeof StoreServers>[1], observer: Observer) =>
      new StoreServers(parseEngineUrl(group.url), own, observer),
    mapReplicaCount: (map: Span) => countOf(map.toBuffer().toString()),
    queueReplicaCount: (queue: Buffer) => countOf(queue.toString()),
  };
  for (const uuid of ['a', 'b']) {
    members.push(await joinedMember(options, { uuid, leaseMs: LEASE_MS }));
  }
}

type Observer = ConstructorParameters<typeof StoreServers>[2];

async function endAll(): Promise<void> {
  await Promise.all(members.map((member) => member.end()));
  members = [];
}

/** Sets entries in the parts by each member until the time is over: the outcomes that there were. */
async function written(
  ms: number,
  among: readonly Part[],
  maps: readonly string[],
): Promise<readonly Outcome[]> {
  const outcomes = new Set<Outcome>();
  const end = performance.now() + ms;
  for (let number = 0; number === 0 || performance.now() < end; number++) {
    for (const { asker } of members) {
      const asked = among.flatMap((part) =>
        maps.map((map) => asker.set(map, keyIn(part, number), 'v')),
      );
      for (const { outcome } of await Promise.all(asked)) outcomes.add(outcome);
    }
    await sleep(20);
  }
  return [...outcomes];
}

/** First slot, last slot, primary, replica. */
type SlotRow = readonly [number, number, SlotNode, SlotNode];
type SlotNode = readonly [string, number, string];

/** The parts of the Cluster; that of the record first. */
async function parts(): Promise<Part[]> {
  let rows: readonly SlotRow[] = [];
  await until(async () => {
    const told = await group.servers[0]!.ask('CLUSTER', 'SLOTS');
    rows = told as unknown as readonly SlotRow[];
    return rows.every((row) => row.length > 3);
  });
  const at = (port: number) => group.servers.find((server) => server.port === port)!;
  const byServer = new Map<string, Part>();
  for (const [first, last, [, port, id], [, replica]] of rows) {
    if (byServer.has(id) && last - first < SLOT_COUNT / 10) continue;
    byServer.set(id, { first, last, primary: at(port), replica: at(replica), id });
  }
  const slot = LAYOUT.slotOf(0);
  const [, , [, , home]] = rows.find(([first, last]) => first <= slot && slot <= last)!;
  return [...byServer.values()].sort((one, other) => {
    return Number(other.id === home) - Number(one.id === home);
  });
}

/** A key whose slot is in the part; another one for each number. */
function keyIn({ first, last }: Part, number: number): string {
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
