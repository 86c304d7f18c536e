/** The options of a member that a program starts: names, values, and invalid options. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  configRequestOf,
  type MemberOptions,
  optionNames,
} from '../../src/embedding/member-options.ts';
import { loadConfig } from '../../src/member/load.ts';
import { SETTING_FLAGS } from '../../src/member/settings.ts';

const load = async (options: MemberOptions) => (await loadConfig(configRequestOf(options))).config;

type OtherOption = 'config' | 'environment' | 'log' | 'signal' | 'listen' | 'on';

/** Every option; the compiler reports a missing option or a wrong type. */
const ALL: Required<Omit<MemberOptions, OtherOption>> = {
  host: '127.0.0.2',
  port: 0,
  healthPort: 0,
  groups: ['DATA'],
  disabledGroups: ['CLUSTER_READ'],
  queues: { jobs: 7, 'a=b': 3 },
  sync: 'always',
  maps: { sessions: { timeToLiveSeconds: 60, maxIdleSeconds: 30 }, 'a*': { maxIdleSeconds: 0 } },
  clusterName: 'c',
  instanceName: 'i',
  logLevel: 'FINE',
  pathSegment: 's',
  allowedHosts: ['a.example', '*.b.example'],
  compatibility: 'hazelcast',
  engine: 'redis://h:1',
  dataDir: '/d',
  backupDir: '/b',
  maxMemory: '64m',
  partitionCount: 7,
  shutdownDelaySeconds: 1,
  tlsCertificate: 'cert',
  tlsKey: 'key',
  tlsClientCa: 'ca',
  headerBytesMax: 1000,
  targetBytesMax: '2k',
  bodyBytesMax: 3000,
  connectionsMax: 4,
  pipelineMax: 5,
  headerTimeoutSeconds: 6,
  bodyProgressTimeoutSeconds: 7,
  writeProgressTimeoutSeconds: 8,
  keepAliveTimeoutSeconds: 9,
  inFlightBytesMax: 10_000,
};

test('each flag has an option with the same meaning', async () => {
  assert.deepEqual(
    new Set(optionNames()),
    new Set([...Object.keys(ALL), 'config', 'environment', 'log', 'signal', 'listen', 'on']),
  );
  assert.equal(optionNames().length, new Set(SETTING_FLAGS.map(({ flag }) => flag.name)).size + 8);
  const { engine, ...others } = ALL;
  assert.equal((await load({ engine })).engineUrl, engine);
  // Both options would store the data.
  await assert.rejects(
    load(ALL),
    /Cannot use engine "redis:..h:1": it cannot be combined with dataDir, which is true/,
  );
  const config = await load(others);
  assert.deepEqual(
    [...config.queueMaxSizes],
    [
      ['jobs', 7],
      ['a=b', 3],
    ],
  );
  assert.equal(config.persistenceSync, 'always');
  assert.deepEqual(
    [...config.mapTimeToLiveSeconds, ...config.mapMaxIdleSeconds],
    [
      ['sessions', 60],
      ['sessions', 30],
      ['a*', 0],
    ],
  );
  assert.deepEqual(config.allowedHosts, ['a.example', '*.b.example']);
  const { host, maxMemory, targetBytesMax, persistenceEnabled, tlsEnabled } = config;
  assert.deepEqual(
    { host, maxMemory, targetBytesMax, persistenceEnabled, tlsEnabled },
    {
      host: '127.0.0.2',
      maxMemory: 67_108_864,
      targetBytesMax: 2048,
      persistenceEnabled: true,
      tlsEnabled: true,
    },
  );
  assert.equal(config.endpointGroups.get('DATA'), true);
  assert.equal(config.endpointGroups.get('CLUSTER_READ'), false);
});

test('without options a member is like `serve` without a file, and ignores variables of the process', async () => {
  process.env.GRID_CLUSTERNAME = 'of-the-process';
  try {
    const { clusterName, host, port, restEnabled } = await load({});
    assert.deepEqual([clusterName, host, port, restEnabled], ['dev', '127.0.0.1', 5701, true]);
  } finally {
    delete process.env.GRID_CLUSTERNAME;
  }
  const { clusterName } = await load({ environment: { GRID_CLUSTERNAME: 'x' } });
  assert.equal(clusterName, 'x');
});

test('config is the content of a file, and options override it', async () => {
  const config = { grid: { 'cluster-name': 'c', network: { port: { port: 1 } }, map: { m: {} } } };
  const { clusterName, port, host, restEnabled } = await load({ config, port: 2 });
  const chosen = { grid: { network: { 'rest-api': { enabled: false } } } };
  assert.equal((await load({ config: chosen })).restEnabled, false);
  assert.deepEqual([clusterName, port, host, restEnabled], ['c', 2, '127.0.0.1', true]);
});

for (const [options, fault] of [
  [{ prot: 1 }, /^Cannot use option "prot": no such option; did you mean "port"\?/],
  [{ port: 65536 }, /^Cannot use port "65536": not an integer from 0 to 65535/],
  [{ port: 'x' }, /^Cannot use port "x": not an integer/],
  [{ port: {} }, /^Cannot use port \{\}: not text or a number/],
  [{ port: null }, /^Cannot use port null: not text or a number/],
  [{ groups: ['DATE'] }, /^Cannot use groups "DATE": .*did you mean "?DATA/],
  [{ groups: 'DATA' }, /^Cannot use groups "DATA": not an array of names/],
  [{ queues: { q: -1 } }, /^Cannot use queues "q=-1"/],
  [{ queues: 3 }, /^Cannot use queues "3"/],
  [{ config: 3 }, /^Cannot use config 3: not a path or an object/],
  [{ config: '/no/such' }, /^Cannot read configuration file "\/no\/such"/],
  [{ config: { grid: { mpa: {} } } }, /"mpa" at the root/],
  [{ config: { map: {} } }, /grid/],
  [{ tlsKey: 'k' }, /^Cannot use tlsKey "k": tlsCertificate is not given/],
] as const) {
  test(`${JSON.stringify(options)} is refused by name`, async () => {
    const loading = async () => await load(options as unknown as MemberOptions);
    await assert.rejects(loading, (error: Error) => {
      assert.match(error.message, fault);
      return true;
    });
  });
}
