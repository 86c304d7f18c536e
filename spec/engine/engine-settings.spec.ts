/** Settings of the servers that store the data of several members. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainAsJson } from '../../src/member/explain.ts';
import { loadConfig } from '../../src/member/load.ts';
import { load } from '../config/documents.ts';

const SECRET = 'pa55word';

test('they are read from a file', async () => {
  const { config, warnings } = await load(
    'engine.yaml',
    `grid:
  engine:
    url: rediss://a:1,[::1]?sentinel=main
    user: grid
    password: ${SECRET}
    deadline-millis: 1000
    tls: {ca: ca.pem, certificate: c.pem, key: k.pem}
`,
  );
  assert.deepEqual(warnings, []);
  assert.equal(config.engineUrl, 'rediss://a:1,[::1]?sentinel=main');
  assert.deepEqual([config.engineUser, config.enginePassword], ['grid', SECRET]);
  assert.equal(config.engineDeadlineMillis, 1000);
  const { engineTlsCa, engineTlsCertificate, engineTlsKey } = config;
  assert.deepEqual([engineTlsCa, engineTlsCertificate, engineTlsKey], ['ca.pem', 'c.pem', 'k.pem']);
});

test('no message and no output of the settings contains a password, even if a URL contains it', async () => {
  const url = `redis://:${SECRET}@a:1`;
  const messageOf = async (read: () => Promise<unknown>): Promise<string> => {
    const error = await read().then(
      () => assert.fail(),
      (fault: Error) => fault,
    );
    assert.match(
      error.message,
      /Cannot use .*\*\*\*\*: not redis:\/\/HOST:PORT.*; set engine\.user and engine\.password instead/,
    );
    return error.message;
  };
  const source = { kind: 'flag', name: '--engine' } as const;
  const flags = [{ key: 'engineUrl', text: url, source }] as const;
  for (const read of [
    () => load('url.yaml', `grid: {engine: {url: "${url}"}}`),
    () => load('none.yaml', 'grid: {}', { GRID_ENGINE_URL: url }),
    () => loadConfig({ file: undefined, environment: {}, flags }),
  ]) {
    assert.ok(!(await messageOf(read)).includes(SECRET));
  }
  const loaded = await load(
    'password.yaml',
    `grid: {engine: {url: "redis://a", password: ${SECRET}}}`,
  );
  assert.ok(!explainAsJson(loaded).includes(SECRET));
});

test('a URL of another form is refused', async () => {
  for (const url of ['http://a', 'redis://', 'redis://a:0', 'redis://a?x=1']) {
    await assert.rejects(
      load('wrong.yaml', `grid: {engine: {url: "${url}"}}`),
      new RegExp(`"${url.replace('?', '\\?')}": not redis://HOST:PORT`),
    );
  }
});

test('data is stored by servers or by the member: the refusal names both settings', async () => {
  await assert.rejects(
    load('both.yaml', 'grid:\n  engine: {url: "redis://a"}\n  persistence: {enabled: true}\n'),
    /both\.yaml:2:\d+: Cannot use engine\.url "redis:\/\/a": it cannot be combined with persistence\.enabled at .*both\.yaml:3:\d+, which is true/,
  );
});

test('header fields cannot be longer than a content type on servers', async () => {
  const text = (bytes: number) =>
    `grid:\n  engine: {url: "redis://a"}\n  network: {http: {header-bytes-max: ${bytes}}}\n`;
  await load('most.yaml', text(65_536));
  await assert.rejects(
    load('more.yaml', text(65_537)),
    /more\.yaml:3:\d+: Cannot use network\.http\.header-bytes-max "65537": more than 65536 with an engine on servers/,
  );
});

test('settings without effect are reported', async () => {
  const without = await load('without.yaml', 'grid: {engine: {deadline-millis: 2000}}');
  assert.match(
    without.warnings.join('\n'),
    /engine\.deadline-millis has no effect: engine\.url is not set/,
  );
  const beside = await load(
    'beside.yaml',
    'grid: {engine: {url: "redis://a", tls: {ca: x}}, max-memory: 64m, network: {rest-api: {metrics-names-max: 9}}}',
  );
  assert.match(
    beside.warnings.join('\n'),
    /max-memory has no effect: servers store the data \(engine\.url\)/,
  );
  assert.match(
    beside.warnings.join('\n'),
    /network\.rest-api\.metrics-names-max has no effect: servers store the data/,
  );
  assert.match(
    beside.warnings.join('\n'),
    /engine\.tls\.ca has no effect: engine\.url is not rediss/,
  );
});

test('replica counts and max-no-heartbeat-seconds have no effect without servers', async () => {
  const text = `grid:
  properties: {hazelcast.max.no.heartbeat.seconds: 60}
  map: {a: {backup-count: 1}, b: {backup-count: 2}}
  queue: {q: {backup-count: 0}, r: {backup-count: 1}}
`;
  const { warnings } = await load('counts.yaml', text);
  assert.deepEqual(
    warnings.map((each) => each.replace(/^.*(?=counts\.yaml)/, '')),
    [
      ...['counts.yaml:3:27: map', 'counts.yaml:4:51: queue'].map(
        (place) =>
          `${place}.{name}.backup-count: no copies on other members here; servers keep them (engine.url)`,
      ),
      'counts.yaml:2:52: engine.max-no-heartbeat-seconds has no effect: engine.url is not set',
    ],
  );
  const none = await load('none.yaml', 'grid: {map: {a: {backup-count: 0}}}');
  assert.deepEqual(none.warnings, []);
  const loaded = await load('counts.yaml', `${text}  engine: {url: redis://a}\n`);
  assert.deepEqual(loaded.warnings, []);
  assert.equal(loaded.config.engineNoHeartbeatSeconds, 60);
  assert.deepEqual([...loaded.config.mapBackupCounts.values()], [1, 2]);
  assert.deepEqual([...loaded.config.queueBackupCounts.values()], [0, 1]);
});

test('a replica count is 0 to 6', async () => {
  for (const kind of ['map', 'queue']) {
    await assert.rejects(
      load('wrong.yaml', `grid: {${kind}: {a: {backup-count: 7}}}`),
      /backup-count "?7"?: not an integer from 0 to 6/,
    );
  }
});
