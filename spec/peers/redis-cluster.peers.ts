/**
 * The engine on a Cluster of three primaries with replicas, and on a primary that Sentinels
 * monitor: the contract's cases, failover of a primary that is killed or stopped, and changes while
 * slots move.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { APPLIED, LIST_START, LISTED, UNREACHABLE } from '../../src/engine/engine.ts';
import { Layout } from '../../src/engine/redis/layout.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { engineSuite } from '../engine/engine.case.ts';
import { holdSuite } from '../engine/holds.case.ts';
import { Offers, Writes } from '../engine/redis/steady-changes.ts';
import { Asker, span } from '../engine/results.ts';
import {
  type GroupServer,
  type SentinelGroup,
  type ServerGroup,
  sendCommand,
  startCluster,
  startSentinelGroup,
} from './server-group.ts';
import { until } from './server-process.ts';
import { type StoreEngineOptions, storeEngine, subjectOf } from './store-engines.ts';

const DEADLINE_MS = 3000;
const PROBES = 'probes';
/** Number of slots that move, each with a partition. */
const MOVED_SLOTS = 6;
/** More keys in each of a few partitions than a compact hash has. */
const LISTED_KEYS = 5000;
const LAYOUT = new Layout('any', 271);

function openEngine(url: string, options: Partial<StoreEngineOptions> = {}): Promise<RedisEngine> {
  return storeEngine({
    ...{ url, deadlineMs: DEADLINE_MS },
    mapReplicaCount: () => undefined,
    queueReplicaCount: () => undefined,
    ...options,
  });
}

const SPREAD_KEYS = 100_000;
/** Tolerance of a primary's share, relative to a third. */
const SPREAD_TOLERANCE = 0.03;
/** Counts the entries of the server's hashes whose keys end in the argument. */
const ENTRY_COUNT = `
local count = 0
for _, key in ipairs(redis.call('KEYS', '*' .. ARGV[1])) do
  count = count + redis.call('HLEN', key)
end
return count`;

let clusterCount = 0;
const createSubject = async (url: string) =>
  subjectOf(await openEngine(url, { clusterName: `cluster ${clusterCount++}` }));

