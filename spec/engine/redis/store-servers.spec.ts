/** Discovery of the servers of a store, and changes among them. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { ABSENT, APPLIED, UNKNOWN } from '../../../src/engine/engine.ts';
import { FakeSentinels } from '../../world/fake-sentinels.ts';
import { array, bulk, FakeServer, type Script, SILENCE } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { get, set, withStore } from '../../world/world-engines.ts';

const world = new World();
const servers: FakeServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.stop();
});

async function started(count: number): Promise<FakeServer[]> {
  for (let index = 0; index < count; index++) servers.push(new FakeServer(world));
  return servers;
}

/** Makes the servers a cluster in which each of `primaries` has an equal part of the slots. */
function asCluster(nodes: readonly FakeServer[], primaries: () => readonly FakeServer[]): void {
  for (const node of nodes) {
    node.mode = 'cluster';
    node.script = clusterScript(primaries);
  }
}

function clusterScript(primaries: () => readonly FakeServer[]): Script {
  return ([name, what]) => {
    if (name !== 'CLUSTER') return undefined;
    return what === 'INFO' ? bulk('cluster_state:ok\r\n') : slotsOf(primaries());
  };
}

function slotsOf(primaries: readonly FakeServer[]): string {
  const size = Math.ceil(16384 / primaries.length);
  const ranges = primaries.map(({ port }, index) => {
    const last = Math.min(16384, size * (index + 1)) - 1;
    const node = array([bulk('127.0.0.1'), `:${port}\r\n`, bulk(`id ${port}`)]);
    return array([`:${size * index}\r\n`, `:${last}\r\n`, node]);
  });
  return array(ranges);
}

function setCount({ received }: FakeServer): number {
  return received.filter(({ words }) => words[0] === 'HSET').length;
}

async function setMany(engine: Parameters<typeof set>[0], count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => set(engine, `${index}`, '1')));
}

const NO_REPLICA = { mapReplicaCount: () => 0, queueReplicaCount: () => 0 };

test('operations are sent to the primary of their partition, whichever node is queried', async () => {
  const [a, b, c] = await started(3);
  asCluster(servers, () => [a!, b!]);
  await withStore(world, c!.url, NO_REPLICA, async ({ engine }) => {
    assert.deepEqual(new Set(await setMany(engine, 200)), new Set([APPLIED]));
    assert.equal(setCount(a!) + setCount(b!), 200);
    assert.ok(setCount(a!) > 50 && setCount(b!) > 50);
    assert.equal(setCount(c!), 0);
  });
});

test('discovered nodes get the same login', async () => {
  const [a, b] = await started(2);
  const logins = new Map<number, Set<string>>();
  asCluster(servers, () => [a!, b!]);
  for (const server of servers) {
    const { script, port } = server;
    logins.set(port, new Set());
    server.script = (words) => {
      if (words[0] === 'AUTH') logins.get(port)?.add(words.slice(1).join(' '));
      return script(words);
    };
  }
  const login = { user: 'grid', password: 'word' };
  await withStore(world, a!.url, { ...NO_REPLICA, login }, async ({ engine }) => {
    await setMany(engine, 50);
  });
  for (const seen of logins.values()) assert.deepEqual([...seen], ['grid word']);
});

test('if a server of the URL does not reply, another one reports the topology', async () => {
  const [a, b] = await started(2);
  asCluster(servers, () => [b!]);
  a!.stop();
  await withStore(world, `${a!.url},127.0.0.1:${b!.port}`, NO_REPLICA, async ({ engine }) => {
    assert.equal(await set(engine, 'key', '1'), APPLIED);
  });
  a!.listen();
});

test('the connections of a replaced primary end: its changes are unknown, reads continue', async () => {
  const [a, b] = await started(2);
  let primary = a!;
  asCluster(servers, () => [primary]);
  await withStore(world, a!.url, NO_REPLICA, async ({ engine }) => {
    const { script } = a!;
    a!.script = (words) => (['HSET', 'HGET'].includes(words[0] ?? '') ? SILENCE : script(words));
    const outcomes = Promise.all([set(engine, 'key', '1'), get(engine, 'key')]);
    while (a!.received.filter(({ words }) => words[0]?.startsWith('H')).length < 2)
      await world.sleep(5);
    primary = b!;
    // The lookup every 10 s would be much later; the end of a connection causes one.
    a!.dropOne();
    assert.deepEqual(await outcomes, [UNKNOWN, ABSENT]);
    assert.equal(setCount(b!), 0);
    assert.equal(await set(engine, 'key', '2'), APPLIED);
    assert.equal(setCount(b!), 1);
  });
});

