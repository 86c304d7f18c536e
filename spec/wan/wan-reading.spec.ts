/**
 * Covers src/config/wan-*.ts. WAN replication in files: its settings, valid and invalid, and
 * refused ones.
 */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { MASK } from '../../src/config/setting.ts';
import type { Config } from '../../src/member/config.ts';
import { explainAsJson, explainAsYaml } from '../../src/member/explain.ts';
import { loadConfig } from '../../src/member/load.ts';
import { PUBLISHERS_MAX, type WanPublisherOptions } from '../../src/wan/wan-config.ts';
import { WanMaps } from '../../src/wan/wan-maps.ts';
import {
  MAP_WAN_SETTINGS,
  PUBLISHER_KEYS,
  PUBLISHER_SETTINGS,
} from '../../src/wan/wan-settings.ts';
import { load, problemsOf, writeConfig } from '../config/documents.ts';

const DEFAULTS = {
  ...{ username: undefined, password: undefined, batchSize: 500, batchMaxDelayMs: 1000 },
  ...{ responseTimeoutMs: 60_000, acknowledgeType: 'ACK_ON_OPERATION_COMPLETE' },
  ...{ queueCapacity: 10_000, queueBytesMax: 268_435_456, compression: 'none' },
  ...{ queueFullBehavior: 'DISCARD_AFTER_MUTATION', initialPublisherState: 'REPLICATING' },
  ...{ snapshotEnabled: false, discoveryPeriodSeconds: 10, maxConcurrentInvocations: -1 },
  consistencyCheckStrategy: 'NONE',
};
const NO_TLS = {
  ...{ authorities: undefined, certificate: undefined, key: undefined },
  ...{ keyPassword: undefined, keyStore: undefined, keyStorePassword: undefined },
};

/**
 * Returns a file with a publisher `p` of `r` with these settings, the content of a YAML flow
 * mapping.
 */
function yaml(settings: string, more = ''): string {
  return `grid:\n  wan-replication:\n    r:\n      batch-publisher:\n        p: {${settings}}\n${more}`;
}

function endpoint(host: string, tls = false, port = 5701, segment?: string) {
  return { host, port, segment, tls };
}

function publishersOf({ wanReplications }: Config): readonly WanPublisherOptions[] {
  return wanReplications.get('r')?.publishers ?? [];
}

async function publisherOf(settings: string, more = ''): Promise<WanPublisherOptions | undefined> {
  return publishersOf((await load('wan.yaml', yaml(settings, more))).config)[0];
}

async function problemsIn(text: string, name = 'wan.yaml'): Promise<readonly string[]> {
  const problems = await problemsOf(load(name, text));
  return problems.map((each) => each.replace(/^\S*\/(?=wan\.)/, ''));
}

async function refusedOf(text: string, name = 'wan.yaml'): Promise<readonly string[]> {
  const { refused } = await load(name, text);
  return refused.map(({ place, path }) => `${place.replace(/^.*:(\d+):\d+$/, '$1')} ${path}`);
}