describe('on a Cluster', () => {
  let group: ServerGroup;
  before(async () => {
    group = await startCluster();
  });
  after(() => group.end());

  engineSuite('an engine on a Cluster', () => createSubject(group.url), true);
  holdSuite('an engine on a Cluster', () => createSubject(group.url));

  test('100,000 keys are spread over three primaries, about a third on each', async () => {
    await withEngine(group.url, async (engine) => {
      let next = 0;
      const asker = new Asker(engine);
      const work = async (): Promise<void> => {
        while (next < SPREAD_KEYS) {
          const { outcome } = await asker.set('spread', `person-${next++}`, 'v');
          assert.equal(outcome, APPLIED);
        }
      };
      await Promise.all(Array.from({ length: 256 }, work));
      const counts: number[] = [];
      for (const server of await primariesAmong(group.servers)) {
        counts.push(Number(await server.ask('EVAL', ENTRY_COUNT, '0', 'm:spread')));
      }
      assert.equal(counts.length, 3);
      assert.equal(counts[0]! + counts[1]! + counts[2]!, SPREAD_KEYS);
      for (const each of counts) {
        assert.ok(Math.abs((3 * each) / SPREAD_KEYS - 1) < SPREAD_TOLERANCE, `${counts}`);
      }
    });
  });

  test('all changes made while slots move are applied once and in order', async () => {
    // Without the keys of other tests, slots move well within the deadline.
    for (const server of await primariesAmong(group.servers)) await server.ask('FLUSHALL');
    await withEngine(group.url, async (engine) => {
      const migration = await SlotMigration.plan(group.servers, MOVED_SLOTS);
      const writes = new Writes(engine, 'moved', sleep);
      const offers = migration.partitions.map(
        (partition) => new Offers(engine, queueIn(partition), sleep),
      );
      await sleep(200);
      await migration.run();
      await writes.end();
      await untilAgreed(group.servers);
      assert.ok(migration.keyCount > MOVED_SLOTS, `${migration.keyCount} keys`);
      assert.deepEqual(writes.outcomes(), [APPLIED]);
      await writes.check();
      for (const each of offers) await each.check();
    });
  });

  test('a list passes all entries while slots move', async () => {
    await withEngine(group.url, async (engine) => {
      const migration = await SlotMigration.plan(group.servers, MOVED_SLOTS);
      const keys = await setKeysIn(engine, migration.partitions);
      const migrated = sleep(50).then(() => migration.run());
      for (let rounds = 0; rounds < 2 || migration.keyCount < MOVED_SLOTS; rounds++) {
        await assertListed(engine, keys, async () => {});
      }
      await migrated;
      await untilAgreed(group.servers);
      await assertListed(engine, keys, async () => {});
    });
  });

  test('a list passes all entries although replicas replace their primaries', async () => {
    await withEngine(group.url, async (engine) => {
      const keys = await setKeysIn(engine, [0, 100, 200, 270]);
      await assertListed(engine, keys, async (calls) => {
        if (calls !== 10 && calls !== 60) return;
        for (const replica of await serversAmong(group.servers, 'slave')) {
          await until(async () => {
            // A failover may end without an effect.
            await replica.ask('CLUSTER', 'FAILOVER').catch(() => {});
            await sleep(200);
            return (await serversAmong([replica], 'master')).length === 1;
          });
        }
      });
      await untilAgreed(group.servers);
    });
  });

  test('a primary that is killed is replaced, and no APPLIED change is lost', async () => {
    await withEngine(group.url, async (engine) => {
      const writes = new Writes(engine, 'killed', sleep);
      const primary = await primaryAmong(group.servers);
      await sleep(200);
      await primary.kill();
      await untilWritable(engine, writes);
      await writes.check();
      await primary.start();
      await untilAgreed(group.servers);
    });
  });

  test('a primary that is stopped is replaced, and loses no change when it returns as a replica', async () => {
    await withEngine(group.url, async (engine) => {
      const writes = new Writes(engine, 'stopped', sleep);
      const primary = await primaryAmong(group.servers);
      await sleep(200);
      primary.pause();
      await untilWritable(engine, writes);
      primary.resume();
      await untilAgreed(group.servers);
      await writes.check();
    });
  });
});

describe('with Sentinels', () => {
  let pair: SentinelGroup;
  before(async () => {
    pair = await startSentinelGroup();
  });
  after(() => pair.end());

  engineSuite('an engine with Sentinels', () => createSubject(pair.url), true);
  holdSuite('an engine with Sentinels', () => createSubject(pair.url));

  test('an engine refuses a primary name that no Sentinel monitors', async () => {
    const url = pair.url.replace('sentinel=grid', 'sentinel=other');
    await assert.rejects(openEngine(url), /"other".*monitors no primary of that name/);
  });

  test('an engine refuses the URL of Sentinels without a primary name', async () => {
    await assert.rejects(
      openEngine(pair.url.replace(/\?.*/, '')),
      /is a Sentinel; add \?sentinel=NAME/,
    );
  });

  test('a primary that is killed is replaced, even if one Sentinel is down', async () => {
    await withEngine(pair.url, async (engine) => {
      const writes = new Writes(engine, 'killed', sleep);
      const primary = await primaryAmong(pair.servers);
      await sleep(200);
      await pair.sentinels[0]!.kill();
      await primary.kill();
      await untilWritable(engine, writes);
      await writes.check();
      await primary.start();
      await untilReplicated(pair.servers, 1);
      await pair.sentinels[0]!.start();
    });
  });

  test('an engine follows a failover in which no server fails', async () => {
    await withEngine(pair.url, async (engine) => {
      const writes = new Writes(engine, 'demoted', sleep);
      await until(async () => writes.count(APPLIED) > 0);
      await failOver(pair);
      await untilWritable(engine, writes);
      await writes.check();
    });
  });
});

