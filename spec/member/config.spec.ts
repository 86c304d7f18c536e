import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NamedSetting, Setting } from '../../src/config/setting.ts';
import { assignmentsOf } from '../../src/config/setting-table.ts';
import { type Config, resolveConfig } from '../../src/member/config.ts';
import { SETTING_FLAGS, SETTINGS, type SettingKey } from '../../src/member/settings.ts';

/** A machine with more memory than the default of any setting needs. */
const MACHINE = { bytes: 2 ** 34, isContainer: false };

/** Returns the configuration from flags and their values. */
function configOf(...words: string[]): Config {
  const assignments = [];
  for (let at = 0; at < words.length; at += 2) {
    const flag = SETTING_FLAGS.find((candidate) => candidate.flag.name === words[at]);
    assert.ok(flag, `no flag ${words[at]}`);
    assignments.push(...assignmentsOf(flag, words[at + 1] ?? ''));
  }
  return resolveConfig(assignments, MACHINE);
}

function enabledGroups(config: Config): string[] {
  return [...config.endpointGroups].filter(([, enabled]) => enabled).map(([name]) => name);
}

test('resolveConfig without assignments returns the defaults, which docs/settings.md lists', () => {
  const config = configOf();
  assert.equal(config.port, 5701);
  assert.deepEqual([config.instanceName, config.pathSegment], [undefined, undefined]);
  assert.deepEqual(enabledGroups(config), ['CLUSTER_READ', 'HEALTH_CHECK']);
  assert.equal(config.queueMaxSizes.size, 0);
  assert.equal(config.sources.get('network.port.port')?.kind, 'default');
});

test('resolveConfig keeps the source of each value', () => {
  const config = configOf('--port', '0', '--enable-group', 'data', '--queue', 'a=5', '--host', 'h');
  assert.equal(config.port, 0);
  const flag = (name: string) => ({ kind: 'flag', name });
  assert.deepEqual(config.sources.get('network.port.port'), flag('--port'));
  const group = 'network.rest-api.endpoint-groups.DATA.enabled';
  assert.deepEqual(config.sources.get(group), flag('--enable-group'));
  assert.deepEqual(config.sources.get('queue.a.max-size'), flag('--queue'));
  assert.deepEqual(config.sources.get('--host'), flag('--host'));
});

test('resolveConfig uses the last value of a setting', () => {
  assert.equal(configOf('--port', '1', '--port', '2').port, 2);
  const all = ['--enable-group', 'all'];
  const but = ['--disable-group', 'DATA'];
  assert.equal(enabledGroups(configOf(...all, ...but)).includes('DATA'), false);
  assert.equal(enabledGroups(configOf(...all, ...but)).length, 6);
  assert.equal(enabledGroups(configOf(...but, ...all)).length, 7);
  assert.deepEqual(enabledGroups(configOf('--disable-group', 'ALL')), []);
});

test('resolveConfig enables REST if a flag enables a group, even if the file disables REST', () => {
  const off = {
    key: 'restEnabled',
    text: 'false',
    source: { kind: 'file', name: 'f:1:1' },
  } as const;
  assert.equal(resolveConfig([off]).restEnabled, false);
  const flag = SETTING_FLAGS.find((each) => each.flag.name === '--enable-group');
  assert.ok(flag);
  assert.equal(resolveConfig([off, ...assignmentsOf(flag, 'DATA')]).restEnabled, true);
});

test('resolveConfig accepts group names in any case, and HOT_RESTART for PERSISTENCE', () => {
  assert.ok(enabledGroups(configOf('--enable-group', 'hot_restart')).includes('PERSISTENCE'));
  assert.ok(enabledGroups(configOf('--enable-group', 'Cp')).includes('CP'));
});

test('resolveConfig accepts queue names with wildcards and "="', () => {
  const config = configOf('--queue', 'orders-*=100', '--queue', 'a=b=0');
  assert.deepEqual(
    [...config.queueMaxSizes],
    [
      ['orders-*', 100],
      ['a=b', 0],
    ],
  );
});

