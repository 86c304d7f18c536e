/**
 * Covers src/engine/redis/scanned-entries.ts and src/engine/redis/scan-script.ts: lists of entries
 * while hashes are resized, change their encoding or move to other servers, and while servers fail.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import {
  CLOSED,
  DISCONNECTED,
  FOREIGN_DATA,
  LIST_PLACE_BYTES,
  LISTED,
  LISTED_BYTES,
  NOT_PERMITTED,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import { Layout, MAP } from '../../../src/engine/redis/layout.ts';
import type { RedisEngine, RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';
import { FakeCluster } from '../../world/fake-cluster.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { withStore } from '../../world/world-engines.ts';
import { Asker } from '../results.ts';

/** Elements up to which a hash is compact, and is returned as a whole. */
const COMPACT_MAX = 128;
const DEADLINE_MS = 250;
/** With one partition, all entries of a map are in one hash. */
const LAYOUT = new Layout('grid', 1);
const HASH = LAYOUT.key(MAP, 0, Buffer.from('m')).toString('latin1');

const world = new World();

interface Setting {
  readonly asker: Asker;
  readonly engine: RedisEngine;
  readonly server: FakeServer;
}

function onServer(
  run: (setting: Setting) => Promise<void>,
  options: Partial<RedisEngineOptions> = {},
): () => Promise<void> {
  return () => {
    const server = new FakeServer(world);
    return withStore(world, server.url, { partitionCount: 1, ...options }, ({ engine }) =>
      run({ asker: new Asker(engine), engine, server }),
    );
  };
}

