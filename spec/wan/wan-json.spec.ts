/** The WAN replication that a request adds: the JSON of the original, valid and invalid. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import { ConfigFault } from '../../src/config/finding.ts';
import { type Config, resolveConfig } from '../../src/member/config.ts';
import { PUBLISHERS_MAX } from '../../src/wan/wan-config.ts';
import { addWanText } from '../../src/wan/wan-json.ts';
import { load } from '../config/documents.ts';

const CONFIG = resolveConfig([]);

function add(json: unknown, config: Config = CONFIG) {
  return addWanText(config, typeof json === 'string' ? json : JSON.stringify(json));
}

/** Returns a call with one publisher of these fields. */
function call(fields: object): object {
  return { name: 'r', batchPublishers: [{ clusterName: 'c', targetEndpoints: 'a', ...fields }] };
}

function publisherOf(json: unknown, config?: Config) {
  return add(json, config).config.wanReplications.get('r')?.publishers[0];
}

function problemsOf(json: unknown, config?: Config): readonly string[] {
  try {
    add(json, config);
  } catch (error) {
    if (error instanceof ConfigFault) return error.problems;
    throw error;
  }
  return [];
}

describe('A WAN replication in JSON', () => {
  it('is read as the original writes it', () => {
    const json = {
      name: 'r',
      batchPublishers: [
        {
          ...{ clusterName: 'nyc', publisherId: 'p', batchSize: 7, batchMaxDelayMillis: 8 },
          ...{ responseTimeoutMillis: 9, acknowledgeType: 0, initialPublisherState: 2 },
          ...{ snapshotEnabled: true, idleMaxParkNs: 250_000_000, idleMinParkNs: 10_000_000 },
          ...{ maxConcurrentInvocations: -1, discoveryPeriodSeconds: 10, queueFullBehavior: 1 },
          ...{ useEndpointPrivateAddress: false, maxTargetEndpoints: 2_147_483_647 },
          ...{
            queueCapacity: 10,
            targetEndpoints: 'a:1, b',
            sync: { consistencyCheckStrategy: 1 },
          },
          ...{ aws: { enabled: false, usePublicIp: false }, kubernetes: { enabled: false } },
          ...{ discovery: { nodeFilterClass: null, discoveryStrategy: [] }, endpoint: null },
          ...{ properties: { username: 'u', password: 'x', other: 'y' }, unknown: [{}] },
        },
      ],
      customPublishers: [],
      consumer: { persistWanReplicatedData: false, className: null, properties: {} },
    };
    assert.deepEqual(publisherOf(json), {
      ...{ publisherId: 'p', clusterName: 'nyc', batchSize: 7, batchMaxDelayMs: 8 },
      ...{ responseTimeoutMs: 9, acknowledgeType: 'ACK_ON_RECEIPT', snapshotEnabled: true },
      ...{ initialPublisherState: 'STOPPED', maxConcurrentInvocations: -1 },
      ...{ discoveryPeriodSeconds: 10, queueFullBehavior: 'THROW_EXCEPTION', queueCapacity: 10 },
      targetEndpoints: [
        { host: 'a', port: 1, segment: undefined, tls: false },
        { host: 'b', port: 5701, segment: undefined, tls: false },
      ],
      ...{ consistencyCheckStrategy: 'MERKLE_TREES', username: 'u', password: 'x' },
      ...{ queueBytesMax: 268_435_456, compression: 'none', tls: {} },
    });
  });

  it('has the defaults of a file', async () => {
    const text = 'grid: {wan-replication: {r: {batch-publisher: {c: {target-endpoints: a}}}}}';
    const { config } = await load('wan.yaml', text);
    assert.deepEqual(publisherOf(call({})), config.wanReplications.get('r')?.publishers[0]);
    assert.deepEqual(
      publisherOf(call({ batchSize: null, publisherId: ' ', properties: null, sync: null })),
      publisherOf(call({})),
    );
  });

  it('accepts enumerations as numbers or names', () => {
    for (const [field, key, words] of [
      ['acknowledgeType', 'acknowledgeType', ['ACK_ON_RECEIPT', 'ACK_ON_OPERATION_COMPLETE']],
      ['initialPublisherState', 'initialPublisherState', ['REPLICATING', 'PAUSED', 'STOPPED']],
      [
        ...(['queueFullBehavior', 'queueFullBehavior'] as const),
        ['DISCARD_AFTER_MUTATION', 'THROW_EXCEPTION', 'THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE'],
      ],
    ] as const) {
      for (const [number, word] of words.entries()) {
        assert.equal(publisherOf(call({ [field]: number }))?.[key], word);
        assert.equal(publisherOf(call({ [field]: word }))?.[key], word);
      }
    }
    for (const [value, word] of [
      [0, 'NONE'],
      [1, 'MERKLE_TREES'],
      ['MERKLE_TREES', 'MERKLE_TREES'],
    ]) {
      const publisher = publisherOf(call({ sync: { consistencyCheckStrategy: value } }));
      assert.equal(publisher?.consistencyCheckStrategy, word);
    }
  });

  it("accepts gridnode's own settings", () => {
    const own = publisherOf(call({ queueBytesMax: 1_048_576, compression: 'deflate' }));
    assert.deepEqual([own?.queueBytesMax, own?.compression], [1_048_576, 'deflate']);
    assert.equal(publisherOf(call({ queueBytesMax: '2m' }))?.queueBytesMax, 2_097_152);
  });

  it('has an id: publisherId, otherwise clusterName', () => {
    assert.equal(publisherOf(call({}))?.publisherId, 'c');
    assert.equal(publisherOf(call({ publisherId: 'p' }))?.publisherId, 'p');
    assert.equal(publisherOf(call({ clusterName: null, publisherId: 'p' }))?.clusterName, 'dev');
    assert.match(problemsOf(call({ clusterName: null }))[0] ?? '', /\[0\]\.clusterName: no value/);
  });

  it('may name an endpoint configuration', async () => {
    const text =
      'grid: {advanced-network: {wan-endpoint-config: {e: {ssl: {enabled: true, properties: {keyStore: k}}}}}}';
    const { config } = await load('wan.yaml', text);
    const publisher = publisherOf(call({ endpoint: 'e' }), config);
    assert.equal(publisher?.tls.keyStore, 'k');
    assert.equal(publisher?.targetEndpoints[0]?.tls, true);
    assert.deepEqual(problemsOf(call({ endpoint: 'f' }), config), [
      'Cannot use batchPublishers[0].endpoint: "f": no usable advanced-network.wan-endpoint-config "f"; did you mean "e"?',
    ]);
  });

  it('is refused with the path of an invalid value', () => {
    for (const [json, expected] of [
      ['', /^Cannot read the WAN replication: not JSON$/],
      ['{"name": "r"', /not JSON$/],
      ...['[]', 'null', '1', '"r"'].map((text) => [text, /not an object$/] as const),
      [{}, 'name: no value; it names the replication'],
      [{ name: null }, 'name: no value; it names the replication'],
      [{ name: '' }, /name: "" is not a text of 1 to 255/],
      [{ name: 7 }, 'name: 7 is not a text'],
      [{ name: 'r', batchPublishers: {} }, 'batchPublishers: not an array'],
      [{ name: 'r', batchPublishers: [3] }, 'batchPublishers[0]: not an object'],
      [{ name: 'r', batchPublishers: [null] }, 'batchPublishers[0]: not an object'],
      [{ name: 'r', customPublishers: 1 }, 'customPublishers: not an array'],
      [
        { name: 'r', customPublishers: [{}] },
        /customPublishers\[0\]: custom classes are not supported/,
      ],
      [{ name: 'r', consumer: [] }, 'consumer: not an object'],
      [
        { name: 'r', consumer: { className: 'x' } },
        /consumer\.className: custom classes are not supported/,
      ],
      [
        { name: 'r', consumer: { persistWanReplicatedData: 1 } },
        'consumer.persistWanReplicatedData: 1 is not true or false',
      ],
      [{ name: 'r', batchPublishers: [{ clusterName: 'c' }] }, /\[0\]\.targetEndpoints: no value/],
      ...(
        [
          [{ clusterName: 7 }, /clusterName: 7 is not a text of/],
          [{ targetEndpoints: '' }, /targetEndpoints: "" is not \[http/],
          [{ targetEndpoints: 'h:1,,i:2' }, /targetEndpoints: "h:1,,i:2" is not \[http/],
          [{ targetEndpoints: 'http://u:p@h' }, /targetEndpoints: \*{4} is not .* are properties$/],
          [{ targetEndpoints: ['http://u:p@h'] }, /targetEndpoints: \*{4} is not \[http/],
          [
            { properties: { username: 'u:v', password: 'x' } },
            /properties\.username: "u:v" is not .* without a colon$/,
          ],
          [{ targetEndpoints: ['a'] }, /targetEndpoints: \[\\"a\\"\] is not \[http/],
          [
            { batchSize: 0 },
            'batchPublishers[0].batchSize: 0 is not an integer from 1 to 2147483647',
          ],
          [{ batchSize: 1.5 }, /batchSize: 1\.5 is not an integer/],
          [{ batchSize: '5' }, /batchSize: "5" is not an integer/],
          [{ batchMaxDelayMillis: -1 }, /batchMaxDelayMillis: -1 is not/],
          [{ responseTimeoutMillis: 0 }, /responseTimeoutMillis: 0 is not/],
          [{ queueCapacity: 1e300 }, /queueCapacity: 1e\+300 is not/],
          [{ queueBytesMax: 1 }, /queueBytesMax: 1 is not/],
          [{ queueBytesMax: 'x' }, /queueBytesMax: "x" is not/],
          [{ compression: 1 }, /compression: 1 is not one of none, deflate$/],
          [{ discoveryPeriodSeconds: true }, /discoveryPeriodSeconds: true is not/],
          [{ maxConcurrentInvocations: -2 }, /maxConcurrentInvocations: -2 is not/],
          [{ snapshotEnabled: 'true' }, /snapshotEnabled: "true" is not true or false$/],
          [{ acknowledgeType: 2 }, /acknowledgeType: 2 is not one of .*, or their numbers 0 to 1$/],
          [{ acknowledgeType: 'ACK' }, /acknowledgeType: "ACK" is not one of/],
          [{ acknowledgeType: 0.5 }, /acknowledgeType: 0\.5 is not one of/],
          [{ initialPublisherState: -1 }, /initialPublisherState: -1 is not one of/],
          [{ queueFullBehavior: 3 }, /queueFullBehavior: 3 is not one of/],
          [{ sync: 1 }, 'batchPublishers[0].sync: not an object'],
          [{ sync: { consistencyCheckStrategy: 2 } }, /sync\.consistencyCheckStrategy: 2 is not/],
          [{ properties: 1 }, 'batchPublishers[0].properties: not an object'],
          [{ properties: { a: 1 } }, 'batchPublishers[0].properties.a: not a text'],
          [{ properties: { a: null } }, 'batchPublishers[0].properties.a: not a text'],
          [{ properties: { username: 'u' } }, /properties\.password: no value; it has a username$/],
          [{ idleMaxParkNs: 'x' }, /idleMaxParkNs: "x" is not an integer$/],
          [{ useEndpointPrivateAddress: 0 }, /useEndpointPrivateAddress: 0 is not true or false$/],
          [{ aws: { enabled: true } }, /\[0\]\.aws: discovery of targets is not supported/],
          [{ gcp: { enabled: 1 } }, /gcp\.enabled: 1 is not true or false$/],
          [{ eureka: true }, /eureka: not an object$/],
          [
            { discovery: { discoveryStrategy: [{}] } },
            /\[0\]\.discovery: discovery of targets is not/,
          ],
        ] as const
      ).map(([fields, message]) => [call(fields), message] as const),
    ] as const) {
      const [problem = '', ...more] = problemsOf(json);
      assert.deepEqual(more, [], JSON.stringify(json));
      if (typeof expected === 'string') assert.equal(problem, `Cannot use ${expected}`);
      else assert.match(problem, expected);
    }
  });

  it('is refused with all invalid values at once, and without a password', () => {
    const wrong = call({
      batchSize: 0,
      queueCapacity: 0,
      properties: { username: 'u', password: '\n' },
    });
    const problems = problemsOf(wrong);
    assert.equal(problems.length, 3);
    assert.match(problems.join(), /properties\.password: \*\*\*\* is not/);
  });
});

describe('addWanText', () => {
  const publisher = (publisherId: string) => ({ publisherId, targetEndpoints: 'a' });
  const many = (from: number, count: number) => ({
    name: 'r',
    batchPublishers: Array.from({ length: count }, (_, at) => publisher(`p${from + at}`)),
  });
  const isFull = (error: unknown) =>
    error instanceof GridError && error.code === 'WAN_PUBLISHERS_MAX' && error.status === 409;

  it('creates a replication of an unknown name, also without publishers', () => {
    const { config, addedPublisherIds, ignoredPublisherIds } = add({ name: 'r' });
    assert.deepEqual([...config.wanReplications], [['r', { name: 'r', publishers: [] }]]);
    assert.deepEqual([addedPublisherIds, ignoredPublisherIds], [[], []]);
  });

  it('adds publishers with new ids, and does not change existing ones', () => {
    const first = add(many(0, 2)).config;
    const second = add(
      { name: 'r', batchPublishers: [{ ...publisher('p1'), batchSize: 3 }, publisher('q')] },
      first,
    );
    assert.deepEqual(second.addedPublisherIds, ['q']);
    assert.deepEqual(second.ignoredPublisherIds, ['p1']);
    const publishers = second.config.wanReplications.get('r')?.publishers ?? [];
    assert.deepEqual(
      publishers.map((each) => [each.publisherId, each.batchSize]),
      [
        ['p0', 500],
        ['p1', 500],
        ['q', 500],
      ],
    );
    assert.equal(first.wanReplications.get('r')?.publishers.length, 2);
  });

  it('refuses an id that occurs twice in a call', () => {
    const json = { name: 'r', batchPublishers: [publisher('p'), publisher('p')] };
    assert.deepEqual(problemsOf(json), [
      'Cannot use batchPublishers[1]: publisher id "p" already exists',
    ]);
  });

  it(`refuses more than ${PUBLISHERS_MAX} publishers of all replications together`, () => {
    const almost = add(many(0, PUBLISHERS_MAX - 1)).config;
    const other = { name: 's', batchPublishers: [publisher('p')] };
    const full = add(other, almost).config;
    assert.deepEqual(add(other, full).ignoredPublisherIds, ['p']);
    assert.throws(() => add({ name: 's', batchPublishers: [publisher('q')] }, full), isFull);
    assert.throws(() => add(many(0, PUBLISHERS_MAX + 1)), isFull);
  });
});
