/** Covers src/engine/redis/waiting-changes.ts and src/engine/redis/scanned-keys.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DELETE } from '../../../src/engine/mutation.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { allWaiting, publisherOf, referencesTo } from '../marked.ts';
import { markingMembers, waitingTexts } from './marking-members.ts';

const PUBLISHER = publisherOf('p');
const ROOM = { count: 100, bytes: 1_000_000 };
const SHORT = { timeToLiveMs: 1000, maxIdleSeconds: 0 };

test('what waits is read in pages by count, and acknowledged up to a number', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine, other] = engines as [RedisEngine, RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    for (let index = 0; index < 25; index++) await asker.set('m', `k${index}`, 'x');
    const first = (await engine.readWaiting(PUBLISHER, 0, 0, { ...ROOM, count: 10 }))!;
    assert.deepEqual([first.changes.length, first.hasMore], [10, true]);
    assert.equal(first.readTo, first.changes[9]!.number);
    const next = (await other.readWaiting(PUBLISHER, 0, first.readTo, { ...ROOM, count: 15 }))!;
    assert.deepEqual([next.changes.length, next.hasMore], [15, true]);
    const last = (await engine.readWaiting(PUBLISHER, 0, next.readTo, ROOM))!;
    assert.deepEqual(last, { changes: [], readTo: next.readTo, hasMore: false });
    // A key that has changed since it was read waits behind the others.
    await asker.set('m', 'k3', 'y');
    assert.equal(await other.acknowledgeMarks(PUBLISHER, 0, first.readTo), 9);
    assert.equal(await other.acknowledgeMarks(PUBLISHER, 0, first.readTo), 0);
    const left = await waitingTexts(engine);
    assert.deepEqual([left.length, left[0], left.at(-1)], [16, 'set k10 x', 'set k3 y']);
    assert.deepEqual(await engine.waitingCounts(PUBLISHER, [0]), [16]);
    assert.equal(await engine.dropWaiting(PUBLISHER, 0), true);
    assert.deepEqual(await engine.waitingCounts(PUBLISHER, [0]), [0]);
    assert.equal((await asker.get('m', 'k3')).value, 'y');
  });
});

test('a read ends after 1000 keys, however large a batch may be', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    for (let index = 0; index < 1200; index++) await asker.set('m', `k${index}`, 'x');
    const all = { count: 2 ** 31 - 1, bytes: 4_000_000 };
    const first = (await engine.readWaiting(PUBLISHER, 0, 0, all))!;
    assert.deepEqual([first.changes.length, first.hasMore], [1000, true]);
    const next = (await engine.readWaiting(PUBLISHER, 0, first.readTo, all))!;
    assert.deepEqual([next.changes.length, next.hasMore], [200, false]);
  });
});

test('a read ends after its bytes, and a long value is read without others', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    const sizes = [1000, 1000, 65_000, 70_000, 1000, 16_000_000, 65_400];
    for (const [index, size] of sizes.entries())
      await asker.set('m', `k${index}`, 'v'.repeat(size));
    const pages: number[][] = [];
    for (let after = 0, hasMore = true; hasMore; ) {
      const page = (await engine.readWaiting(PUBLISHER, 0, after, { count: 7, bytes: 66_000 }))!;
      pages.push(page.changes.map(({ entry }) => entry!.value.length));
      ({ readTo: after, hasMore } = page);
    }
    assert.deepEqual(pages, [[1000, 1000], [65_000], [70_000], [1000], [16_000_000], [65_400]]);
    const one = (await engine.readWaiting(PUBLISHER, 0, 0, { count: 7, bytes: 1 }))!;
    assert.deepEqual([one.changes.length, one.hasMore], [1, true]);
  });
});

test('names of maps and keys may have any bytes', async () => {
  await markingMembers(
    async ({ engines, asker }) => {
      const [engine] = engines as [RedisEngine];
      engine.setReferences(referencesTo([PUBLISHER]));
      const names = ['m', '1:m', ':', '7:x}{', '\0\xff', '12', 'a'.repeat(300)];
      const expected: string[] = [];
      for (const map of names) {
        for (const key of names) {
          await asker.set(map, key, 'x');
          expected.push(`${map} ${key}`);
        }
      }
      const waiting = await allWaiting(engine, PUBLISHER);
      const found = waiting.map(({ entry }) => {
        return [entry!.name, entry!.key]
          .map((span) => span.toBuffer().toString('latin1'))
          .join(' ');
      });
      assert.deepEqual(found.sort(), expected.sort());
    },
    { partitionCount: 3 },
  );
});

test('the lifetime and the content type of an entry are read', async () => {
  await markingMembers(async ({ world, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    await asker.set('m', 'a', 'x', 'a/type', { timeToLiveMs: 90_000, maxIdleSeconds: 7 });
    await asker.set('m', 'b', '', '', { timeToLiveMs: 0, maxIdleSeconds: 7 });
    await asker.set('m', 'c', '', '', { timeToLiveMs: 5000, maxIdleSeconds: 0 });
    const waiting = await allWaiting(engine, PUBLISHER);
    const now = Math.floor(world.clock.wall());
    assert.deepEqual(
      waiting.map(({ entry }) => [entry!.expiryMs - now > 4000, entry!.maxIdleSeconds]),
      [
        [true, 7],
        [false, 7],
        [true, 0],
      ],
    );
    assert.deepEqual(waiting[1]!.entry!.expiryMs, 0);
    assert.equal(`${waiting[0]!.entry!.contentType.toBuffer()}`, 'a/type');
  });
});

test('an entry that has ended is read as a delete just below its version', async () => {
  await markingMembers(async ({ world, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    const { version } = await asker.set('m', 'a', 'x', '', SHORT);
    await world.sleep(999);
    assert.deepEqual(await waitingTexts(engine), ['set a x']);
    await world.sleep(1);
    for (const isSwept of [false, true]) {
      const [waiting] = await allWaiting(engine, PUBLISHER);
      assert.equal(waiting!.entry, undefined);
      assert.equal(waiting!.removal!.operation, DELETE);
      assert.ok(waiting!.removal!.version.stepForward().is(version));
      if (!isSwept) await asker.size('m');
    }
  });
});

test('a key without entry and tombstone is left out, and read', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    for (const key of ['a', 'b', 'c']) await asker.set('m', key, 'x');
    const [hash = ''] = server.data.names.filter((name) => name.endsWith('/m:m'));
    for (const key of ['a', 'c']) server.run('HDEL', hash, key);
    const { changes, readTo } = (await engine.readWaiting(PUBLISHER, 0, 0, ROOM))!;
    assert.deepEqual(changes.length, 1);
    assert.ok(readTo > changes[0]!.number);
    assert.equal(await engine.acknowledgeMarks(PUBLISHER, 0, readTo), 3);
  });
});

test('an entry of an unknown format is not read', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    for (const key of ['a', 'b']) await asker.set('m', key, 'x');
    const [hash = ''] = server.data.names.filter((name) => name.endsWith('/m:m'));
    server.run('HSET', hash, 'b', '\x30version8value');
    assert.equal(await engine.readWaiting(PUBLISHER, 0, 0, ROOM), undefined);
    const first = (await engine.readWaiting(PUBLISHER, 0, 0, { ...ROOM, count: 1 }))!;
    assert.equal(first.changes.length, 1);
  });
});

test('a read waits for the replicas that its maps require', async () => {
  await markingMembers(
    async ({ world, server, engines, asker }) => {
      const [engine] = engines as [RedisEngine];
      engine.setReferences(referencesTo([PUBLISHER]));
      server.replicaCount = 1;
      await world.sleep(3000);
      await asker.set('m', 'a', 'x');
      let waits = 0;
      server.script = ([name]) => {
        if (name === 'WAIT') waits++;
        return undefined;
      };
      assert.deepEqual(await waitingTexts(engine), ['set a x']);
      assert.equal(waits, 1);
      await asker.set('n', 'b', 'x');
      server.script = ([name]) => (name === 'WAIT' ? ':0\r\n' : undefined);
      assert.equal(await engine.readWaiting(PUBLISHER, 0, 0, ROOM), undefined);
      server.script = () => undefined;
      assert.equal((await waitingTexts(engine)).length, 2);
    },
    { mapReplicaCount: (map) => (`${map.toBuffer()}` === 'm' ? 1 : 0), deadlineMs: 500 },
  );
});

test('marks of publishers that no configuration has are dropped', async () => {
  await markingMembers(
    async ({ server, engines, asker }) => {
      const [engine, other] = engines as [RedisEngine, RedisEngine];
      const publishers = ['p', 'q', '\xff}{'].map((name) => publisherOf(name));
      engine.setReferences(referencesTo(publishers));
      for (let index = 0; index < 40; index++) await asker.set('m', `k${index}`, 'x');
      const kept = [publishers[1]!.name];
      assert.equal(await other.dropOthers(kept), 80);
      assert.equal(await other.dropOthers(kept), 0);
      assert.equal((await allWaiting(engine, publishers[1]!)).length, 40);
      assert.deepEqual(server.data.names.filter((name) => name.includes('/p:')).length, 7);
      assert.equal(await other.dropOthers([]), 40);
      assert.equal((await asker.size('m')).count, 40);
    },
    { partitionCount: 7 },
  );
});

test('without servers, and once the engine is closed, nothing is read or removed', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const [engine, other] = engines as [RedisEngine, RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    await asker.set('m', 'a', 'x');
    await other.close();
    server.script = ([name = '']) =>
      ['ZRANGEBYSCORE', 'ZCARD', 'UNLINK', 'ZREMRANGEBYSCORE', 'SCAN'].includes(name)
        ? '-MISCONF no\r\n'
        : undefined;
    for (const each of [engine, other]) {
      assert.equal(await each.readWaiting(PUBLISHER, 0, 0, ROOM), undefined);
      assert.equal(await each.acknowledgeMarks(PUBLISHER, 0, 1), undefined);
      assert.equal(await each.dropWaiting(PUBLISHER, 0), false);
      assert.deepEqual(await each.waitingCounts(PUBLISHER, [0, 0]), [undefined, undefined]);
      assert.equal(await each.dropOthers([]), undefined);
    }
    server.script = () => undefined;
    assert.deepEqual(await waitingTexts(engine), ['set a x']);
  });
});
