/** Discovery of the servers of a store, and changes among them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ABSENT, APPLIED, UNKNOWN } from '../../../src/engine/engine.ts';
import type { RedisEngine, RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';
import { FakeCluster } from '../../world/fake-cluster.ts';
import { FakeSentinels } from '../../world/fake-sentinels.ts';
import { FakeServer, replying, SILENCE } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { get, set, valuesDone, withStore } from '../../world/world-engines.ts';

const world = new World();

async function setMany(engine: Parameters<typeof set>[0], count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => set(engine, `${index}`, '1')));
}

const NO_REPLICA = { mapReplicaCount: () => 0, queueReplicaCount: () => 0 };

test('operations are sent to the primary of their partition, whichever node is queried', async () => {
  const { servers } = new FakeCluster(world, 2, 1);
  const [a, b, replica] = servers;
  await withStore(world, replica!.url, NO_REPLICA, async ({ engine }) => {
    assert.deepEqual(new Set(await setMany(engine, 200)), new Set([APPLIED]));
    assert.equal(a!.countOf('HSET') + b!.countOf('HSET'), 200);
    assert.ok(a!.countOf('HSET') > 50 && b!.countOf('HSET') > 50);
    assert.equal(replica!.countOf('HSET'), 0);
  });
});

test('discovered nodes get the same login', async () => {
  const cluster = new FakeCluster(world, 2);
  const logins = cluster.servers.map((server) => {
    const seen = new Set<string>();
    server.script = ([name, ...words]) => {
      if (name === 'AUTH') seen.add(words.join(' '));
      return undefined;
    };
    return seen;
  });
  const login = { user: 'grid', password: 'word' };
  await withStore(world, cluster.servers[0]!.url, { ...NO_REPLICA, login }, async ({ engine }) => {
    await setMany(engine, 50);
  });
  for (const seen of logins) assert.deepEqual([...seen], ['grid word']);
});

test('if a server of the URL does not reply, another one reports the topology', async () => {
  const [primary, replica] = new FakeCluster(world, 1, 1).servers;
  replica!.stop();
  const url = `${replica!.url},127.0.0.1:${primary!.port}`;
  await withStore(world, url, NO_REPLICA, async ({ engine }) => {
    assert.equal(await set(engine, 'key', '1'), APPLIED);
  });
});

/** Runs a test on a primary and its replica; `replace` makes the replica the primary. */
async function onReplaced(
  options: Partial<RedisEngineOptions>,
  run: (engine: RedisEngine, a: FakeServer, b: FakeServer, replace: () => void) => Promise<void>,
): Promise<void> {
  const cluster = new FakeCluster(world, 1, 1);
  const [a, b] = cluster.servers as [FakeServer, FakeServer];
  const replace = () => {
    cluster.failOver(b);
    cluster.rejoin(a, b);
  };
  await withStore(world, a.url, { ...NO_REPLICA, ...options }, ({ engine }) =>
    run(engine, a, b, replace),
  );
}

test('the connections of a replaced primary end: its changes are unknown, reads continue', () =>
  onReplaced({}, async (engine, a, b, replace) => {
    a.script = ([name = '']) => (['HSET', 'HGET'].includes(name) ? SILENCE : undefined);
    const outcomes = Promise.all([set(engine, 'key', '1'), get(engine, 'key')]);
    await world.until(() => a.received.length === 2);
    replace();
    // The lookup every 10 s would be much later; the end of a connection causes one.
    a.dropOne();
    assert.deepEqual(await outcomes, [UNKNOWN, ABSENT]);
    assert.equal(b.countOf('HSET'), 0);
    assert.equal(await set(engine, 'key', '2'), APPLIED);
    assert.equal(b.countOf('HSET'), 1);
  }));

test('a silent primary causes a lookup: its reads are sent to the one that replaced it', () =>
  onReplaced({ deadlineMs: 60_000 }, async (engine, a, _, replace) => {
    a.script = replying('HGET', SILENCE);
    // The lookup after the start has ended.
    await world.sleep(1500);
    const outcome = get(engine, 'key');
    await world.until(() => a.countOf('HGET') > 0);
    replace();
    const start = world.clock.now();
    assert.equal(await outcome, ABSENT);
    // The next lookup would otherwise be after 10 s.
    assert(world.clock.now() - start < 8000);
  }));

test('MOVED changes the table at once, and a lookup follows', () =>
  onReplaced({}, async (engine, a, _, replace) => {
    replace();
    assert.equal(await set(engine, 'key', '1'), APPLIED);
    assert.equal(await set(engine, 'key', '2'), APPLIED);
    assert.equal(a.countOf('HSET'), 1);
    // After the lookup, a key of another slot is sent there without MOVED.
    await world.sleep(500);
    assert.equal(await set(engine, 'other', '3'), APPLIED);
    assert.equal(a.countOf('HSET'), 1);
  }));

test('a Sentinel that names a server other than a primary is skipped', async () => {
  const [a, b] = [new FakeServer(world), new FakeServer(world)];
  b.replication.connect(a);
  const sentinels = new FakeSentinels(world, 2);
  sentinels.named = [a.address, b.address];
  await withStore(world, sentinels.url, NO_REPLICA, async ({ engine }) => {
    assert.equal(await set(engine, 'key', '1'), APPLIED);
    assert.equal(b.countOf('HSET'), 1);
  });
});

test('Sentinels without a password are queried without a login, the server with one', async () => {
  const a = new FakeServer(world);
  const logins: string[] = [];
  const sentinels = new FakeSentinels(world, 1, a.address);
  const [sentinel] = sentinels.servers;
  const { script } = sentinel!;
  sentinel!.script = (words) =>
    words[0] === 'AUTH'
      ? '-ERR AUTH <password> called without any password configured for the default user.\r\n'
      : script(words);
  a.script = ([name, word = '']) => {
    if (name === 'AUTH') logins.push(word);
    return undefined;
  };
  const login = { user: undefined, password: 'word' };
  await withStore(world, sentinels.url, { ...NO_REPLICA, login }, async ({ engine }) => {
    assert.equal(await set(engine, 'key', '1'), APPLIED);
    assert.deepEqual([...new Set(logins)], ['word']);
  });
});

test('waiting operations are sent to the new primary in order after +switch-master', async () => {
  const [a, b] = [new FakeServer(world), new FakeServer(world)];
  const sentinels = new FakeSentinels(world, 3, a.address);
  await withStore(world, sentinels.url, NO_REPLICA, async ({ engine }) => {
    a.script = replying('HSET', '-READONLY it is a replica\r\n');
    const outcomes = Promise.all(['1', '2', '3'].map((value) => set(engine, 'key', value)));
    while (a.countOf('HSET') < 3) await world.sleep(5);
    sentinels.switchTo(b.address);
    assert.deepEqual(await outcomes, [APPLIED, APPLIED, APPLIED]);
    assert.deepEqual(valuesDone(b), ['1', '2', '3']);
  });
});