const refused: readonly (readonly [string, string, typeof TypeError, string])[] = [
  ['--port', 'x', TypeError, 'not an integer from 0 to 65535'],
  ['--port', '', TypeError, 'not an integer from 0 to 65535'],
  ['--port', '1.5', TypeError, 'not an integer from 0 to 65535'],
  ['--port', '65536', RangeError, 'not an integer from 0 to 65535'],
  ['--port', '-1', RangeError, 'not an integer from 0 to 65535'],
  ['--partition-count', '0', RangeError, 'not an integer from 1 to 32768'],
  ['--max-memory', '1', RangeError, 'not a number of bytes from 1m up, or one with k, m or g'],
  ['--max-memory', '1023k', RangeError, 'not a number of bytes from 1m up'],
  ['--max-memory', '1t', RangeError, 'not a number of bytes from 1m up'],
  ['--max-memory', '99999999g', RangeError, 'not a number of bytes from 1m up'],
  ['--body-bytes-max', '2g', RangeError, 'not an integer from 1 to 1073741824'],
  ['--host', 'a b', TypeError, 'not an address or host name'],
  ['--log-level', 'loud', RangeError, 'not one of OFF, SEVERE, WARNING, INFO'],
  ['--path-segment', 'a/b', TypeError, 'not letters, digits'],
  ['--path-segment', '..', TypeError, 'not letters, digits'],
  ['--compatibility', 'other', RangeError, 'not one of none, hazelcast'],
  ['--cluster-name', '', TypeError, 'not a text of 1 to 255 characters'],
  ['--instance-name', 'a\nb', TypeError, 'not a text of 1 to 255 characters'],
  ['--enable-group', 'x', RangeError, 'not one of CLUSTER_READ, CLUSTER_WRITE'],
  ['--queue', 'a', TypeError, 'not NAME=MAX with a NAME and MAX an integer from 0 to 2147483647'],
  ['--queue', '=5', RangeError, 'not NAME=MAX with a NAME'],
  ['--queue', 'a=', TypeError, 'not NAME=MAX'],
  ['--queue', 'a=-1', RangeError, 'not NAME=MAX'],
];

for (const [flag, text, kind, reason] of refused) {
  test(`resolveConfig refuses ${flag} ${JSON.stringify(text)} with ${kind.name}`, () => {
    assert.throws(
      () => configOf(flag, text),
      (error) =>
        error instanceof kind &&
        error.message.startsWith(`Cannot use ${flag} ${JSON.stringify(text)}: ${reason}`),
    );
  });
}

test('resolveConfig refuses a limit of one body that exceeds the limit of all bodies in flight', () => {
  assert.equal(configOf('--body-bytes-max', '268435456').bodyBytesMax, 268_435_456);
  assert.equal(configOf('--in-flight-bytes-max', '16777216').inFlightBytesMax, 16_777_216);
  assert.throws(() => configOf('--in-flight-bytes-max', '16777215'), {
    name: 'RangeError',
    message:
      'Cannot use --in-flight-bytes-max "16777215": less than network.http.body-bytes-max, ' +
      'which is 16777216',
  });
  const both = ['--body-bytes-max', '268435457', '--in-flight-bytes-max', '268435456'];
  assert.throws(() => configOf(...both), {
    name: 'RangeError',
    message:
      'Cannot use --body-bytes-max "268435457": more than --in-flight-bytes-max, ' +
      'which is 268435456',
  });
  assert.equal(configOf('--body-bytes-max', '268435457').inFlightBytesMax, 268_435_457);
  const inFile = (key: SettingKey, text: string, name: string) => {
    return { key, text, source: { kind: 'file', name } } as const;
  };
  const ofFile = [inFile('bodyBytesMax', '3', 'f:1:2'), inFile('inFlightBytesMax', '2', 'f:3:4')];
  assert.throws(() => resolveConfig(ofFile), {
    message:
      'f:1:2: Cannot use network.http.body-bytes-max "3": more than ' +
      'network.http.in-flight-bytes-max at f:3:4, which is 2',
  });
});