async function withEngine(
  url: string,
  work: (engine: RedisEngine) => Promise<void>,
): Promise<void> {
  const engine = await openEngine(url, {
    clusterName: `cluster ${clusterCount++}`,
    // Probes wait for the new primaries, and so must not fail while these have no replica.
    mapReplicaCount: (map) => (map.toBuffer().toString() === PROBES ? 0 : undefined),
  });
  try {
    await work(engine);
  } finally {
    await engine.close();
  }
}

/** Waits until keys in all partitions can be set again, then ends the writes. */
async function untilWritable(engine: RedisEngine, writes: Writes): Promise<void> {
  const asker = new Asker(engine);
  await until(async () => {
    const probes = Array.from({ length: 300 }, (_, index) => asker.set(PROBES, `${index}`, 'v'));
    return (await Promise.all(probes)).every(({ outcome }) => outcome === APPLIED);
  });
  await sleep(100);
  await writes.end();
}

/** Sets entries of `listed` in the partitions. Resolves with their keys. */
async function setKeysIn(engine: RedisEngine, partitions: readonly number[]): Promise<string[]> {
  const keys: string[] = [];
  for (let number = 0; keys.length < LISTED_KEYS; number++) {
    const key = `key ${number}`;
    if (partitions.includes(LAYOUT.partitionOf(span(key)))) keys.push(key);
  }
  const asker = new Asker(engine);
  const sets = keys.map((key) => asker.set('listed', key, 'v'));
  for (const { outcome } of await Promise.all(sets)) assert.equal(outcome, APPLIED);
  return keys;
}

/** Lists `listed`; `between` is called after each call of the list. */
async function assertListed(
  engine: RedisEngine,
  keys: readonly string[],
  between: (calls: number) => Promise<void>,
): Promise<void> {
  const asker = new Asker(engine);
  const missing = new Set(keys);
  let calls = 0;
  for (let place = LIST_START.bytes.toString('latin1'); place !== ''; ) {
    const { entries, seen } = await asker.entries('listed', { place, count: 50 });
    for (const { key } of entries) missing.delete(key);
    if (seen?.outcome === LISTED) place = seen.place;
    else assert.equal(seen?.outcome, UNREACHABLE);
    await between(++calls);
  }
  assert.deepEqual([...missing], []);
  assert.ok(calls >= keys.length / 50);
}

async function primaryAmong(servers: readonly GroupServer[]): Promise<GroupServer> {
  const [first] = await primariesAmong(servers);
  if (first === undefined) throw new Error('no primary');
  return first;
}

function primariesAmong(servers: readonly GroupServer[]): Promise<GroupServer[]> {
  return serversAmong(servers, 'master');
}

async function serversAmong(
  servers: readonly GroupServer[],
  role: 'master' | 'slave',
): Promise<GroupServer[]> {
  const found: GroupServer[] = [];
  for (const server of servers) {
    const reply = await server.ask('ROLE');
    if (Array.isArray(reply) && reply[0] === role) found.push(server);
  }
  return found;
}

/** Waits until there are `count` primaries, each with a replica. */
async function untilReplicated(servers: readonly GroupServer[], count: number): Promise<void> {
  await until(async () => {
    const roles = await Promise.all(servers.map(({ port }) => sendCommand(port, 'ROLE')));
    const primaries = roles.filter((role) => Array.isArray(role) && role[0] === 'master');
    return (
      primaries.length === count &&
      primaries.every((role) => Array.isArray(role) && Array.isArray(role[2]) && role[2].length > 0)
    );
  });
}

/**
 * Waits until the three primaries of the Cluster have their replicas and every server reports the
 * same owner of each slot. A server that is killed before that could be replaced by one that the
 * others do not believe.
 */
