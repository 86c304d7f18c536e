/**
 * Covers src/engine/redis/lifetime-sweeps.ts. The member that joined first removes expired entries
 * from the servers even if no client requests them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GAP_MS } from '../../../src/cluster/membership-store.ts';
import { APPLIED, CONDITION_FAILED, FOUND } from '../../../src/engine/engine.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { fakeStore } from '../../world/world-engines.ts';
import type { Asker } from '../results.ts';
import { joinedMember } from './joined-member.ts';

/** Few partitions, as only one partition is checked for expired entries every second. */
const PARTITION_COUNT = 4;
/** More entries than one step removes. */
const ENTRIES = 1000;
/** More than the time in which all expiry times are checked, in ms. */
const PURGED_MS = 60_000;
const SHORT = { timeToLiveMs: 500, maxIdleSeconds: 0 };
const LONG = { timeToLiveMs: 3_600_000, maxIdleSeconds: 0 };

const world = new World();

/** Runs a test on the only member of a cluster. */
function onMember(test: (asker: Asker, server: FakeServer) => Promise<void>): () => Promise<void> {
  const run = async (): Promise<void> => {
    const server = new FakeServer(world);
    const { engine } = fakeStore(world, server.url, { partitionCount: PARTITION_COUNT });
    await engine.open();
    const settings = { uuid: 'a', leaseMs: 2 * GAP_MS };
    const member = await joinedMember(engine, world.clock, settings);
    try {
      await test(member.asker, server);
    } finally {
      await member.end();
    }
  };
  return () => world.during(run());
}

async function fill(asker: Asker, map: string, lifetime: typeof SHORT): Promise<void> {
  const sets = Array.from({ length: ENTRIES }, (_, index) =>
    asker.set(map, `k${index}`, 'v', '', lifetime),
  );
  for (const set of sets) assert.equal((await set).outcome, APPLIED);
}

/** Resolves once no key of the server matches. */
function untilGone({ data }: FakeServer, pattern: RegExp): Promise<void> {
  return world.until(() => !data.names.some((name) => pattern.test(name)));
}

/** Returns the number of entries of the map on the server, expired ones included. */
function countOf(server: FakeServer, map: string): number {
  const names = server.data.names.filter((name) => name.endsWith(`/m:${map}`));
  return names.reduce((sum, name) => sum + Number(server.run('HLEN', name)), 0);
}

test(
  'expired entries are removed without a request, and maps without other entries leave no key',
  onMember(async (asker, server) => {
    await fill(asker, 'one', SHORT);
    await fill(asker, 'two', SHORT);
    await asker.set('three', 'stays', 'v', '', LONG);
    await asker.set('two', 'k0', 'for ever');
    await untilGone(server, /\/(m:one|x:one|x:two)$/);
    assert.equal((await asker.get('two', 'k0')).value, 'for ever');
    assert.equal((await asker.get('three', 'stays')).outcome, FOUND);
    assert.equal((await asker.delete('three', 'stays')).outcome, APPLIED);
  }),
);

test(
  'the reserved map expires, changes on conditions and is cleared as any other',
  onMember(async (asker, server) => {
    await fill(asker, '', SHORT);
    await asker.set('', 'stays', 'v', '', LONG);
    await world.until(() => countOf(server, '') === 1);
    const { version } = await asker.get('', 'stays');
    assert.equal((await asker.set('', 'stays', 'w', '', LONG, version)).outcome, APPLIED);
    assert.equal((await asker.delete('', 'stays', version)).outcome, CONDITION_FAILED);
    assert.deepEqual([(await asker.add('', 'n', 7n, LONG)).value, countOf(server, '')], ['7', 2]);
    assert.equal((await asker.delete('', 'n', { isPresent: true })).outcome, APPLIED);
    assert.equal((await asker.size('')).count, 1);
    await asker.clear('');
    await untilGone(server, /\/[mx]:$/);
  }),
);

test(
  'a clear or a conditional set of a map leaves no key of its expiry times',
  onMember(async (asker, server) => {
    await fill(asker, 'cleared', LONG);
    const { version } = await asker.set('changed', 'k', 'v', '', LONG);
    await asker.set('changed', 'k', 'w', '', SHORT, version);
    await asker.clear('cleared');
    await untilGone(server, /\/([mx]:changed|[mx]:cleared)$/);
  }),
);

test(
  'entries that are deleted before they expire leave no key, and other expiry times remain',
  onMember(async (asker, server) => {
    await fill(asker, 'deleted', LONG);
    await fill(asker, 'halved', LONG);
    for (let index = 0; index < ENTRIES; index++) {
      assert.equal((await asker.delete('deleted', `k${index}`)).outcome, APPLIED);
      if (index % 2 === 0) await asker.delete('halved', `k${index}`);
    }
    await untilGone(server, /\/[mx]:deleted$/);
    const count = () => {
      const names = server.data.names.filter((name) => name.endsWith('/x:halved'));
      return names.reduce((sum, name) => sum + Number(server.run('ZCARD', name)), 0);
    };
    await world.until(() => count() <= ENTRIES / 2);
    await world.sleep(PURGED_MS);
    assert.equal(count(), ENTRIES / 2);
  }),
);