describe('A publisher', () => {
  it('has the defaults of the original', async () => {
    assert.deepEqual(await publisherOf('target-endpoints: a'), {
      ...{ publisherId: 'p', clusterName: 'p', targetEndpoints: [endpoint('a')] },
      ...{ tls: {}, ...DEFAULTS },
    });
  });

  it('accepts each of its settings, in both forms', async () => {
    const values: Record<string, string> = {
      ...{ 'cluster-name': 'nyc', 'publisher-id': 'q', 'target-endpoints': 'b:1' },
      ...{ endpoint: 'e', 'batch-size': '7', 'batch-max-delay-millis': '0' },
      ...{ 'response-timeout-millis': '2', 'acknowledge-type': 'ack_on_receipt' },
      ...{ 'queue-capacity': '3', 'queue-bytes-max': '2m', compression: 'deflate' },
      ...{ 'queue-full-behavior': 'THROW_EXCEPTION', 'initial-publisher-state': 'PAUSED' },
      ...{ 'snapshot-enabled': '1', 'discovery-period-seconds': '4' },
      ...{ 'max-concurrent-invocations': '5' },
    };
    const wanted = {
      ...{ publisherId: 'q', clusterName: 'nyc', targetEndpoints: [endpoint('b', false, 1)] },
      ...{ tls: {}, username: 'u', password: 'geheim', batchSize: 7, batchMaxDelayMs: 0 },
      ...{ responseTimeoutMs: 2, acknowledgeType: 'ACK_ON_RECEIPT', queueCapacity: 3 },
      ...{ queueBytesMax: 2_097_152, compression: 'deflate' },
      ...{ queueFullBehavior: 'THROW_EXCEPTION', initialPublisherState: 'PAUSED' },
      ...{ snapshotEnabled: true, discoveryPeriodSeconds: 4, maxConcurrentInvocations: 5 },
      consistencyCheckStrategy: 'MERKLE_TREES',
    };
    assert.equal(Object.keys(values).length + 3, PUBLISHER_KEYS.length);
    const inYaml = Object.entries(values).map(([name, value]) => `${name}: "${value}"`);
    const rest =
      'sync: {consistency-check-strategy: MERKLE_TREES}, properties: {username: u, password: geheim}';
    const endpoints = '  advanced-network: {wan-endpoint-config: {e: }}\n';
    const fromYaml = await load('wan.yaml', yaml([...inYaml, rest].join(', '), endpoints));
    const inXml = Object.entries(values).map(([name, value]) => `<${name}>${value}</${name}>`);
    const fromXml = await load(
      'wan.xml',
      `<grid><wan-replication name="r"><batch-publisher>${inXml.join('')}
        <sync><consistency-check-strategy>MERKLE_TREES</consistency-check-strategy></sync>
        <properties><property name="username">u</property><property name="password">geheim</property>
        </properties></batch-publisher></wan-replication>
        <advanced-network><wan-endpoint-config name="e"/></advanced-network></grid>`,
    );
    for (const { config, warnings } of [fromYaml, fromXml]) {
      assert.deepEqual(publishersOf(config), [wanted]);
      assert.deepEqual(warnings, []);
    }
  });

  it('is refused for invalid values of each setting, with file and line', async () => {
    const wrong: Record<string, readonly string[]> = {
      'cluster-name': ['""', 'a'.repeat(256)],
      'publisher-id': ['a'.repeat(256)],
      'batch-size': ['0', '2147483648', 'x', '1.5'],
      'batch-max-delay-millis': ['-1', '2147483648'],
      'response-timeout-millis': ['0', '2147483648'],
      'acknowledge-type': ['ACK'],
      'queue-capacity': ['0', '2147483648'],
      'queue-bytes-max': ['1048575', '1025g', 'much'],
      'queue-full-behavior': ['DISCARD'],
      'initial-publisher-state': ['RUNNING'],
      'snapshot-enabled': ['yes'],
      'discovery-period-seconds': ['0', '2147484'],
      'max-concurrent-invocations': ['-2', '2147483648'],
      compression: ['gzip'],
      'target-endpoints': [
        '""',
        '", ,"',
        '"a:1,,b:2"',
        '"a,"',
        'a b',
        'a:0',
        'a:65536',
        'ftp://a',
        '"[::1"',
        'a/b/c',
        'a/..',
      ],
    };
    for (const [name, values] of Object.entries(wrong)) {
      const endpoints = name === 'target-endpoints' ? '' : 'target-endpoints: a, ';
      for (const value of values) {
        const [problem = '', ...more] = await problemsIn(yaml(`${endpoints}${name}: ${value}`));
        const expected = new RegExp(
          `^wan\\.yaml:5:\\d+: Cannot use wan-replication\\.r\\.[^ ]*p\\.${name} `,
        );
        assert.match(problem, expected, value);
        assert.match(problem, /: not /);
        assert.deepEqual(more, []);
      }
    }
  });

  it('is refused without its password in the message', async () => {
    const text = yaml('target-endpoints: a, properties: {username: u, password: "a\\u0007b"}');
    assert.deepEqual(await problemsIn(text), [
      `wan.yaml:5:70: Cannot use wan-replication.r.batch-publisher.p.properties.password ${MASK}: not a text without control characters`,
    ]);
  });

  it('is refused for a user in an endpoint, without that user in the message', async () => {
    const given = 'target-endpoints: "a,http://u:geheim@b"';
    const [problem = '', ...more] = await problemsIn(yaml(given));
    assert.match(
      problem,
      /p\.target-endpoints \*{4}: not .*; a user and a password are properties$/,
    );
    assert.deepEqual(more, []);
    const flat =
      'grid: {wan-replication: {r: {batch-publisher: {target-endpoints: "u:geheim@b"}}}}';
    const [unnamed = ''] = await problemsIn(flat);
    assert.match(unnamed, /write batch-publisher: \{NAME: \{target-endpoints: \*{4}\}\}$/);
  });

  it('is refused for a user with a colon, which HTTP Basic cannot send', async () => {
    const [problem = ''] = await problemsIn(
      yaml('target-endpoints: a, properties: {username: "u:v", password: x}'),
    );
    assert.match(problem, /p\.properties\.username "u:v": not a text of .* and without a colon$/);
  });

  it('has a queue of at most the bytes of all publishers, which is also the default', async () => {
    const limit = '  wan: {queue-bytes-max: 8m}\n';
    const queueBytesMax = async (bytes: string) =>
      (await publisherOf(`target-endpoints: a${bytes}`, limit))?.queueBytesMax;
    assert.equal(await queueBytesMax(''), 8 * 2 ** 20);
    assert.equal(await queueBytesMax(', queue-bytes-max: 8m'), 8 * 2 ** 20);
    assert.equal(await queueBytesMax(', queue-bytes-max: 2m'), 2 * 2 ** 20);
    assert.deepEqual(await problemsIn(yaml('target-endpoints: a, queue-bytes-max: 9m', limit)), [
      'wan.yaml:5:51: Cannot use wan-replication.r.batch-publisher.p.queue-bytes-max "9m": more than wan.queue-bytes-max, 8388608',
    ]);
  });

  it('reduces the default memory for data', async () => {
    const memoryOf = async (text: string) => (await load('wan.yaml', text)).config.maxMemory;
    const limit = '  wan: {queue-bytes-max: 1024g}\n';
    const alone = await memoryOf(`grid:\n${limit}`);
    assert.ok((await memoryOf(yaml('target-endpoints: a', limit))) < alone);
    const group = '  network: {rest-api: {endpoint-groups: {WAN: {enabled: true}}}}\n';
    assert.ok((await memoryOf(`grid:\n${limit}${group}`)) < alone);
  });

  it('needs both a user and a password, or neither', async () => {
    for (const [given, missing] of [
      ['username', 'password'],
      ['password', 'username'],
    ]) {
      const [problem] = await problemsIn(yaml(`target-endpoints: a, properties: {${given}: x}`));
      assert.match(problem ?? '', new RegExp(`batch-publisher\\.p: no properties\\.${missing}; `));
    }
  });

  it('is refused for misspelt properties', async () => {
    const [problem] = await problemsIn(yaml('target-endpoints: a, properties: {pasword: x}'));
    assert.match(problem ?? '', /"pasword" in .*properties: unknown; did you mean "password"\?/);
  });

  it('needs endpoints', async () => {
    assert.deepEqual(await problemsIn(yaml('')), [
      'wan.yaml:5:9: Cannot use wan-replication.r.batch-publisher.p: no target-endpoints; it names at least one member',
    ]);
  });

  it('lists its endpoints with scheme, port and segment, each once', async () => {
    const text = '"a , b:1,[::1],[fe80::1]:2/x-1/, HTTPS://c/y,http://d:9,a:5701"';
    const { targetEndpoints } = (await publisherOf(`target-endpoints: ${text}`)) ?? {};
    assert.deepEqual(targetEndpoints, [
      ...[endpoint('a'), endpoint('b', false, 1), endpoint('::1')],
      ...[endpoint('fe80::1', false, 2, 'x-1'), endpoint('c', true, 5701, 'y')],
      endpoint('d', false, 9),
    ]);
  });
});

