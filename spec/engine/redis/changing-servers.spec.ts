/**
 * Covers src/engine/redis/dispatcher.ts and src/engine/redis/*-topology.ts. Changes while the
 * servers change: slots move, primaries fail or are cut off, replicas do not confirm.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ABSENT, APPLIED, FOUND, UNKNOWN, UNREACHABLE } from '../../../src/engine/engine.ts';
import { Layout } from '../../../src/engine/redis/layout.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { FakeCluster, promote } from '../../world/fake-cluster.ts';
import { FakeSentinels } from '../../world/fake-sentinels.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { PARTITION_COUNT, withStore } from '../../world/world-engines.ts';
import { Asker, span } from '../results.ts';
import { Offers, Writes } from './steady-changes.ts';

const DEADLINE_MS = 3000;
/** Time after which a server that does not reply is replaced, in ms. */
const NODE_TIMEOUT_MS = 2000;
const MOVED_SLOTS = 3;
const STEP_MS = 30;
const LAYOUT = new Layout('any', PARTITION_COUNT);
/** Entries of this map need no replica. */
const ALONE = 'alone';

const world = new World();
const sleep = (ms: number) => world.sleep(ms);
/** Between two changes, while slots move and while servers are replaced. */
const shortPause = () => world.sleep(20);
const longPause = () => world.sleep(100);

function onServers(url: string, run: (engine: RedisEngine) => Promise<void>): Promise<void> {
  const options = {
    deadlineMs: DEADLINE_MS,
    mapReplicaCount: (map: { toBuffer(): Buffer }) => (`${map.toBuffer()}` === ALONE ? 0 : 1),
    queueReplicaCount: () => 1,
  };
  return withStore(world, url, options, ({ engine }) => run(engine));
}

/** Runs a test on a Cluster of three primaries, each with a replica. */
function onCluster(
  run: (engine: RedisEngine, cluster: FakeCluster) => Promise<void>,
): () => Promise<void> {
  return () => {
    const cluster = new FakeCluster(world, 3, 1);
    return onServers(cluster.url, (engine) => run(engine, cluster));
  };
}

/** Waits until keys in all partitions can be set again. */
async function untilWritable(engine: RedisEngine): Promise<void> {
  const asker = new Asker(engine);
  for (;;) {
    const probes = Array.from({ length: 2 * PARTITION_COUNT }, (_, index) =>
      asker.set(ALONE, `probe ${index}`, 'v'),
    );
    const results = await Promise.all(probes);
    if (results.every(({ outcome }) => outcome === APPLIED)) return;
    await sleep(50);
  }
}

/** Returns the name of a queue in the partition. */
function queueIn(partition: number): string {
  for (let number = 0; ; number++) {
    const name = `queue ${number}`;
    if (LAYOUT.partitionOf(span(name)) === partition) return name;
  }
}

test(
  'changes made while slots move are applied once and in order',
  onCluster(async (engine, cluster) => {
    const writes = new Writes(engine, 'map', shortPause);
    const queues = Array.from({ length: MOVED_SLOTS }, (_, partition) => queueIn(partition));
    const offers = queues.map((queue) => new Offers(engine, queue, shortPause));
    await sleep(STEP_MS);
    for (let partition = 0; partition < MOVED_SLOTS; partition++) {
      const slot = LAYOUT.slotOf(partition);
      cluster.migrate(slot, cluster.servers[1]!);
      // Until all keys have moved, commands on keys of both servers fail with TRYAGAIN.
      for (let left = 1; cluster.moveKeys(slot, () => left-- > 0) > 0; left = 1)
        await sleep(STEP_MS);
      cluster.assign(slot);
      await sleep(STEP_MS);
    }
    await writes.check();
    assert.deepEqual(writes.outcomes(), [APPLIED]);
    for (const each of offers) await each.check();
    const replies = cluster.servers.flatMap(({ received }) => received.map(({ reply }) => reply));
    for (const error of ['-ASK ', '-TRYAGAIN ', '-MOVED ']) {
      assert(
        replies.some((reply) => reply.startsWith(error)),
        error,
      );
    }
  }),
);

