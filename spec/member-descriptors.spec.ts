import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFiles } from '../src/base/open-files.ts';
import { type Config, resolveConfig } from '../src/config/config.ts';
import type { WanReplication } from '../src/config/wan-config.ts';
import { descriptorShares } from '../src/member-descriptors.ts';

const NODE = 20;

test('openFiles returns the limit and the count of this process', () => {
  const { limit, count } = openFiles();
  assert.ok(limit > count && count > 3, `${limit} ${count}`);
});

test('descriptorShares lowers connections-max below the limit of open files, with a warning', () => {
  const config = resolveConfig([]);
  const enough = descriptorShares(config, { limit: 10_000 + NODE + 16 + 128, count: NODE });
  assert.deepEqual(enough, {
    connectionsMax: 10_000,
    healthConnectionsMax: 0,
    refusedConnectionsMax: 128,
    warning: undefined,
  });
  const { warning, ...less } = descriptorShares(config, {
    limit: 10_000 + NODE + 16 + 127,
    count: NODE,
  });
  assert.deepEqual(less, {
    connectionsMax: 9999,
    healthConnectionsMax: 0,
    refusedConnectionsMax: 128,
  });
  assert.equal(
    warning,
    'network.http.connections-max is 9999 instead of 10000: the process may have 10163 files open ' +
      '(ulimit -n, LimitNOFILE), and 164 are reserved for everything else',
  );
  const none = descriptorShares(config, { limit: Number.POSITIVE_INFINITY, count: NODE });
  assert.equal(none.warning, undefined);
});

test('descriptorShares reserves descriptors for the files of the log, health, servers and WAN', () => {
  const base = resolveConfig([]);
  const sharesOf = (changes: Partial<Config>) => {
    const shares = descriptorShares({ ...base, ...changes }, { limit: 164, count: NODE });
    const { connectionsMax, healthConnectionsMax, refusedConnectionsMax } = shares;
    return [connectionsMax, healthConnectionsMax, refusedConnectionsMax];
  };
  const publisher = { targetEndpoints: [{}, {}], maxConcurrentInvocations: -1 };
  const replication = { name: 'r', publishers: [publisher] } as unknown as WanReplication;
  assert.deepEqual(sharesOf({}), [112, 0, 16]);
  assert.deepEqual(sharesOf({ persistenceEnabled: true }), [98, 0, 14]);
  assert.deepEqual(sharesOf({ healthPort: 0 }), [80, 16, 16]);
  assert.deepEqual(sharesOf({ engineUrl: 'redis://h' }), [56, 0, 8]);
  assert.deepEqual(sharesOf({ wanReplications: new Map([['r', replication]]) }), [105, 0, 15]);
});

test('descriptorShares leaves at least one connection at any limit', () => {
  const config = resolveConfig([]);
  for (const limit of [0, NODE, NODE + 16, NODE + 18]) {
    const shares = descriptorShares(config, { limit, count: NODE });
    assert.deepEqual([shares.connectionsMax, shares.refusedConnectionsMax], [1, 1]);
  }
});

test('descriptorShares deducts the connections of added publishers from those of clients', () => {
  const config = resolveConfig([]);
  const files = { limit: 164, count: NODE };
  const start = descriptorShares(config, files);
  const publisher = { targetEndpoints: [{}, {}], maxConcurrentInvocations: -1 };
  const replication = { name: 'r', publishers: [publisher] } as unknown as WanReplication;
  const extended = { ...config, wanReplications: new Map([['r', replication]]) };
  const { warning, ...shares } = descriptorShares(extended, files, start);
  assert.deepEqual(shares, {
    connectionsMax: start.connectionsMax - 8,
    healthConnectionsMax: start.healthConnectionsMax,
    refusedConnectionsMax: start.refusedConnectionsMax,
  });
  assert.match(warning ?? '', / is 104 instead of 10000: /);
});