describe('The id of a publisher', () => {
  const ids = async (text: string, name?: string) => {
    const { config } = await load(name ?? 'wan.yaml', text);
    return publishersOf(config).map((each) => [each.publisherId, each.clusterName]);
  };

  it('is the name of the block in YAML, which is also the default cluster name', async () => {
    const more = '        q: {cluster-name: nyc, target-endpoints: a}\n';
    assert.deepEqual(await ids(yaml('target-endpoints: a', more)), [
      ['p', 'p'],
      ['q', 'nyc'],
    ]);
  });

  it('is publisher-id if that is set and not blank', async () => {
    const more = '        q: {publisher-id: " ", target-endpoints: a}\n';
    assert.deepEqual(await ids(yaml('publisher-id: x, target-endpoints: a', more)), [
      ['x', 'p'],
      ['q', 'q'],
    ]);
  });

  it('is the cluster name in XML', async () => {
    const text = `<grid><wan-replication name="r">
      <batch-publisher><cluster-name>nyc</cluster-name><target-endpoints>a</target-endpoints></batch-publisher>
      <batch-publisher><publisher-id>x</publisher-id><target-endpoints>a</target-endpoints></batch-publisher>
      </wan-replication></grid>`;
    assert.deepEqual(await ids(text, 'wan.xml'), [
      ['nyc', 'nyc'],
      ['x', 'dev'],
    ]);
  });

  it('is an error if it occurs twice or is missing', async () => {
    const more = '        q: {publisher-id: p, target-endpoints: a}\n';
    assert.deepEqual(await problemsIn(yaml('target-endpoints: a', more)), [
      'wan.yaml:6:9: Cannot use wan-replication.r.batch-publisher.q: publisher id "p" already exists',
    ]);
    const item = `\n<batch-publisher><cluster-name>a</cluster-name><target-endpoints>a</target-endpoints></batch-publisher>`;
    const text = `<grid><wan-replication name="r">${item}${item}\n<batch-publisher/></wan-replication></grid>`;
    assert.deepEqual(
      (await problemsIn(text, 'wan.xml')).map((each) => each.replace(/;.*/, '')),
      [
        'wan.xml:3:1: Cannot use wan-replication.r.batch-publisher[1]: publisher id "a" already exists',
        'wan.xml:4:1: Cannot use wan-replication.r.batch-publisher[2]: no cluster-name',
        'wan.xml:4:1: Cannot use wan-replication.r.batch-publisher[2]: no target-endpoints',
      ],
    );
  });

  it('may be equal in two replications', async () => {
    const more = '    s: {batch-publisher: {p: {target-endpoints: a}}}\n';
    const { config } = await load('wan.yaml', yaml('target-endpoints: a', more));
    assert.deepEqual([...config.wanReplications.keys()], ['r', 's']);
  });
});