function keys(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix} ${index}`);
}

async function fill(asker: Asker, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((key) => asker.set('m', key, 'v')));
}

async function empty(asker: Asker, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((key) => asker.delete('m', key)));
}

/** Lists `m`, and calls `between` after each call. Resolves with the keys in the order passed. */
async function list(
  asker: Asker,
  count: number,
  between: (calls: number) => Promise<void> = async () => {},
): Promise<string[]> {
  let calls = 0;
  const entries = await asker.allEntries('m', { count }, () => between(++calls));
  return entries.map(({ key }) => key);
}

function assertAllIn(expected: readonly string[], passed: readonly string[]): void {
  const seen = new Set(passed);
  assert.deepEqual(
    expected.filter((key) => !seen.has(key)),
    [],
  );
}

for (const size of [1, COMPACT_MAX, COMPACT_MAX + 1, 400]) {
  test(
    `each of ${size} entries of a hash at rest is passed once, whatever the count`,
    onServer(async ({ asker }) => {
      const all = keys('k', size);
      await fill(asker, all);
      for (const count of [1, 2, 3, 10, COMPACT_MAX, 10_000]) {
        assert.deepEqual((await list(asker, count)).sort(), [...all].sort(), `count ${count}`);
      }
    }),
  );
}

for (const count of [1, 2, 5, 40, 300]) {
  test(
    `in calls of ${count}, no entry is left out while the hash is resized and converted`,
    onServer(async ({ asker }) => {
      for (let seed = 1; seed <= 4; seed++) {
        const random = new Random(100 * count + seed);
        const staying = keys('stays', 20 + random.below(5 * count + 100));
        const others = keys('other', 50 + random.below(600));
        await fill(asker, staying);
        let isFull = random.below(2) === 0;
        if (isFull) await fill(asker, others);
        let left = 40;
        const passed = await list(asker, count, async () => {
          if (left === 0 || random.below(3) > 0) return;
          left--;
          const some = others.filter(() => random.below(3) > 0);
          await (isFull ? empty(asker, some) : fill(asker, some));
          isFull = !isFull;
        });
        assertAllIn(staying, passed);
        await asker.clear('m');
      }
    }),
  );
}

test(
  'a list of a small hash ends although an entry changes after each call',
  onServer(async ({ asker }) => {
    const staying = keys('stays', 100);
    await fill(asker, staying);
    const passed = await list(asker, 1, async (calls) => {
      await asker.delete('m', `other ${calls - 1}`);
      await asker.set('m', `other ${calls}`, 'v');
    });
    assertAllIn(staying, passed);
    assert.ok(passed.length < 300, `${passed.length} entries`);
  }),
);

test(
  'a server that is started again has another order',
  onServer(async ({ asker, server }) => {
    const all = keys('k', 1000);
    await fill(asker, all);
    const passed = await list(asker, 30, async (calls) => {
      if (calls === 10) server.restart(true);
    });
    assertAllIn(all, passed);
    assert.ok(passed.length > 1000 && passed.length < 2000, `${passed.length} entries`);
  }),
);

test('a replica that replaces its primary has another order', () => {
  const cluster = new FakeCluster(world, 1, 1);
  const options = { partitionCount: 1, mapReplicaCount: () => 1, deadlineMs: 20_000 };
  return withStore(world, cluster.url, options, async ({ engine }) => {
    const asker = new Asker(engine);
    const all = keys('k', 1000);
    await fill(asker, all);
    const [primary, replica] = cluster.servers as [FakeServer, FakeServer];
    for (const count of [7, 100]) {
      const passed = await list(asker, count, async (calls) => {
        if (calls !== 3 || replica.primary === undefined) return;
        primary.stop();
        cluster.failOver(replica);
      });
      assertAllIn(all, passed);
    }
    assert.equal(replica.primary, undefined);
  });
});

test('a slot may move to another server and back during a list', () => {
  const cluster = new FakeCluster(world, 2);
  const options = { partitionCount: 1, mapReplicaCount: () => 0, deadlineMs: 20_000 };
  return withStore(world, cluster.url, options, async ({ engine }) => {
    const asker = new Asker(engine);
    const all = keys('k', 1000);
    await fill(asker, all);
    const slot = LAYOUT.slotOf(0);
    const [first, second] = cluster.servers as [FakeServer, FakeServer];
    const passed = await list(asker, 20, async (calls) => {
      if (calls === 5) cluster.migrate(slot, second);
      // The key has moved, but the first server still has the slot: it replies with ASK.
      else if (calls === 8) cluster.moveKeys(slot);
      else if (calls === 12) cluster.assign(slot);
      else if (calls === 15) {
        cluster.migrate(slot, first);
        cluster.assign(slot);
      }
    });
    assertAllIn(all, passed);
  });
});

test(
  'entries of all partitions are passed, and a small map needs one call',
  onServer(
    async ({ asker }) => {
      const all = keys('k', 100);
      await fill(asker, all);
      for (const count of [1, 3, 10_000]) {
        let calls = 0;
        const passed = await list(asker, count, async () => void calls++);
        assert.deepEqual([...new Set(passed)].sort(), [...all].sort());
        assert.equal(passed.length, all.length);
        if (count === 10_000) assert.equal(calls, 1);
      }
    },
    { partitionCount: 271 },
  ),
);

test(
  'a call ends after a thousand partitions',
  onServer(
    async ({ asker, server }) => {
      await asker.set('m', 'k', 'v');
      const before = server.countOf('EVALSHA');
      const { seen } = await asker.entries('none');
      assert.equal(seen?.place.length, LIST_PLACE_BYTES);
      const count = server.countOf('EVALSHA') - before;
      assert.ok(count > 900 && count <= 1000, `${count} scripts`);
      assert.deepEqual(await list(asker, 10), ['k']);
    },
    { partitionCount: 2000 },
  ),
);

test(
  'calls list no more partitions at the same time than fit if their entries are alike',
  onServer(
    async ({ asker, server }) => {
      const all = keys('k', 1000);
      await fill(asker, all);
      const before = server.countOf('EVALSHA');
      let calls = 0;
      assertAllIn(all, await list(asker, 10_000, async () => void calls++));
      const scripts = server.countOf('EVALSHA') - before;
      // The entries weigh eight times what a call lists.
      assert.ok(calls <= 12, `${calls} calls`);
      assert.ok(scripts < 271 * 1.5, `${scripts} scripts`);
    },
    { partitionCount: 271 },
  ),
);

test(
  'calls of one partition after another pass no more than their bytes and their count',
  onServer(
    async ({ asker }) => {
      const all = keys('k', 400);
      await Promise.all(all.map((key, at) => asker.set('m', key, 'v'.repeat(at % 2 ? 10 : 3000))));
      for (const count of [1, 2, 9, 200]) {
        const seen = new Set<string>();
        for (let place: string | undefined; place !== ''; ) {
          const options = place === undefined ? { count } : { count, place };
          const call = await asker.entries('m', options);
          assert.ok(call.entries.length <= count);
          const sizes = call.entries.map(({ key, value }) => key.length + value.length);
          const sum = sizes.slice(0, -1).reduce((total, size) => total + size, 0);
          assert.ok(sum < LISTED_BYTES, `${sum} bytes`);
          for (const { key } of call.entries) seen.add(key);
          place = call.seen!.place;
        }
        assert.equal(seen.size, all.length);
      }
    },
    { partitionCount: 31 },
  ),
);

test(
  'a list changes nothing at the server, and a server that refuses changes serves it',
  onServer(async ({ asker, server }) => {
    await fill(asker, keys('k', 300));
    await asker.set('m', 'idle', 'v', '', { timeToLiveMs: 0, maxIdleSeconds: 10 });
    const before = server.data.get(HASH, 'hash')!.get('idle');
    await world.sleep(5000);
    server.refusal = 'MISCONF Redis is configured to save RDB snapshots';
    server.isOutOfMemory = true;
    assert.equal((await list(asker, 100)).length, 301);
    assert.equal(server.data.get(HASH, 'hash')!.get('idle'), before);
    server.refusal = undefined;
    server.isOutOfMemory = false;
  }),
);

test(
  'a list of foreign data, without permission or without a server is UNREACHABLE with the reason',
  onServer(
    async ({ asker, server }) => {
      const reasonOf = async (): Promise<number | undefined> => {
        const { seen } = await asker.entries('m');
        assert.equal(seen?.outcome, UNREACHABLE);
        assert.equal(seen?.place, '');
        return seen?.reason;
      };
      server.run('HSET', HASH, 'field', 'not a stored value');
      assert.equal(await reasonOf(), FOREIGN_DATA);
      server.run('UNLINK', HASH);
      server.run('RPUSH', HASH, 'item');
      assert.equal(await reasonOf(), FOREIGN_DATA);
      server.run('UNLINK', HASH);
      server.script = ([name]) =>
        name === 'EVALSHA' ? '*5\r\n:0\r\n$1\r\nx\r\n$0\r\n\r\n:0\r\n$0\r\n\r\n' : undefined;
      assert.equal(await reasonOf(), FOREIGN_DATA);
      server.script = ([name]) =>
        name === 'EVALSHA' ? "-NOPERM no permissions to run the 'evalsha' command\r\n" : undefined;
      assert.equal(await reasonOf(), NOT_PERMITTED);
      server.script = () => undefined;
      server.stop();
      assert.equal(await reasonOf(), DISCONNECTED);
      server.listen();
    },
    { deadlineMs: DEADLINE_MS, onFault: () => {} },
  ),
);

test(
  'a call that fails after a part of its partitions ends there',
  onServer(
    async ({ asker, server }) => {
      const all = keys('k', 20);
      await fill(asker, all);
      let left = 12;
      server.script = ([name]) =>
        name === 'EVALSHA' && left-- <= 0 ? "-NOPERM can't run this command\r\n" : undefined;
      const first = await asker.entries('m');
      assert.equal(first.seen?.outcome, LISTED);
      assert.ok(first.entries.length > 0 && first.entries.length < all.length);
      const { place } = first.seen!;
      assert.equal((await asker.entries('m', { place })).seen?.outcome, UNREACHABLE);
      server.script = () => undefined;
      const rest = await asker.allEntries('m', { place });
      const passed = [...first.entries, ...rest].map(({ key }) => key);
      assert.deepEqual(passed.sort(), all.sort());
    },
    { partitionCount: 31 },
  ),
);

test(
  'a list that is under way when the engine is closed has a result',
  onServer(
    async ({ asker, engine, server }) => {
      await fill(asker, keys('k', 20));
      server.script = ([name]) => (name === 'EVALSHA' ? '' : undefined);
      const listed = asker.entries('m');
      await world.sleep(10);
      await engine.close();
      const { seen } = await listed;
      assert.deepEqual([seen?.outcome, seen?.reason], [UNREACHABLE, CLOSED]);
    },
    { partitionCount: 31, deadlineMs: DEADLINE_MS },
  ),
);

test(
  'a server that has lost its scripts gets them again',
  onServer(async ({ asker, server }) => {
    await fill(asker, keys('k', 10));
    server.flushScripts();
    assert.equal((await list(asker, 3)).length, 10);
  }),
);