test('a silent primary causes a lookup: its reads are sent to the one that replaced it', async () => {
  const [a, b] = await started(2);
  let primary = a!;
  asCluster(servers, () => [primary]);
  await withStore(world, a!.url, { ...NO_REPLICA, deadlineMs: 60_000 }, async ({ engine }) => {
    const { script } = a!;
    a!.script = (words) => (words[0] === 'HGET' ? SILENCE : script(words));
    // The lookup after the start has ended.
    await world.sleep(1500);
    const outcome = get(engine, 'key');
    while (!a!.received.some(({ words }) => words[0] === 'HGET')) await world.sleep(5);
    primary = b!;
    const start = world.clock.now();
    assert.equal(await outcome, ABSENT);
    // The next lookup would otherwise be after 10 s.
    assert(world.clock.now() - start < 8000);
  });
});

test('MOVED changes the table at once, and a lookup follows', async () => {
  const [a, b] = await started(2);
  let primary = a!;
  asCluster(servers, () => [primary]);
  await withStore(world, a!.url, NO_REPLICA, async ({ engine }) => {
    const { script } = a!;
    let movedCount = 0;
    a!.script = (words) => {
      if (words[0] !== 'HSET') return script(words);
      movedCount++;
      return `-MOVED 1 127.0.0.1:${b!.port}\r\n`;
    };
    primary = b!;
    assert.equal(await set(engine, 'key', '1'), APPLIED);
    assert.equal(await set(engine, 'key', '2'), APPLIED);
    assert.equal(movedCount, 1);
    // After the lookup, a key of another slot is sent there without MOVED.
    await world.sleep(500);
    assert.equal(await set(engine, 'other', '3'), APPLIED);
    assert.equal(movedCount, 1);
  });
});

const DEMOTED: Script = ([name]) =>
  name === 'ROLE'
    ? array([bulk('slave'), bulk('h'), ':1\r\n', bulk('connected'), ':0\r\n'])
    : undefined;

test('a Sentinel that names a server other than a primary is skipped', async () => {
  const [a, b] = await started(2);
  a!.script = DEMOTED;
  const sentinels = new FakeSentinels(world, 2);
  sentinels.named = [a!.address, b!.address];
  await withStore(world, sentinels.url, NO_REPLICA, async ({ engine }) => {
    assert.equal(await set(engine, 'key', '1'), APPLIED);
    assert.equal(setCount(b!), 1);
  });
});

test('Sentinels without a password are queried without a login, the server with one', async () => {
  const [a] = await started(1);
  const logins: string[] = [];
  const sentinels = new FakeSentinels(world, 1, a!.address);
  const [sentinel] = sentinels.servers;
  const { script } = sentinel!;
  sentinel!.script = (words) =>
    words[0] === 'AUTH'
      ? '-ERR AUTH <password> called without any password configured for the default user.\r\n'
      : script(words);
  a!.script = ([name, word = '']) => {
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
  const [a, b] = await started(2);
  const sentinels = new FakeSentinels(world, 3, a!.address);
  await withStore(world, sentinels.url, NO_REPLICA, async ({ engine }) => {
    a!.script = ([name]) => (name === 'HSET' ? '-READONLY it is a replica\r\n' : undefined);
    const outcomes = Promise.all(['1', '2', '3'].map((value) => set(engine, 'key', value)));
    while (setCount(a!) < 3) await world.sleep(5);
    sentinels.switchTo(b!.address);
    assert.deepEqual(await outcomes, [APPLIED, APPLIED, APPLIED]);
    const values = b!.done.filter(([name]) => name === 'HSET');
    assert.deepEqual(
      values.map(([, , , stored = '']) => stored.slice(-1)),
      ['1', '2', '3'],
    );
  });
});