test('Settings of a publisher without a name are an error that shows the correct form', async () => {
  const text = `grid:
  wan-replication:
    r:
      batch-publisher:
        cluster-name: nyc
        target-endpoints: a
`;
  assert.deepEqual(await problemsIn(text), [
    'wan.yaml:5:9: Cannot use wan-replication.r.batch-publisher.cluster-name: it belongs below a name; write batch-publisher: {NAME: {cluster-name: "nyc"}}',
    'wan.yaml:6:9: Cannot use wan-replication.r.batch-publisher.target-endpoints: it belongs below a name; write batch-publisher: {NAME: {target-endpoints: "a"}}',
  ]);
});

test('A replication may have no publishers, also as an empty block', async () => {
  for (const block of ['', '{}', '{batch-publisher: }', '{batch-publisher: {}}']) {
    const { config, warnings } = await load('wan.yaml', `grid: {wan-replication: {r: ${block}}}`);
    assert.deepEqual([...config.wanReplications], [['r', { name: 'r', publishers: [] }]]);
    assert.deepEqual(warnings, []);
  }
  const { config } = await load('wan.xml', '<grid><wan-replication name="r"/></grid>');
  assert.deepEqual([...config.wanReplications.keys()], ['r']);
});

test(`A member has at most ${PUBLISHERS_MAX} publishers`, async () => {
  const list = (count: number) =>
    Array.from({ length: count }, (_, at) => `        p${at}: {target-endpoints: a}\n`).join('');
  const text = (count: number) =>
    `grid:\n  wan-replication:\n    r:\n      batch-publisher:\n${list(count)}`;
  const { config } = await load('wan.yaml', text(PUBLISHERS_MAX));
  assert.equal(publishersOf(config).length, PUBLISHERS_MAX);
  assert.deepEqual(await problemsIn(text(PUBLISHERS_MAX + 2)), [
    `wan.yaml:69:9: Cannot use wan-replication.r.batch-publisher.p64: more than ${PUBLISHERS_MAX} publishers`,
  ]);
});

describe('TLS to the endpoints', () => {
  const ssl = (properties: string) => `{ssl: {enabled: true, properties: {${properties}}}}`;

  it('is that of network.ssl, unless an endpoint has a scheme', async () => {
    const own = 'keyStore: k.p12, keyStorePassword: s, trustCertCollectionFile: ca.pem';
    const text = yaml('target-endpoints: "a,http://b,https://c"', `  network: ${ssl(own)}\n`);
    const loaded = await load('wan.yaml', text);
    const [publisher] = publishersOf(loaded.config);
    assert.deepEqual(
      publisher?.targetEndpoints.map(({ tls }) => tls),
      [true, false, true],
    );
    const tls = { ...NO_TLS, keyStore: 'k.p12', keyStorePassword: 's', authorities: 'ca.pem' };
    assert.deepEqual(publisher?.tls, tls);
    assert.deepEqual(loaded.warnings, []);
    assert.match(explainAsJson(loaded), /"network\.ssl\.properties\.trustCertCollectionFile"/);
  });

  it('is that of an endpoint configuration without a name in XML, if it defines TLS', async () => {
    const xml = (content: string, endpoint = '') =>
      `<hazelcast><network><ssl enabled="true"><properties>
        <property name="keyStore">own.p12</property></properties></ssl></network>
        <wan-replication name="r"><batch-publisher><cluster-name>c</cluster-name>
        <target-endpoints>a</target-endpoints>${endpoint}</batch-publisher></wan-replication>
        <advanced-network><wan-endpoint-config>${content}</wan-endpoint-config></advanced-network></hazelcast>`;
    const ssl = (isOn: boolean) =>
      `<ssl enabled="${isOn}"><properties><property name="keyStore">k.p12</property></properties></ssl>`;
    for (const [content, keyStore, tls] of [
      [ssl(true), 'k.p12', true],
      [ssl(false), undefined, false],
      ['<outbound-ports><ports>33000</ports></outbound-ports>', 'own.p12', true],
    ] as const) {
      const [publisher] = publishersOf((await load('wan.xml', xml(content))).config);
      assert.deepEqual(
        [publisher?.tls.keyStore, publisher?.targetEndpoints],
        [keyStore, [endpoint('a', tls)]],
      );
    }
    const yamlProblems = await problemsIn(
      yaml('target-endpoints: a', '  advanced-network: {wan-endpoint-config: {"": {}}}\n'),
    );
    assert.match(yamlProblems.join(), /Cannot use "" as a name/);
  });

  it('is also that of the flags', async () => {
    const flag = (key: 'tlsEnabled' | 'tlsCertificate' | 'tlsKey', text: string) =>
      ({ key, text, source: { kind: 'flag', name: '--tls' } }) as const;
    const flags = [flag('tlsEnabled', 'true'), flag('tlsCertificate', 'c'), flag('tlsKey', 'k')];
    const file = writeConfig('wan.yaml', yaml('target-endpoints: a'));
    const { config } = await loadConfig({ file, environment: {}, flags });
    const [publisher] = publishersOf(config);
    assert.deepEqual(publisher?.targetEndpoints, [endpoint('a', true)]);
    assert.deepEqual(publisher?.tls, { ...NO_TLS, certificate: 'c', key: 'k' });
  });

  it('is that of the named endpoint configuration, and off if that has none', async () => {
    const own = ssl('keyCertChainFile: c.pem, keyFile: k.pem, trustCertCollectionFile: ca.pem');
    const endpoints = `  advanced-network: {wan-endpoint-config: {e: ${own}, f: {ssl: {enabled: false}}}}\n`;
    const named = await publisherOf('target-endpoints: a, endpoint: e', endpoints);
    assert.deepEqual(named?.targetEndpoints, [endpoint('a', true)]);
    const tls = { ...NO_TLS, certificate: 'c.pem', key: 'k.pem', authorities: 'ca.pem' };
    assert.deepEqual(named?.tls, tls);
    for (const name of ['f', '""']) {
      const other = await publisherOf(`target-endpoints: a, endpoint: ${name}`, endpoints);
      assert.deepEqual(other?.targetEndpoints, [endpoint('a')]);
      assert.deepEqual(other?.tls, {});
    }
  });

  it('needs an endpoint configuration that exists', async () => {
    const endpoints = '  advanced-network: {wan-endpoint-config: {east: }}\n';
    const problems = await problemsIn(yaml('target-endpoints: a, endpoint: eats', endpoints));
    assert.deepEqual(problems, [
      'wan.yaml:5:44: Cannot use wan-replication.r.batch-publisher.p.endpoint "eats": no usable advanced-network.wan-endpoint-config "eats"; did you mean "east"?',
    ]);
  });

  it('is refused if it cannot be used as written', async () => {
    const refused = async (content: string) =>
      await refusedOf(
        yaml(
          'target-endpoints: a, endpoint: e',
          `  advanced-network: {wan-endpoint-config: {e: ${content}}}\n`,
        ),
      );
    const at = '6 advanced-network.wan-endpoint-config.e';
    for (const [content, path] of [
      [ssl('keyCertChainFile: c'), 'ssl.properties.keyCertChainFile'],
      [ssl('keyStore: k, keyStoreType: JKS'), 'ssl.properties.keyStore'],
      [ssl('ciphersuites: x'), 'ssl.properties.ciphersuites'],
      ['{ssl: {enabled: true, factory-class-name: a.B}}', 'ssl.factory-class-name'],
      ['{symmetric-encryption: {enabled: true}}', 'symmetric-encryption.enabled'],
      ['{socket-interceptor: {enabled: true}}', 'socket-interceptor.enabled'],
    ] as const) {
      assert.deepEqual(await refused(content), [`${at}.${path}`]);
    }
  });
});

