/** The WAN configuration that members of a cluster on servers have in common. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { sharedWanConfig } from '../../src/wan/shared-wan-config.ts';
import { WanMaps } from '../../src/wan/wan-maps.ts';
import { load } from '../config/documents.ts';

const ENGINE = '  engine: {url: "redis://a"}\n';

async function read(text: string) {
  return (await load('shared.yaml', `grid:\n${ENGINE}${text}`)).config;
}

function file(publisher: string, more = ''): string {
  return `  wan-replication: {r: {batch-publisher: {p: {${publisher}}}}}\n${more}`;
}

function maps(text: string): string {
  return `  map: {${text}}\n`;
}

const ref = (settings = '') => `{wan-replication-ref: {r: {${settings}}}}`;

async function common(text: string) {
  return sharedWanConfig(await read(text));
}

/** Returns the message for a member with the first text in a cluster with the second one. */
async function difference(own: string, other: string): Promise<string> {
  const text = (await common(other)).text;
  assert.notEqual((await common(own)).text, text);
  const { code, message } = (await common(own)).differenceFrom(text);
  assert.equal(code, 'WAN_CONFIG_DIFFERS');
  const [, place = ''] = /^Cannot join the cluster: (.*) in the others; use the same file,/.exec(
    message,
  )!;
  return place.replace(' in this member and ', ' | ');
}

const P = 'target-endpoints: a';
const BELOW = 'wan-replication.r.batch-publisher.p';

describe('Members with different files', () => {
  for (const [name, own, other, expected] of [
    ['a replication', file(P), '', 'wan-replication.r is true | missing'],
    ['no replication', '', file(P), 'wan-replication.r is missing | true'],
    ['a publisher', file(P), '  wan-replication: {r: }\n', `${BELOW} is true | missing`],
    ['a number', file(`${P}, batch-size: 7`), file(P), `${BELOW}.batch-size is 7 | 500`],
    [
      'endpoints',
      file('target-endpoints: "a,https://[::1]:7/x"'),
      file(P),
      `${BELOW}.target-endpoints is "http://a:5701,https://[::1]:7/x" | "http://a:5701"`,
    ],
    [
      'a reference',
      file(P, maps(`m: ${ref()}, n: ${ref()}`)),
      file(P, maps(`n: ${ref()}`)),
      'map.m.wan-replication-ref is {"r":{"merge-policy-class-name":"PassThrough",' +
        '"republishing-enabled":true,"filters":[]}} | missing',
    ],
    [
      'a policy',
      file(P, maps(`m: ${ref('merge-policy-class-name: LatestUpdate')}`)),
      file(P, maps(`m: ${ref('filters: [key:a]')}`)),
      'map.m.wan-replication-ref is {"r":{"merge-policy-class-name":"LatestUpdate",' +
        '"republishing-enabled":true,"filters":[]}} | {"r":{"merge-policy-class-name":"PassThrough",' +
        '"republishing-enabled":true,"filters":["a"]}}',
    ],
    [
      'a depth',
      file(P, maps(`m: {merkle-tree: {depth: 27}, ${ref().slice(1)}`)),
      file(P, maps(`m: ${ref()}`)),
      'map.m.merkle-tree.depth is 16 | 10',
    ],
    [
      'a map that cannot be compared',
      file(P, maps(`m: ${ref()}`)),
      file(P, maps(`m: {merkle-tree: {enabled: false}, ${ref().slice(1)}`)),
      'map.m.merkle-tree.enabled is true | false',
    ],
    [
      'the depth of a map without a reference',
      maps('m: {merkle-tree: {depth: 3}}'),
      maps('m: {merkle-tree: {depth: 4}}'),
      'map.m.merkle-tree.depth is 3 | 4',
    ],
    [
      'a map without the reference of a pattern',
      file(P, maps(`"m*": ${ref()}, m1: {time-to-live-seconds: 1}`)),
      file(P, maps(`"m*": ${ref()}, n1: {time-to-live-seconds: 1}`)),
      'map.m1.wan-replication-ref is false | missing',
    ],
    [
      'a map without the reference of the default',
      file(P, maps(`default: ${ref()}`)),
      file(P, maps(`default: ${ref()}, m: {}`)),
      'map.m.wan-replication-ref is missing | false',
    ],
  ] as const) {
    it(`cannot share a cluster: ${name}`, async () => {
      assert.equal(await difference(own, other), expected);
    });
  }

  it('are told long values in part', async () => {
    const filters = `filters: [${Array.from({ length: 100 }, (_, at) => `key:a${at}`).join()}]`;
    const text = await difference(
      file(P, maps(`m: ${ref(filters)}`)),
      file(P, maps(`m: ${ref()}`)),
    );
    assert.ok(text.length < 500 && text.includes('…'), text);
  });
});

test('Members with the same replications and references share a cluster', async () => {
  const own = file(`${P}, batch-size: 7`, maps(`b: ${ref()}, a: ${ref()}`));
  const texts = [
    own,
    // The order, credentials, and settings without effect may differ, and so may other maps.
    file(
      `batch-size: 7, ${P}, properties: {username: u, password: secret}, snapshot-enabled: true, queue-bytes-max: 2m`,
      maps(`a: ${ref()}, c: {time-to-live-seconds: 1}, b: ${ref()}, d: {merkle-tree: {depth: 10}}`),
    ),
  ];
  const [a, b] = await Promise.all(texts.map(common));
  assert.equal(a?.text, b?.text);
  assert.ok(!b?.text.includes('secret'));
  assert.equal((await common(maps('m: {time-to-live-seconds: 1}'))).text, '');
});

test('The order of patterns in a file makes no difference', async () => {
  const patterns = [`"a*c": ${ref()}`, `"*bc": {time-to-live-seconds: 1}`];
  const files = [patterns, patterns.toReversed()].map((each) => file(P, maps(each.join())));
  const found = await Promise.all(
    files.map(async (text) => {
      const config = await read(text);
      const wanMaps = new WanMaps({ ...config, mapTimeToLiveSeconds: new Map() });
      return [sharedWanConfig(config).text, wanMaps.refsTo('r')(Buffer.from('abc')) !== undefined];
    }),
  );
  assert.deepEqual(found[0], found[1]);
});

test('The maps of a cluster do not depend on other maps of a file', async () => {
  const config = await read(
    file(P, maps(`"m*": ${ref()}, m1: {}, "m2*": {merkle-tree: {depth: 3}}, n: ${ref()}, x: {}`)),
  );
  assert.deepEqual([...config.mapWan.keys()].sort(), ['m*', 'm1', 'm2*', 'n']);
  const wanMaps = new WanMaps({ ...config, mapTimeToLiveSeconds: new Map() });
  const has = (map: string) => wanMaps.refsTo('r')(Buffer.from(map)) !== undefined;
  const found = ['m', 'm1', 'm2', 'm22', 'm3', 'n', 'x', ''].filter(has);
  assert.deepEqual(found, ['m', 'm3', 'n']);
  const depths = ['m', 'm22', 'x'].map((map) => wanMaps.treeOf(Buffer.from(map)).depth);
  assert.deepEqual(depths, [10, 3, 10]);
});