async function untilAgreed(servers: readonly GroupServer[]): Promise<void> {
  await untilReplicated(servers, 3);
  await until(async () => {
    const views = await Promise.all(servers.map(ownersSeenBy));
    return views.every((view) => view === views[0]);
  });
}

/** Returns the ranges of slots, each with the port of its owner, as a server reports them. */
async function ownersSeenBy({ port }: GroupServer): Promise<string> {
  const rows = await sendCommand(port, 'CLUSTER', 'SLOTS');
  assert.ok(Array.isArray(rows));
  return rows
    .map(([first, last, [, owner]]) => `${first}-${last} ${owner}`)
    .sort()
    .join();
}

/** Makes a Sentinel fail over, as an administrator does, and waits for the new primary. */
async function failOver({ servers, sentinels }: SentinelGroup): Promise<void> {
  const before = await primaryAmong(servers);
  await until(async () => {
    await sendCommand(sentinels[1]!.port, 'SENTINEL', 'FAILOVER', 'grid');
    return true;
  });
  await until(async () => (await primaryAmong(servers)) !== before);
}

/** A migration of slots with their keys from one primary to another, in the steps of redis-cli. */
class SlotMigration {
  /** The partitions whose slots move. */
  readonly partitions: readonly number[];
  /** Number of keys that were moved. */
  keyCount = 0;
  readonly #from: Node;
  readonly #to: Node;

  private constructor(from: Node, to: Node, partitions: readonly number[]) {
    this.#from = from;
    this.#to = to;
    this.partitions = partitions;
  }

  static async plan(servers: readonly GroupServer[], count: number): Promise<SlotMigration> {
    const source = await primaryAmong(servers);
    const rows = await sendCommand(source.port, 'CLUSTER', 'SLOTS');
    assert.ok(Array.isArray(rows));
    const nodes: Node[] = rows.map(([first, last, [, port, id]]) => ({ first, last, port, id }));
    // A node has several rows once slots have moved.
    const own = nodes.filter(({ port }) => port === source.port);
    const [from] = own;
    const to = nodes.find(({ port }) => port !== source.port);
    assert.ok(from !== undefined && to !== undefined);
    const partitions = Array.from({ length: LAYOUT.partitionCount }, (_, index) => index).filter(
      (partition) => {
        const slot = LAYOUT.slotOf(partition);
        return own.some(({ first, last }) => slot >= first && slot <= last);
      },
    );
    assert.ok(partitions.length >= count);
    return new SlotMigration(from, to, partitions.slice(0, count));
  }

  async run(): Promise<void> {
    for (const partition of this.partitions) await this.#moveSlot(`${LAYOUT.slotOf(partition)}`);
  }

  async #moveSlot(slot: string): Promise<void> {
    const [from, to] = [this.#from, this.#to];
    await sendCommand(to.port, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await sendCommand(from.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    for (;;) {
      // Until all keys have moved, commands on keys of both servers fail with TRYAGAIN.
      const keys = await sendCommand(from.port, 'CLUSTER', 'GETKEYSINSLOT', slot, '1');
      if (!Array.isArray(keys) || keys.length === 0) break;
      const target = ['127.0.0.1', `${to.port}`, '', '0', '5000'];
      await sendCommand(from.port, 'MIGRATE', ...target, 'KEYS', ...keys);
      this.keyCount += keys.length;
      await sleep(30);
    }
    await sendCommand(to.port, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
    await sendCommand(from.port, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
  }
}

interface Node {
  readonly first: number;
  readonly last: number;
  readonly port: number;
  readonly id: string;
}

/** Returns the name of a queue in the partition. */
function queueIn(partition: number): string {
  for (let number = 0; ; number++) {
    const name = `queue ${number}`;
    if (LAYOUT.partitionOf(span(name)) === partition) return name;
  }
}