describe('Unsupported settings are refused:', () => {
  it('custom publishers, and the class of a consumer', async () => {
    const text = `grid:
  wan-replication:
    r:
      custom-publisher: {c: {class-name: x}}
      consumer: {class-name: y}
`;
    assert.deepEqual(await refusedOf(text), [
      '4 wan-replication.r.custom-publisher',
      '5 wan-replication.r.consumer.class-name',
    ]);
    const xml = `<grid><wan-replication name="r">
      <custom-publisher><publisher-id>c</publisher-id></custom-publisher></wan-replication></grid>`;
    assert.deepEqual(await refusedOf(xml, 'wan.xml'), ['2 wan-replication.r.custom-publisher']);
  });

  it('enabled discovery; in YAML it is off by default, in XML on', async () => {
    for (const kind of ['aws', 'gcp', 'azure', 'kubernetes', 'eureka']) {
      const path = `wan-replication.r.batch-publisher.p.${kind}`;
      assert.deepEqual(await refusedOf(yaml(`${kind}: {enabled: true}`)), [`5 ${path}.enabled`]);
      const off = await load('wan.yaml', yaml(`target-endpoints: a, ${kind}: {region: x}`));
      assert.deepEqual([off.refused.length, off.warnings.length], [0, 1]);
      const xml = (attribute: string) =>
        `<grid><wan-replication name="r"><batch-publisher><cluster-name>c</cluster-name>
        <target-endpoints>a</target-endpoints><${kind}${attribute}/></batch-publisher></wan-replication></grid>`;
      assert.equal((await refusedOf(xml(''), 'wan.xml')).length, 1);
      assert.equal((await refusedOf(xml(' enabled="true"'), 'wan.xml')).length, 1);
      assert.equal((await refusedOf(xml(' enabled="false"'), 'wan.xml')).length, 0);
    }
    const strategies = (item: string) =>
      yaml(
        `target-endpoints: a, discovery-strategies: {discovery-strategies: [{class: x${item}}]}`,
      );
    assert.equal((await refusedOf(strategies(''))).length, 1);
    assert.equal((await refusedOf(strategies(', enabled: true'))).length > 0, true);
    assert.equal((await refusedOf(strategies(', enabled: false'))).length, 0);
  });

  it('filters that are classes', async () => {
    const ref = '  map: {m: {wan-replication-ref: {r: {filters: [com.x.Filter, "key:a"]}}}}\n';
    assert.deepEqual(await refusedOf(yaml('target-endpoints: a', ref)), [
      '6 map.m.wan-replication-ref.r.filters[0]',
    ]);
  });
});