for (const fault of ['killed', 'cut off']) {
  test(
    `a primary that is ${fault} is replaced, and no APPLIED change is lost`,
    onCluster(async (engine, cluster) => {
      const writes = new Writes(engine, 'map', longPause);
      const [primary] = cluster.servers;
      const [replica] = primary!.replication.servers;
      await sleep(200);
      if (fault === 'killed') primary!.stop();
      else world.network.cut(primary!.address, true);
      await sleep(NODE_TIMEOUT_MS);
      cluster.failOver(replica!);
      await untilWritable(engine);
      if (fault === 'killed') primary!.restart(false);
      else {
        // It executes what it had received, and does not know yet that it was replaced.
        world.network.cut(primary!.address, false);
        await sleep(STEP_MS);
      }
      cluster.rejoin(primary!, replica!);
      await sleep(500);
      await writes.check();
      assert(writes.count(UNKNOWN) > 0);
    }),
  );
}

test(
  'operations wait while the Cluster is down, at most until the deadline',
  onCluster(async (engine, cluster) => {
    const asker = new Asker(engine);
    await asker.set('map', 'key', 'old');
    cluster.isOk = false;
    const results = Promise.all([asker.get('map', 'key'), asker.set('map', 'other', 'v')]);
    await sleep(DEADLINE_MS / 2);
    cluster.isOk = true;
    assert.deepEqual(
      (await results).map(({ outcome }) => outcome),
      [FOUND, APPLIED],
    );
    cluster.isOk = false;
    assert.equal((await asker.set('map', 'key', 'new')).outcome, UNREACHABLE);
    cluster.isOk = true;
    assert.equal((await asker.get('map', 'key')).value, 'old');
  }),
);

test(
  'a replica that hangs delays only changes that need it',
  onCluster(async (engine, { servers }) => {
    const asker = new Asker(engine);
    const lag = (isLagging: boolean) => {
      for (const replica of servers) replica.primary?.replication.lag(replica, isLagging);
    };
    lag(true);
    let isAnswered = false;
    const copied = asker.set('map', 'key', 'v').then(({ outcome }) => {
      isAnswered = true;
      return outcome;
    });
    assert.equal((await asker.set(ALONE, 'key', 'v')).outcome, APPLIED);
    assert(!isAnswered);
    lag(false);
    assert.equal(await copied, APPLIED);
    lag(true);
    assert.equal((await asker.offer('queue', 'a')).outcome, UNKNOWN);
    assert.equal((await asker.take('queue')).outcome, UNKNOWN);
    lag(false);
    await sleep(DEADLINE_MS);
    assert.equal((await asker.poll('queue')).value, 'a');
    assert.equal((await asker.poll('queue')).outcome, ABSENT);
  }),
);

for (const isKilled of [true, false]) {
  const how = isKilled ? 'that is killed' : 'that does not fail';
  test(`a primary ${how} is replaced by Sentinels, and no APPLIED change is lost`, () => {
    const [primary, replica] = [new FakeServer(world), new FakeServer(world)];
    primary.replication.connect(replica);
    const sentinels = new FakeSentinels(world, 3, primary.address);
    return onServers(sentinels.url, async (engine) => {
      const writes = new Writes(engine, 'map', longPause);
      await sleep(200);
      if (isKilled) {
        sentinels.servers[0]!.stop();
        primary.stop();
        await sleep(NODE_TIMEOUT_MS);
      }
      promote(replica);
      sentinels.switchTo(replica.address);
      await untilWritable(engine);
      if (isKilled) primary.restart(false);
      replica.replication.connect(primary);
      await sleep(500);
      await writes.check();
    });
  });
}
