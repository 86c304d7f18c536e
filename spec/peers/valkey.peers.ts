/**
 * The suites of the engine on Valkey: the contract, lists, REST, failover and rights. Also the comparison
 * with the fake server of spec/world, and CLUSTER MIGRATESLOTS, which only Valkey has.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SystemClock } from '../../src/base/clock.ts';
import { APPLIED, FOUND, type Outcome } from '../../src/engine/engine.ts';
import { Layout } from '../../src/engine/redis/layout.ts';
import { type JoinedMember, joinedMember } from '../engine/redis/joined-member.ts';
import { span } from '../engine/results.ts';
import type { ServerGroup } from './server-group.ts';
import { PARTITION_COUNT } from './store-engines.ts';
import { valkeyServer } from './tools.ts';

// Set before the suites are loaded, whose titles name the server.
process.env.ENGINE_SERVER = valkeyServer();
await import('./redis-engine.peers.ts');
await import('./lists.peers.ts');
await import('./rest-on-servers.peers.ts');
await import('./redis-cluster.peers.ts');
await import('./rights.peers.ts');
await import('./fake-store.peers.ts');
const { startCluster } = await import('./server-group.ts');
const { until } = await import('./server-process.ts');
const { storeEngine } = await import('./store-engines.ts');

const LEASE_MS = 6000;
const LONG = { timeToLiveMs: 3_600_000, maxIdleSeconds: 0 };
const LAYOUT = new Layout('any', PARTITION_COUNT);
const ENTRIES = 2000;

describe('CLUSTER MIGRATESLOTS', () => {
  let group: ServerGroup;
  let members: JoinedMember[] = [];

  before(async () => {
    group = await startCluster();
    const options = {
      ...{ url: group.url, clusterName: 'moving', clusterReplicaCount: 1 },
      mapReplicaCount: () => 1,
      queueReplicaCount: () => 1,
    };
    for (const uuid of ['a', 'b']) {
      const engine = await storeEngine(options);
      members.push(await joinedMember(engine, new SystemClock(), { uuid, leaseMs: LEASE_MS }));
    }
  });

  after(async () => {
    await Promise.all(members.map((member) => member.end()));
    members = [];
    await group.end();
  });

  it('moves the slots of the record, maps and queues without a failed call', async () => {
    const slots = (await group.servers[0]!.ask('CLUSTER', 'SLOTS')) as unknown as SlotRow[];
    const home = slots.find(([first]) => first === 0)!;
    const target = slots.find(([first]) => first !== 0)!;
    const at = ([, port]: SlotNode) => group.servers.find((server) => server.port === port)!;
    const last = LAYOUT.slotOf(10);
    const queue = names('queue', last)[0]!;
    const keys = names('key', last);
    const outcomes = new Set<Outcome>();
    let isOver = false;
    let number = 0;
    const work = async ({ asker }: JoinedMember): Promise<void> => {
      for (; !isOver && number < ENTRIES; number++) {
        const key = keys[number % keys.length]!;
        for (const call of [
          asker.set('m', `${key}`, `${number}`),
          asker.set('lives', key, `${number}`, '', LONG),
          asker.offer(queue, `${number}`),
        ]) {
          outcomes.add((await call).outcome);
        }
        const polled = (await asker.poll(queue)).outcome;
        if (polled !== FOUND) outcomes.add(polled);
        await sleep(1);
      }
    };
    const working = members.map(work);
    const migrate = ['CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', '0', `${last}`, 'NODE', target[2][2]];
    assert.equal(await at(home[2]).ask(...migrate), 'OK');
    await until(async () => {
      const reply = await at(target[2]).ask('CLUSTER', 'SLOTS');
      return (reply as unknown as SlotRow[]).some(
        ([first, , [, port]]) => first === 0 && port === target[2][1],
      );
    });
    await sleep(1000);
    isOver = true;
    await Promise.all(working);
    assert.deepEqual([...outcomes], [APPLIED]);
    for (const { cluster, reports } of members) {
      assert.ok(cluster.isReady && cluster.acceptsWrites, reports.join());
    }
  });
});

/** First slot, last slot, primary. */
type SlotRow = readonly [number, number, SlotNode];
type SlotNode = readonly [string, number, string];

/** Returns names whose partitions are in the slots up to `last`. */
function names(prefix: string, last: number): string[] {
  return Array.from({ length: 2000 }, (_, index) => `${prefix} ${index}`).filter(
    (name) => LAYOUT.slotOf(LAYOUT.partitionOf(span(name))) <= last,
  );
}