describe('With servers that store the data', () => {
  const engine = '  engine: {url: "redis://a"}\n';

  it('policies that compare reads are refused', async () => {
    for (const policy of ['HigherHits', 'LatestAccess']) {
      const ref = `wan-replication-ref: {r: {merge-policy-class-name: ${policy}}}`;
      const map = `  map: {m: {per-entry-stats-enabled: true, ${ref}}}\n`;
      const name = 'map.m.wan-replication-ref.r.merge-policy-class-name';
      const text = yaml('target-endpoints: a', map);
      assert.deepEqual((await load('wan.yaml', text)).refused, []);
      const problem = `wan.yaml:6:95: Cannot use ${name} "${policy}": reads are not counted with engine.url`;
      assert.deepEqual(await problemsIn(text + engine), [problem]);
    }
  });

  it('settings without effect cause warnings', async () => {
    const settings = 'target-endpoints: a, queue-bytes-max: 1g, snapshot-enabled: false';
    const text = yaml(settings, `  wan: {queue-bytes-max: 2m}\n${engine}`);
    const { warnings, config } = await load('wan.yaml', text);
    const why = 'has no effect: servers store the data (engine.url)';
    assert.deepEqual(warnings.map((line) => line.replace(/^.*wan\.yaml:/, '')).sort(), [
      `5:51: wan-replication.r.batch-publisher.p.queue-bytes-max ${why}`,
      `5:73: wan-replication.r.batch-publisher.p.snapshot-enabled ${why}`,
      `6:26: wan.queue-bytes-max ${why}`,
    ]);
    assert.equal(publishersOf(config).length, 1);
    const others = yaml('target-endpoints: a, snapshot-enabled: true', engine);
    assert.deepEqual((await load('wan.yaml', others)).warnings, []);
  });
});

test('Settings without meaning cause one warning', async () => {
  const settings =
    'target-endpoints: a, idle-max-park-ns: 1, idle-min-park-ns: 1, use-endpoint-private-address: true, ' +
    'max-target-endpoints: 3, properties: {health-check-timeout-ms: 1}';
  const text = yaml(settings, '      consumer: {persist-wan-replicated-data: true}\n');
  const { warnings } = await load('wan.yaml', text);
  assert.equal(warnings.length, 1);
  for (const name of [
    ...['idle-max-park-ns', 'idle-min-park-ns', 'use-endpoint-private-address'],
    ...['max-target-endpoints', 'health-check-timeout-ms', 'persist-wan-replicated-data'],
  ]) {
    assert.ok(warnings[0]?.includes(name), name);
  }
});

