/**
 * Covers src/engine/redis/scanned-names.ts: lists of names on several servers, and while servers
 * fail or slots move.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CLOSED,
  DISCONNECTED,
  FOREIGN_DATA,
  type NameKind,
  NOT_PERMITTED,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import { ITEMS, Layout, MAP, RETURNED } from '../../../src/engine/redis/layout.ts';
import { FakeCluster, slotOf } from '../../world/fake-cluster.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { PARTITION_COUNT, withStore } from '../../world/world-engines.ts';
import { Asker } from '../results.ts';

const DEADLINE_MS = 250;
const LONG_DEADLINE_MS = 20_000;
const LAYOUT = new Layout('grid', PARTITION_COUNT);

const world = new World();

async function namesOf(asker: Asker, kind: NameKind = 'map', count = 10_000): Promise<string[]> {
  const names = await asker.allNames(kind, { count });
  return names.map(({ name }) => name).sort();
}

async function fill(asker: Asker, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `map ${index}`);
  await Promise.all(names.map((name) => asker.set(name, name, 'v')));
  return names.sort();
}

test('names are passed once, with the sizes of all servers and no name of another cluster', () => {
  const cluster = new FakeCluster(world, 3);
  const options = { mapReplicaCount: () => 0, queueReplicaCount: () => 0 };
  return withStore(world, cluster.url, options, async ({ engine }) => {
    const asker = new Asker(engine);
    const others = { ...options, clusterName: 'gri' };
    await withStore(world, cluster.url, others, async (other) => {
      await new Asker(other.engine).set('d/m:of another cluster', 'k', 'v');
    });
    for (let index = 0; index < 100; index++) {
      await asker.set('large', `${index}`, 'v');
      await asker.set(`}4:grid/m:${index % 10}`, 'k', 'v');
    }
    await asker.offer('queue', 'first');
    await asker.offer('queue', 'second');
    for (const count of [1, 4, 100]) {
      const names = await asker.allNames('map', { count });
      const sizes = new Map(names.map(({ name, size }) => [name, size]));
      assert.equal(sizes.size, names.length);
      assert.equal(sizes.size, 11);
      assert.equal(sizes.get('large'), 100);
      assert.equal(sizes.get('}4:grid/m:3'), 1);
    }
    assert.deepEqual(await asker.allNames('queue'), [{ name: 'queue', size: 2, bytes: -1 }]);
  });
});

test('a queue whose items are all returned ones is listed, and keys that no layout has are not', () => {
  const server = new FakeServer(world);
  return withStore(world, server.url, {}, async ({ engine }) => {
    const asker = new Asker(engine);
    await asker.offer('queue', 'item');
    const { hold } = await asker.take('queue');
    assert.deepEqual(await namesOf(asker, 'queue'), []);
    await asker.acknowledge(hold, false);
    assert.deepEqual(await namesOf(asker, 'queue'), ['queue']);
    const [prefix = ''] = [LAYOUT.key(MAP, 0, Buffer.from('')).toString('latin1')];
    const ofQueues = ([ITEMS, RETURNED] as const).map(
      (kind) => `${LAYOUT.key(kind, 0, Buffer.from('x'))}`,
    );
    for (const key of [
      prefix.replace('{', '{other'),
      `x${prefix}name`,
      `${prefix.slice(0, prefix.indexOf('}'))}`,
      ofQueues[0]!.replace(':x', ':'),
    ]) {
      server.run('HSET', key, 'field', 'value');
    }
    assert.deepEqual(await namesOf(asker), []);
  });
});

test('a list continues on a server that is started again during the scan', () => {
  const server = new FakeServer(world);
  const options = { deadlineMs: LONG_DEADLINE_MS };
  return withStore(world, server.url, options, async ({ engine }) => {
    const asker = new Asker(engine);
    const names = await fill(asker, 1500);
    let scans = 0;
    server.script = ([name]) => {
      if (name !== 'SCAN' || ++scans !== 2) return undefined;
      server.restart(true);
      return '';
    };
    assert.deepEqual(await namesOf(asker), names);
    assert.ok(scans > 4, `${scans} scans`);
  });
});

test('a list is complete after a replica has replaced its primary during the scan', () => {
  const cluster = new FakeCluster(world, 2, 1);
  const options = { deadlineMs: LONG_DEADLINE_MS, mapReplicaCount: () => 1 };
  return withStore(world, cluster.url, options, async ({ engine }) => {
    const asker = new Asker(engine);
    const names = await fill(asker, 2500);
    const [primary] = cluster.servers as [FakeServer];
    const [replica] = primary.replication.servers as [FakeServer];
    let scans = 0;
    primary.script = ([name]) => {
      if (name !== 'SCAN' || ++scans !== 2) return undefined;
      primary.stop();
      cluster.failOver(replica);
      return '';
    };
    assert.deepEqual(await namesOf(asker), names);
    assert.ok(replica.countOf('SCAN') >= 2 || scans === 2);
  });
});

test('a list is complete although slots got another server during the scan', () => {
  const cluster = new FakeCluster(world, 2);
  const options = { deadlineMs: LONG_DEADLINE_MS, mapReplicaCount: () => 0 };
  return withStore(world, cluster.url, options, async ({ engine }) => {
    const asker = new Asker(engine);
    const names = await fill(asker, 2500);
    const [first, second] = cluster.servers as [FakeServer, FakeServer];
    const slots = new Set(second.data.names.map(slotOf));
    let scans = 0;
    // The second server's scan ends after that of the first one, which then gets all slots.
    second.holdNext('SCAN');
    first.script = ([name]) => {
      if (name === 'SCAN') scans++;
      return undefined;
    };
    const listed = namesOf(asker);
    await world.until(() => scans >= 3);
    await world.sleep(50);
    for (const slot of slots) {
      cluster.migrate(slot, first);
      cluster.assign(slot);
    }
    await world.sleep(100);
    second.release();
    await asker.get('map 1', 'map 1');
    await Promise.all(names.map((name) => asker.get(name, name)));
    assert.deepEqual(await listed, names);
  });
});

test('a list without a server, without permission or of foreign data is UNREACHABLE', () => {
  const server = new FakeServer(world);
  const options = { deadlineMs: DEADLINE_MS, onFault: () => {} };
  return withStore(world, server.url, options, async ({ engine }) => {
    const asker = new Asker(engine);
    const reasonOf = async (kind: NameKind = 'map'): Promise<number | undefined> => {
      const { names, seen } = await asker.names(kind);
      assert.deepEqual(names, []);
      assert.equal(seen?.outcome, UNREACHABLE);
      return seen?.reason;
    };
    server.run('RPUSH', LAYOUT.key(MAP, 3, Buffer.from('foreign')).toString('latin1'), 'item');
    assert.equal(await reasonOf(), FOREIGN_DATA);
    server.script = ([name]) =>
      name === 'SCAN' ? "-NOPERM no permissions to run the 'scan' command\r\n" : undefined;
    assert.equal(await reasonOf('queue'), NOT_PERMITTED);
    server.script = () => undefined;
    server.stop();
    assert.equal(await reasonOf(), DISCONNECTED);
    server.listen();
  });
});

test('a list that is under way when the engine is closed has a result', () => {
  const server = new FakeServer(world);
  return withStore(world, server.url, { deadlineMs: DEADLINE_MS }, async ({ engine }) => {
    const asker = new Asker(engine);
    await fill(asker, 3);
    server.script = ([name]) => (name === 'SCAN' ? '' : undefined);
    const listed = asker.names('map');
    await world.sleep(10);
    await engine.close();
    const { seen } = await listed;
    assert.deepEqual([seen?.outcome, seen?.reason], [UNREACHABLE, CLOSED]);
  });
});
