import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFiles } from '../../src/base/open-files.ts';
import { type Config, resolveConfig } from '../../src/member/config.ts';
import { type DescriptorShares, descriptorShares } from '../../src/servers/descriptors.ts';
import type { WanReplication } from '../../src/wan/wan-config.ts';

const NODE = 20;
const CONFIG = resolveConfig([]);
const PUBLISHER = { targetEndpoints: [{}, {}], maxConcurrentInvocations: -1 };
const REPLICATION = { name: 'r', publishers: [PUBLISHER] } as unknown as WanReplication;
const WITH_WAN = { wanReplications: new Map([['r', REPLICATION]]) };

/** Returns the connections of clients, for health and to refuse, and the warning. */
function sharesOf(limit: number, changes: Partial<Config> = {}, start?: DescriptorShares) {
  const shares = descriptorShares({ ...CONFIG, ...changes }, { limit, count: NODE }, start);
  const { connectionsMax, healthConnectionsMax, refusedConnectionsMax, warning } = shares;
  return [[connectionsMax, healthConnectionsMax, refusedConnectionsMax], warning] as const;
}

test('openFiles returns the limit and the count of this process', () => {
  const { limit, count } = openFiles();
  assert.ok(limit > count && count > 3, `${limit} ${count}`);
});

test('descriptorShares lowers connections-max below the limit of open files, with a warning', () => {
  assert.deepEqual(sharesOf(10_000 + NODE + 16 + 128), [[10_000, 0, 128], undefined]);
  assert.deepEqual(sharesOf(10_000 + NODE + 16 + 127), [
    [9999, 0, 128],
    'network.http.connections-max is 9999 instead of 10000: the process may have 10163 files open ' +
      '(ulimit -n, LimitNOFILE), and 164 are reserved for everything else',
  ]);
  assert.equal(sharesOf(Number.POSITIVE_INFINITY)[1], undefined);
});

test('descriptorShares reserves descriptors for the files of the log, health, servers and WAN', () => {
  for (const [changes, shares] of [
    [{}, [112, 0, 16]],
    [{ persistenceEnabled: true }, [98, 0, 14]],
    [{ healthPort: 0 }, [80, 16, 16]],
    [{ engineUrl: 'redis://h' }, [56, 0, 8]],
    [WITH_WAN, [105, 0, 15]],
  ] as const) {
    assert.deepEqual(sharesOf(164, changes)[0], shares);
  }
});

test('descriptorShares leaves at least one connection at any limit', () => {
  for (const limit of [0, NODE, NODE + 16, NODE + 18]) {
    assert.deepEqual(sharesOf(limit)[0], [1, 0, 1]);
  }
});

test('descriptorShares deducts the connections of added publishers from those of clients', () => {
  const start = descriptorShares(CONFIG, { limit: 164, count: NODE });
  const [shares, warning] = sharesOf(164, WITH_WAN, start);
  assert.deepEqual(shares, [104, 0, 16]);
  assert.match(warning ?? '', / is 104 instead of 10000: /);
});
