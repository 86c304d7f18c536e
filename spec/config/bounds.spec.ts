/**
 * Covers src/config/finding-list.ts, src/config/yaml-*.ts and src/config/nearest-name.ts. Limits of
 * a configuration: problems, aliases, depth, patterns, permissions.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PATTERNS_MAX } from '../../src/config/name-lookup.ts';
import { nearestNames, slippedNames } from '../../src/config/nearest-name.ts';
import { loadConfig } from '../../src/member/load.ts';
import { loadInThread } from '../../src/member/reading-thread.ts';
import { loadText, problemsOf } from './documents.ts';

const problemsIn = (text: string) => problemsOf(loadText(text));

function many(count: number, piece: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => piece(index)).join('');
}

test('The first 100 problems are listed, and the number of the others', async () => {
  const unknown = (count: number) => `grid:\n${many(count, (at) => `  nam${at}: 1\n`)}`;
  const hundred = await problemsIn(unknown(100));
  assert.equal(hundred.length, 100);
  assert.match(hundred[99] ?? '', /:101:3: Cannot use "nam99"/);
  for (const [count, left] of [
    [101, '1 more problem is'],
    [3000, '2900 more problems are'],
  ] as const) {
    const problems = await problemsIn(unknown(count));
    assert.equal(problems.length, 101);
    assert.deepEqual(problems.slice(0, 100), hundred);
    assert.equal(problems[100], `${left} not shown`);
  }
  const wrong = many(2000, (at) => `q${at}: {max-size: x}, `);
  const types = await problemsIn(`grid: {queue: {${wrong}}, nam: 1, cluster-name: ""}`);
  assert.equal(types.at(-1), '1902 more problems are not shown');
  const [long = ''] = await problemsIn(`grid: {map: {m: {${'n'.repeat(100_000)}: 1}}}`);
  assert.ok(long.length < 3000, `${long.length}`);
});

test('The first 100 reasons to refuse are listed, and the first 100 names without meaning', async () => {
  const classes = `security-interceptors: [${'a, '.repeat(500)}]`;
  const { refused } = await loadText(`grid: {security: {enabled: true, ${classes}}}`);
  assert.equal(refused.length, 102);
  assert.match(refused[100]?.reason ?? '', /one of 400 more/);
  const properties = many(500, (at) => `some-${at}: x, `);
  const { warnings } = await loadText(`grid: {properties: {${properties}}}`);
  assert.match(warnings.join('\n'), / some-99, 400 more names are not shown/);
});

test('Aliases repeat at most 10,000 nodes, at a cost proportional to the nodes repeated', async () => {
  // Each line repeats a mapping and its value.
  const lines = (count: number) =>
    `grid:\n  queue:\n    a: &a {max-size: 3}\n${many(count, (at) => `    k${at}: *a\n`)}`;
  const { config } = await loadText(lines(5000));
  assert.equal(config.queueMaxSizes.size, 5001);
  assert.equal(config.queueMaxSizes.get('k4999'), 3);
  assert.deepEqual(await problemsIn(lines(5001)), [
    'configuration:3:11: Cannot read YAML: more than 10000 nodes repeated by aliases',
  ]);
  const bomb = many(9, (at) => `  x${at + 1}: &x${at + 1} [*x${at}, *x${at}, *x${at}]\n`);
  const problems = await problemsIn(`grid:\n  x0: &x0 [1, 1, 1, 1, 1, 1, 1]\n${bomb}`);
  assert.match(problems.join('\n'), /more than 10000 nodes/);
  // If an anchor is redefined, later aliases refer to the new definition.
  const again = await loadText(
    'grid: {queue: {a: &a {max-size: 1}, b: *a, c: &a {max-size: 2}, d: *a}}',
  );
  assert.deepEqual([...again.config.queueMaxSizes.values()], [1, 1, 2, 2]);
});

test('Collections are at most 100 levels deep, also through aliases', async () => {
  const lists = (depth: number) =>
    `grid: {properties: {a: ${'['.repeat(depth)}${']'.repeat(depth)}}}`;
  await loadText(lists(97));
  for (const depth of [98, 20_000]) {
    assert.match((await problemsIn(lists(depth)))[0] ?? '', /more than 100 collections deep/);
  }
  const chain = many(120, (at) => `, x${at + 1}: &x${at + 1} [*x${at}]`);
  const problems = await problemsIn(`grid: {properties: {x0: &x0 [a]${chain}}}`);
  assert.match(problems[0] ?? '', /more than 100 deep/);
});

test('There are at most 10,000 names with "*" of a kind, and at most 10,000 permissions', async () => {
  const queues = (count: number) =>
    `grid:\n  queue:\n${many(count, (at) => `    q${at}*:\n      max-size: 1\n`)}`;
  assert.equal((await loadText(queues(PATTERNS_MAX))).config.queueMaxSizes.size, PATTERNS_MAX);
  assert.match((await problemsIn(queues(PATTERNS_MAX + 1)))[0] ?? '', /more than 10000 names with/);
  const permissions = (count: number) =>
    `grid:\n  security:\n    client-permissions:\n      map:\n${'        - name: m\n'.repeat(count)}`;
  assert.equal((await loadText(permissions(10_000))).config.security.permissions?.length, 10_000);
  assert.match((await problemsIn(permissions(10_001)))[0] ?? '', /more than 10000 permissions/);
});

test('A list may have any number of items, and an invalid item is reported', async () => {
  const list = (items: string) => `grid: {network: {interfaces: {interfaces: [${items}]}}}`;
  const { config } = await loadText(list('10.0.0.1, '.repeat(20_000)));
  assert.equal(config.interfaces.length, 20_000);
  const [problem = '', ...more] = await problemsIn(list('10.0.0.1, "/", 10.0.0.2'));
  assert.match(problem, /:1:54: Cannot use network\.interfaces\.interfaces\[1\] "\/"/);
  assert.deepEqual(more, []);
});

test('A duplicate name is reported among any number of names', async () => {
  const names = many(20_000, (at) => `q${at}, `);
  const problems = await problemsIn(`grid: {queue: {${names} q7}}`);
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? '', /"q7" occurs twice; names in a mapping must be unique/);
});

test('Variables expand a text to at most 16 MiB', async () => {
  const environment = { BIG: 'x'.repeat(100_000) };
  for (const text of [
    `grid:\n  cluster-name: "${'$\u007bBIG}'.repeat(20_000)}"`,
    `grid:\n  member-attributes:\n${many(200, (at) => `    a${at}: {value: "$\u007bBIG}"}\n`)}`,
  ]) {
    const [problem = ''] = await problemsOf(loadConfig({ file: { text }, environment, flags: [] }));
    assert.match(problem, /:\d+:\d+: .*: its variables expand to more than 16777216/);
  }
});

test('A file may have 40,000 names of maps in YAML, and of queues in XML', async () => {
  for (const text of [
    `grid:\n  map:\n${many(40_000, (at) => `    m${at}:\n      backup-count: 2\n`)}`,
    `<grid>${many(40_000, (at) => `<queue name="m${at}"/>`)}</grid>`,
  ]) {
    const done: string[] = [];
    const onProgress = (part: string) => done.push(part);
    const { config } = await loadConfig({ file: { text }, environment: {}, flags: [], onProgress });
    assert.equal(config.mapTimeToLiveSeconds.size + config.queueMaxSizes.size, 40_000);
    if (text.length > 2 ** 20) assert.match(done.join(), /configuration, \d+ %/);
  }
});

test('slippedNames finds two wrong letters in six, one in fewer', () => {
  const names = ['map', 'enabled', 'properties'];
  assert.deepEqual(
    ['mpa', 'amps', 'enabeld', 'enabledxx', 'enabledxxx', 'propretis'].map((name) =>
      slippedNames(name, names).join(),
    ),
    ['map', '', 'enabled', 'enabled', '', 'properties'],
  );
});

test('nearestNames finds a third of wrong letters, otherwise abbreviations', () => {
  const names = ['timeToLiveSeconds', 'max-idle-seconds', 'per_entry_stats', 'port'];
  assert.deepEqual(
    ['ttl', 'TTLS', 'mis', 'PES', 'prt', 'tt', 'ttlx', 'tls', ''].map((name) =>
      nearestNames(name, names.values()).join(),
    ),
    [
      'timeToLiveSeconds',
      'timeToLiveSeconds',
      'max-idle-seconds',
      'per_entry_stats',
      'port',
      '',
      '',
      '',
      '',
    ],
  );
});

test('loadInThread returns the result of loadConfig, in as many pieces as necessary', async () => {
  const queues = many(2100, (at) => `q${at}: {max-size: ${at}}, `);
  const users = many(1100, (at) => `{username: u${at}, password: p}, `);
  const text = `grid:
  queue: {${queues}}
  network: {interfaces: {interfaces: [${'10.0.0.1, '.repeat(1200)}]}}
  security:
    realms: [{name: r, authentication: {simple: {users: [${users}]}}}, {name: none}]
    client-permissions: {map: [${'{name: m, actions: [read]}, '.repeat(1100)}]}
  license-key: x
`;
  const request = { file: { text }, environment: {}, flags: [] };
  const [here, there] = [await loadConfig(request), await loadInThread(request)];
  const { structured, config, ...rest } = here;
  const { sources, ...values } = config;
  const { structured: none, config: read, ...readRest } = there;
  const { sources: readSources, ...readValues } = read;
  assert.deepEqual([readValues, readRest, none], [values, rest, []]);
  assert.ok(structured.length > 0);
  const needed = [...sources].filter(([path]) => !path.startsWith('queue.'));
  assert.deepEqual([...readSources], needed);
  const empty = {
    file: { text: 'grid: {security: {client-permissions: }}' },
    environment: {},
    flags: [],
  };
  assert.deepEqual((await loadInThread(empty)).config.security.permissions, []);
});

test('loadInThread rejects like loadConfig', async () => {
  const request = { file: { text: 'grid: {mpa: {}}' }, environment: {}, flags: [] };
  const wanted = await problemsIn(request.file.text);
  assert.deepEqual(await problemsOf(loadInThread(request)), wanted);
});

test('loadInThread stops reading after too much time or memory', async () => {
  const text = `grid: {queue: {${many(25_000, (at) => `q${at}: {max-size: ${at}}, `)}}}`;
  const request = { file: { text }, environment: {}, flags: [] };
  for (const [bounds, reason] of [
    [{ timeMs: 5, memoryMb: 1024 }, '0.005 s'],
    [{ timeMs: 60_000, memoryMb: 24 }, '24 MiB of memory'],
  ] as const) {
    assert.deepEqual(await problemsOf(loadInThread(request, bounds)), [
      `Cannot read the configuration: it takes more than ${reason}`,
    ]);
  }
});