describe('A map', () => {
  const map = (content: string) =>
    yaml('target-endpoints: a', `    s: \n  map:\n    m: ${content}\n`);
  const mapOf = async (content: string) => {
    const { config, warnings } = await load('wan.yaml', map(content));
    assert.deepEqual(warnings, []);
    return config.mapWan.get('m');
  };
  const ref = (settings: string, more = '') => `{wan-replication-ref: {r: ${settings}}${more}}`;
  const REF = { name: 'r', mergePolicy: 'PassThrough', republishingEnabled: true, filters: [] };
  const REST = { perEntryStatsEnabled: false, merkleTree: { enabled: undefined, depth: 10 } };

  it('refers to a replication with the defaults of the original', async () => {
    for (const settings of ['', '{}']) {
      assert.deepEqual(await mapOf(ref(settings)), { ref: REF, ...REST });
    }
  });

  it('has no WAN settings if the file sets none', async () => {
    assert.equal(await mapOf('{time-to-live-seconds: 3}'), undefined);
  });

  it('accepts its settings in both forms', async () => {
    const wanted = {
      ref: {
        ...{ name: 'r', mergePolicy: 'HigherHits', republishingEnabled: false },
        filters: ['a*', 'b,c'],
      },
      ...{ perEntryStatsEnabled: true, merkleTree: { enabled: true, depth: 16 } },
    };
    const settings =
      '{merge-policy-class-name: HigherHitsMergePolicy, republishing-enabled: false, filters: ["key:a*", "key:b,c"]}';
    const more = ', per-entry-stats-enabled: true, merkle-tree: {enabled: true, depth: 16}';
    assert.deepEqual(await mapOf(ref(settings, more)), wanted);
    const { config, warnings } = await load(
      'wan.xml',
      `<grid><wan-replication name="r"/><map name="m"><wan-replication-ref name="r">
      <merge-policy-class-name>com.hazelcast.spi.merge.HigherHitsMergePolicy</merge-policy-class-name>
      <republishing-enabled>false</republishing-enabled>
      <filters><filter-impl>key:a*</filter-impl><filter-impl>key:b,c</filter-impl></filters>
      </wan-replication-ref><per-entry-stats-enabled>true</per-entry-stats-enabled>
      <merkle-tree enabled="true"><depth>16</depth></merkle-tree></map></grid>`,
    );
    assert.deepEqual(config.mapWan.get('m'), wanted);
    assert.deepEqual(warnings, []);
  });

  it('accepts merge policies by name, with or without a package and a suffix', async () => {
    for (const name of ['PassThrough', 'PutIfAbsent', 'LatestUpdate', 'ExpirationTime']) {
      for (const text of [
        name,
        `${name}MergePolicy`,
        `com.hazelcast.spi.merge.${name}MergePolicy`,
      ]) {
        const { ref: found } = (await mapOf(ref(`{merge-policy-class-name: ${text}}`))) ?? {};
        assert.equal(found?.mergePolicy, name);
      }
    }
  });

  const WRONG: readonly (readonly [content: string, RegExp])[] = [
    ['{wan-replication-ref: {q: }}', /ref\.q: no such wan-replication; did you mean "r" or "s"\?$/],
    [
      '{wan-replication-ref: {r: , s: }}',
      /wan-replication-ref\.s: the map already refers to "r" at .*:8:31$/,
    ],
    [
      ref('{merge-policy-class-name: LatestUpdat}'),
      /"LatestUpdat": not one of .*; did you mean "LatestUpdate"\?$/,
    ],
    [
      ref('{merge-policy-class-name: DiscardMergePolicy}'),
      /"DiscardMergePolicy": not one of PassThrough, /,
    ],
    [
      ref('{merge-policy: PassThrough}'),
      /"merge-policy" in map\.m\.wan-replication-ref\.r: unknown/,
    ],
    [ref('{republishing-enabled: maybe}'), /republishing-enabled "maybe": not true or false$/],
    [ref('{filters: ["key:"]}'), /filters\[0\] "key:": not texts of the form key:PATTERN/],
    ['{merkle-tree: {depth: 1}}', /depth "1": not an integer from 2 to 27$/],
    ['{merkle-tree: {depth: 28}}', /depth "28": not an integer from 2 to 27$/],
    ['{merkle-tree: {enabled: 2}}', /enabled "2": not true or false$/],
    ['{per-entry-stats-enabled: 2}', /per-entry-stats-enabled "2": not true or false$/],
  ];
  for (const [content, expected] of WRONG) {
    it(`is refused for invalid values: ${content}`, async () => {
      const [problem = '', ...more] = await problemsIn(map(content));
      assert.deepEqual(more, []);
      assert.match(problem, /^wan\.yaml:8:\d+: Cannot use /);
      assert.match(problem, expected);
    });
  }

  it('needs entry statistics if the policy compares them', async () => {
    for (const policy of ['HigherHits', 'LatestAccess']) {
      const settings = `{merge-policy-class-name: ${policy}}`;
      const [problem] = await problemsIn(map(ref(settings)));
      assert.match(
        problem ?? '',
        new RegExp(`"${policy}": map\\.m\\.per-entry-stats-enabled is not true`),
      );
      const whole = await mapOf(ref(settings, ', per-entry-stats-enabled: true'));
      assert.equal(whole?.ref?.mergePolicy, policy);
    }
  });

  it('has at most 100 filters, which are checked quickly', async () => {
    const filters = (count: number) =>
      ref(`{filters: [${Array(count).fill('"key:a"').join(', ')}]}`);
    assert.equal((await mapOf(filters(100)))?.ref?.filters.length, 100);
    const [problem] = await problemsIn(map(filters(101)));
    assert.match(problem ?? '', /filters\[100\]: more than 100 filters$/);
  });

  it('causes a warning if its tree is deeper than the deepest supported one', async () => {
    const text =
      'grid:\n  map:\n    m: {merkle-tree: {depth: 27}}\n    n: {merkle-tree: {depth: 17}}\n    o: {merkle-tree: {depth: 16}}\n';
    const { config, findings } = await load('wan.yaml', text);
    const warnings = findings.filter(({ severity }) => severity === 'warning');
    assert.deepEqual(
      warnings.map(({ message }) => message),
      ['map.m.merkle-tree.depth "27" counts as 16', 'map.n.merkle-tree.depth "17" counts as 16'],
    );
    assert.match(warnings[0]?.place ?? '', /wan\.yaml:3:\d+$/);
    assert.equal(config.mapWan.get('m')?.merkleTree.depth, 27);
    const maps = new WanMaps(config);
    const trees = ['m', 'n', 'o', 'other'].map((name) => maps.treeOf(Buffer.from(name)));
    assert.deepEqual(trees, [
      { isOn: true, depth: 16 },
      { isOn: true, depth: 16 },
      { isOn: true, depth: 16 },
      { isOn: true, depth: 10 },
    ]);
    const off = await load('wan.yaml', 'grid: {map: {m*: {merkle-tree: {enabled: false}}}}');
    const settings = new WanMaps(off.config);
    assert.equal(settings.treeOf(Buffer.from('map')).isOn, false);
    assert.equal(settings.treeOf(Buffer.from('other')).isOn, true);
  });

  it('is never one of the reserved map, whose name a file cannot have', async () => {
    for (const name of ['"*"', 'default']) {
      const settings = '{wan-replication-ref: {r: }, per-entry-stats-enabled: true}';
      const { config } = await load(
        'wan.yaml',
        yaml('target-endpoints: a', `  map: {${name}: ${settings}}\n`),
      );
      const maps = new WanMaps(config);
      for (const [map, isConfigured] of [
        ['m', true],
        ['', false],
      ] as const) {
        const bytes = Buffer.from(map);
        assert.equal(maps.refsTo('r')(bytes) !== undefined, isConfigured);
        assert.equal(maps.merging.keepsTombstones?.(bytes), isConfigured);
        assert.equal(maps.merging.keepsStatistics?.(bytes), isConfigured);
      }
    }
    const [problem = ''] = await problemsIn(
      yaml('target-endpoints: a', '  map: {"": {wan-replication-ref: {r: }}}\n'),
    );
    assert.match(problem, /Cannot use "" as a name: it is empty$/);
  });

  it('includes patterns and the default in its names', async () => {
    const more =
      '  map: {"a*": {wan-replication-ref: {r: }}, default: {per-entry-stats-enabled: true}}\n';
    const { config } = await load('wan.yaml', yaml('target-endpoints: a', more));
    assert.deepEqual([...config.mapWan.keys()], ['a*', 'default']);
  });
});