test('SETTINGS has no duplicate path, flag or description, and each fallback passes its own check', () => {
  const rows: (Setting<unknown> | NamedSetting<string, unknown>)[] = Object.values(SETTINGS);
  const paths = rows.map((row) => row.path ?? row.flags[0]?.name);
  const flags = SETTING_FLAGS.map(({ flag }) => flag.name);
  for (const names of [paths, flags]) {
    assert.ok(names.every((name) => name !== undefined && name !== ''));
    assert.equal(new Set(names).size, names.length);
  }
  for (const row of rows) {
    if (row.example !== undefined) assert.ok('value' in row.parse(row.example), row.path);
    if ('parseName' in row || row.fallback === undefined) continue;
    assert.deepEqual(row.parse(String(row.fallback)), { value: row.fallback });
  }
});

test('SETTING_FLAGS shows range, unit and default in its help', () => {
  const help = (name: string) => SETTING_FLAGS.find(({ flag }) => flag.name === name)?.help;
  assert.equal(
    help('--port'),
    'Port to listen on; 0 selects a free one (an integer from 0 to 65535; default 5701)',
  );
  assert.match(help('--header-bytes-max') ?? '', /, in bytes; default 32768\)$/);
  const body = /, in bytes; default 16777216, or 1\/8 of the memory if that is less\)$/;
  assert.match(help('--body-bytes-max') ?? '', body);
  assert.match(help('--instance-name') ?? '', /default gridnode-<port>\)$/);
});

test('resolveConfig requires certificate and key together, and both for client authorities', () => {
  const both = ['--tls-certificate', 'c.pem', '--tls-key', 'k.pem'];
  assert.equal(configOf(...both).tlsCertificate, 'c.pem');
  assert.equal(configOf(...both, '--tls-client-ca', 'a.pem').tlsClientCa, 'a.pem');
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [both.slice(0, 2), 'Cannot use --tls-certificate "c.pem": --tls-key is not given'],
    [both.slice(2), 'Cannot use --tls-key "k.pem": --tls-certificate is not given'],
    [
      ['--tls-client-ca', 'a.pem'],
      'Cannot use --tls-client-ca "a.pem": --tls-certificate is not given',
    ],
    [['--tls-certificate', ''], 'Cannot use --tls-certificate "": not a path'],
  ];
  for (const [words, message] of wrong) {
    assert.throws(() => configOf(...words), { name: 'TypeError', message });
  }
});

test('resolveConfig has no health port by default', () => {
  assert.equal(configOf().healthPort, undefined);
  assert.equal(configOf('--health-port', '0').healthPort, 0);
  assert.throws(() => configOf('--health-port', '65536'), {
    name: 'RangeError',
    message: 'Cannot use --health-port "65536": not an integer from 0 to 65535',
  });
});

test('settings in bytes accept k, m and g of 1,024, in either case', () => {
  for (const [flag, key] of [
    ['--body-bytes-max', 'bodyBytesMax'],
    ['--in-flight-bytes-max', 'inFlightBytesMax'],
    ['--max-memory', 'maxMemory'],
  ] as const) {
    for (const text of ['16777216', '16384K', '16m', '16M']) {
      assert.equal(configOf(flag, text)[key], 2 ** 24);
    }
  }
  assert.equal(configOf('--header-bytes-max', '8k').headerBytesMax, 8192);
  assert.equal(configOf('--target-bytes-max', '64K').targetBytesMax, 65536);
  assert.equal(configOf('--in-flight-bytes-max', '1G').inFlightBytesMax, 2 ** 30);
  assert.equal(configOf('--max-memory', '20g').maxMemory, 20 * 2 ** 30);
  for (const text of ['65k', '0', '-1', '1kb', '1.5k', 'k', '1t']) {
    assert.throws(() => configOf('--target-bytes-max', text), {
      message: `Cannot use --target-bytes-max "${text}": not an integer from 1 to 65536, or one with k, m or g`,
    });
  }
});

test('an unknown group is refused with the nearest name', () => {
  assert.throws(() => configOf('--enable-group', 'DATE'), {
    message:
      'Cannot use --enable-group "DATE": not one of CLUSTER_READ, CLUSTER_WRITE, HEALTH_CHECK, PERSISTENCE, ' +
      'WAN, DATA, CP, all; did you mean "DATA"?',
  });
  assert.throws(() => configOf('--disable-group', 'nothing-like-it'), { message: /, CP, all$/ });
});
