/**
 * Expired entries on a real Redis or Valkey server: the member that joined first removes them even
 * if no client requests them, and even if the server has no memory left.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { APPLIED, FOUND, MEMORY_FULL } from '../../src/engine/engine.ts';
import type { RedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { Asker } from '../engine/results.ts';
import { EngineServer } from './engine-server.ts';
import { serverCommand } from './server-command.ts';
import { storeEngine } from './store-engines.ts';

/** Few partitions, as only one partition is checked for expired entries every second. */
const PARTITION_COUNT = 4;
const HEARTBEAT_MS = 100;
const LEASE_MS = 10_000;
/** More entries than one step removes. */
const ENTRIES = 1000;
const WAIT_MS_MAX = 30_000;
const SHORT = { timeToLiveMs: 500, maxIdleSeconds: 0 };
const LONG = { timeToLiveMs: 3_600_000, maxIdleSeconds: 0 };
/** Lists the keys of a cluster's maps: entries, expiry times, and the maps that have these. */
const KEYS = `
local keys = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if string.find(key, ARGV[1] .. '/[mxe]:') then keys[#keys + 1] = string.gsub(key, '{.*}', '') end
end
table.sort(keys)
return table.concat(keys, ' ')`;

/** Counts the expiry times of a map's entries. */
const EXPIRY_COUNT = `
local count = 0
for _, key in ipairs(redis.call('KEYS', '*')) do
  if string.find(key, ARGV[1], 1, true) then count = count + redis.call('ZCARD', key) end
end
return count`;

let server: EngineServer;
let clusterCount = 0;

before(async () => {
  server = await EngineServer.start();
});

after(() => server.stop());

/** Runs a test on an engine whose member is the first of its cluster, and sends heartbeats. */
async function withMember(
  test: (asker: Asker, clusterName: string, engine: RedisEngine) => Promise<void>,
): Promise<void> {
  const clusterName = `lives${clusterCount++}`;
  const engine = await storeEngine({
    ...{ port: server.port, clusterName, partitionCount: PARTITION_COUNT },
  });
  const store = engine.membershipStore;
  const identity = { uuid: 'u', address: 'h:1', memberVersion: '1.2.3', isLite: false };
  const joined = await store.join({ ...identity, version: '1.2', leaseMs: LEASE_MS });
  assert.ok('view' in joined);
  const { joinNumber } = joined;
  const heartbeat = {
    uuid: 'u',
    joinNumber,
    stopsUpTo: 0,
    leaseMs: LEASE_MS,
    known: 0,
    confirmed: 0,
  };
  const timer = setInterval(() => void store.heartbeat(heartbeat), HEARTBEAT_MS);
  try {
    await test(new Asker(engine), clusterName, engine);
  } finally {
    clearInterval(timer);
    await engine.close();
  }
}

async function fill(asker: Asker, map: string, lifetime: typeof SHORT): Promise<void> {
  const sets = Array.from({ length: ENTRIES }, (_, index) =>
    asker.set(map, `k${index}`, 'v', '', lifetime),
  );
  for (const set of sets) assert.equal((await set).outcome, APPLIED);
}

async function untilKeys(clusterName: string, wanted: (keys: string) => boolean): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const keys = await serverCommand(server.port, 'EVAL', KEYS, '0', clusterName);
    if (wanted(keys)) return;
    assert.ok(performance.now() < end, keys);
    await sleep(50);
  }
}

describe('expired entries', () => {
  it('are removed without a request, and maps without other entries leave no key', () =>
    withMember(async (asker, clusterName) => {
      await fill(asker, 'one', SHORT);
      await fill(asker, 'two', SHORT);
      await asker.set('three', 'stays', 'v', '', LONG);
      await asker.set('two', 'k0', 'for ever');
      await untilKeys(clusterName, (keys) => !/m:one|x:one|x:two/.test(keys));
      assert.equal((await asker.get('two', 'k0')).value, 'for ever');
      assert.equal((await asker.get('three', 'stays')).outcome, FOUND);
      assert.equal((await asker.delete('three', 'stays')).outcome, APPLIED);
    }));

  it('leave no key after a clear or a conditional set of their map', () =>
    withMember(async (asker, clusterName) => {
      await fill(asker, 'cleared', LONG);
      const { version } = await asker.set('changed', 'k', 'v', '', LONG);
      await asker.set('changed', 'k', 'w', '', SHORT, version);
      await asker.clear('cleared');
      await untilKeys(clusterName, (keys) => !/m:changed|x:changed|[mx]:cleared/.test(keys));
    }));

  it('leave no key if they are deleted before they expire, and other expiry times remain', () =>
    withMember(async (asker, clusterName) => {
      await fill(asker, 'deleted', LONG);
      await fill(asker, 'halved', LONG);
      for (let index = 0; index < ENTRIES; index++) {
        assert.equal((await asker.delete('deleted', `k${index}`)).outcome, APPLIED);
        if (index % 2 === 0) await asker.delete('halved', `k${index}`);
      }
      await untilKeys(clusterName, (keys) => !/[mx]:deleted/.test(keys));
      const count = () =>
        serverCommand(server.port, 'EVAL', EXPIRY_COUNT, '0', `${clusterName}/x:halved`);
      const end = performance.now() + WAIT_MS_MAX;
      while (Number(await count()) > ENTRIES / 2) {
        assert.ok(performance.now() < end);
        await sleep(50);
      }
      await sleep(20 * HEARTBEAT_MS);
      assert.equal(Number(await count()), ENTRIES / 2);
    }));

  it('are removed from a server that has no memory left', () =>
    withMember(async (asker, clusterName) => {
      await fill(asker, 'm', SHORT);
      await serverCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '1');
      try {
        assert.equal((await asker.set('m', 'more', 'v')).outcome, MEMORY_FULL);
        await untilKeys(clusterName, (keys) => !/[mxe]:/.test(keys));
      } finally {
        await serverCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '0');
      }
    }));
});