test('The settings of the member itself have ranges', async () => {
  const wan = (text: string) => `grid: {wan: {${text}}}`;
  const { config } = await load(
    'wan.yaml',
    wan('tombstone-retention-seconds: 1, tombstones-max: 0'),
  );
  assert.deepEqual([config.wanTombstoneRetentionSeconds, config.wanTombstonesMax], [1, 0]);
  const { config: without } = await load('wan.yaml', 'grid: {}');
  const { wanTombstoneRetentionSeconds, wanTombstonesMax } = without;
  assert.deepEqual([wanTombstoneRetentionSeconds, wanTombstonesMax], [86_400, 1_000_000]);
  for (const wrong of [
    'tombstone-retention-seconds: 0',
    'tombstones-max: -1',
    'tombstones-max: 2000000000',
  ]) {
    assert.match((await problemsIn(wan(wrong)))[0] ?? '', /not an integer from/);
  }
});

test('The effective values are shown with their sources and without secrets, and can be read back', async () => {
  const text = yaml(
    'target-endpoints: "https://a", batch-size: 7, endpoint: e, properties: {username: u, password: geheim}',
    `        q: {target-endpoints: b}
    s:
  advanced-network: {wan-endpoint-config: {e: {ssl: {enabled: true, properties: {keyStore: k, keyStorePassword: geheim}}}}}
  map:
    m: {wan-replication-ref: {r: {filters: ["key:x"]}}, merkle-tree: {depth: 3}}
`,
  );
  const loaded = await load('wan.yaml', text);
  const explained = JSON.parse(explainAsJson(loaded)) as Record<
    string,
    { value: unknown; source: string }
  >;
  const p = 'wan-replication.r.batch-publisher.p';
  assert.equal(explained[`${p}.batch-size`]?.value, 7);
  assert.match(explained[`${p}.batch-size`]?.source ?? '', /^file .*wan\.yaml:5:\d+$/);
  assert.deepEqual(explained[`${p}.queue-capacity`], { value: 10_000, source: 'default' });
  assert.match(explained[`${p}.cluster-name`]?.source ?? '', /^file .*wan\.yaml:5:9$/);
  assert.equal(explained[`${p}.properties.password`]?.value, MASK);
  assert.equal(explained['map.m.wan-replication-ref.r.filters[0]']?.value, 'key:x');
  assert.deepEqual(explained['map.m.wan-replication-ref.r.republishing-enabled'], {
    ...{ value: true, source: 'default' },
  });
  for (const explained of [explainAsJson(loaded), explainAsYaml(loaded)]) {
    assert.ok(!explained.includes('geheim'));
  }
  const again = await load('again.yaml', explainAsYaml(loaded));
  const masked = (config: Config) =>
    JSON.stringify([
      [...config.wanReplications],
      [...config.mapWan],
      [...config.wanEndpoints],
    ]).replaceAll('geheim', MASK);
  assert.equal(masked(again.config), masked(loaded.config));
});

test('Each row has a unique path', () => {
  const rows = [...Object.values(PUBLISHER_SETTINGS), ...Object.values(MAP_WAN_SETTINGS)];
  const paths = rows.map(({ path }) => path);
  assert.equal(new Set(paths).size, rows.length);
  assert.ok(!paths.includes(undefined));
});
