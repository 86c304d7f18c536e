/**
 * Covers src/reloader.ts, src/config/update.ts and src/config/wan-addition.ts. WAN replication
 * while a member runs: configuration that a reload retains and requests add.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LocalRecord, type SharedRecord } from '../src/cluster/shared-record.ts';
import { addedText } from '../src/config/added-text.ts';
import { type Config, resolveConfig } from '../src/config/config.ts';
import { loadConfig } from '../src/config/load.ts';
import { loadInThread } from '../src/config/reading-thread.ts';
import { addConfigText } from '../src/config/update.ts';
import { Reloader } from '../src/reloader.ts';
import { createLog } from '../src/telemetry/log.ts';

const FILE = `grid:
  wan-replication: {r: {batch-publisher: {p: {target-endpoints: a}}}}
  map: {m: {wan-replication-ref: {r: }}}
`;
const CALL = { name: 'r', batchPublishers: [{ clusterName: 'q', targetEndpoints: 'b' }] };

const read = (text: string) => loadConfig({ file: { text }, environment: {}, flags: [] });

interface Parts {
  readonly record?: SharedRecord;
  readonly reloaded?: string;
}

/** Returns a reloader of FILE, and the configurations passed to its members' parts. */
async function reloader({ record = new LocalRecord('1.2'), reloaded = FILE }: Parts = {}) {
  const { config } = await read(FILE);
  const lines: Record<string, unknown>[] = [];
  const log = createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line)) });
  const extended: Config[] = [];
  const it = new Reloader(config, {
    apply: async () => {},
    log,
    record,
    readText: loadConfig,
    load: () => read(reloaded),
    hashPassword: async () => '',
  });
  const extend = (all: Config) => extended.push(all);
  return {
    it,
    lines,
    record,
    extend,
    add: (text: string) => it.add(text, extend),
    addWan: (json: unknown) => it.addWan(JSON.stringify(json), extend),
    ids: () => idsOf(extended.at(-1) ?? config),
    last: () => extended.at(-1),
  };
}

function idsOf({ wanReplications }: Config): readonly string[] {
  return [...wanReplications.values()].flatMap(({ name, publishers }) =>
    publishers.map(({ publisherId }) => `${name} ${publisherId}`),
  );
}

test('A reload does not change WAN replication, and logs that a restart is needed', async () => {
  for (const [before, after, kept] of [
    ['target-endpoints: a', 'target-endpoints: b', 'wan-replication'],
    ['p: {', 'other: {', 'wan-replication'],
    ['{r: }', '{r: {republishing-enabled: false}}', 'map.{name} for WAN replication'],
    [
      '  map',
      '  advanced-network: {wan-endpoint-config: {e: }}\n  map',
      'advanced-network.wan-endpoint-config',
    ],
  ] as const) {
    const { it, lines } = await reloader({ reloaded: FILE.replace(before, after) });
    for (let round = 0; round < 2; round++) {
      const outcome = await it.reload();
      assert.deepEqual([outcome.applied, outcome.unapplied, outcome.faults], [[], [kept], []]);
    }
    const warned = lines.filter(({ msg }) => msg === 'not changed: needs a restart');
    assert.deepEqual(
      warned.map(({ settings }) => settings),
      [[kept], [kept]],
    );
  }
});

test('A reload of an unchanged file reports no WAN replication, even after additions', async () => {
  const { it, addWan, ids, add } = await reloader();
  await addWan(CALL);
  assert.deepEqual((await it.reload()).unapplied, []);
  await add('grid: {queue: {x: {max-size: 1}}}');
  assert.deepEqual(ids(), ['r p', 'r q']);
});

test('An added map may refer to a replication of the current configuration', async () => {
  const { add, addWan, last } = await reloader();
  const map = (ref: string) =>
    `grid:\n  map: {n: {wan-replication-ref: {${ref}: {filters: ["key:a"]}}}}\n`;
  const outcome = await add(map('s'));
  assert.ok('faults' in outcome);
  assert.deepEqual(outcome.faults, [
    'configuration:2:35: Cannot use map.n.wan-replication-ref.s: no such wan-replication; did you mean "r"?',
  ]);
  const own = await add(`${map('s')}  wan-replication: {s: }\n`);
  assert.ok('faults' in own, 'a text added a replication');
  await addWan({ name: 's' });
  const added = await add(map('s'));
  assert.ok('added' in added, JSON.stringify(added));
  assert.deepEqual(added.added, [{ sectionName: 'map', configName: 'n' }]);
  assert.deepEqual(last()?.mapWan.get('n')?.ref, {
    name: 's',
    mergePolicy: 'PassThrough',
    republishingEnabled: true,
    filters: ['a'],
  });
  assert.ok(last()?.mapWan.has('m'));
});

test('A text does not change an existing map', async () => {
  const { add, last } = await reloader();
  const outcome = await add(
    'grid: {map: {m: {merkle-tree: {depth: 3}}, n: {merkle-tree: {depth: 4}}}}',
  );
  assert.ok('added' in outcome);
  const depths = [...(last()?.mapWan ?? [])].map(([name, { merkleTree }]) => [
    name,
    merkleTree.depth,
  ]);
  assert.deepEqual(depths, [
    ['m', 10],
    ['n', 4],
  ]);
});

test('A text read on a thread includes the settings of its maps', async () => {
  const { config } = await read(FILE);
  const text = 'grid: {map: {n: {wan-replication-ref: {r: }}}}';
  const { config: extended } = await addConfigText(config, text, loadInThread);
  assert.equal(extended.mapWan.get('n')?.ref?.name, 'r');
});

test('A text for other members has the settings of maps', async () => {
  const { config } = await read(FILE);
  const text = `grid:
  map:
    n:
      per-entry-stats-enabled: true
      wan-replication-ref: {r: {merge-policy-class-name: HigherHits, filters: ["key:a*"]}}
      merkle-tree: {enabled: false, depth: 4}
    o: {time-to-live-seconds: 3}
`;
  const update = await addConfigText(config, text, loadConfig);
  const again = await addConfigText(config, await addedText(update, async () => ''), loadConfig);
  assert.deepEqual(again.config.mapWan, update.config.mapWan);
  assert.deepEqual([...again.config.mapWan.keys()], ['m', 'n']);
});

test('Reloader stores added publishers in the record for the next start, even after a reload', async () => {
  const { it, addWan, record, ids, lines } = await reloader();
  const first = await addWan(CALL);
  assert.ok('addedPublisherIds' in first, JSON.stringify(first));
  assert.deepEqual([first.addedPublisherIds, first.ignoredPublisherIds], [['q'], []]);
  const second = await addWan(CALL);
  assert.ok('addedPublisherIds' in second);
  assert.deepEqual([second.addedPublisherIds, second.ignoredPublisherIds], [[], ['q']]);
  assert.equal(record.values.addedConfigs.length, 1);
  assert.deepEqual(ids(), ['r p', 'r q']);
  await it.reload();
  const next = await reloader({ record });
  await next.it.restore(next.extend);
  assert.deepEqual(next.ids(), ['r p', 'r q']);
  assert.ok(lines.some(({ msg }) => msg === 'WAN replication added'));
});

test('Reloader adds all of a call or nothing', async () => {
  const { addWan, record, ids, lines } = await reloader();
  for (const [json, fault, code] of [
    [{ ...CALL, customPublishers: [{}] }, /^Cannot use customPublishers\[0\]/, undefined],
    [
      { ...CALL, batchPublishers: [...CALL.batchPublishers, {}] },
      /batchPublishers\[1\]/,
      undefined,
    ],
    [
      {
        name: 'r',
        batchPublishers: Array.from({ length: 64 }, (_, at) => ({
          clusterName: `${at}`,
          targetEndpoints: 'a',
        })),
      },
      /^Cannot add to WAN replication r: more than 64 publishers in the member$/,
      'WAN_PUBLISHERS_MAX',
    ],
  ] as const) {
    const outcome = await addWan(json);
    assert.ok('faults' in outcome);
    assert.match(outcome.faults[0] ?? '', fault);
    assert.equal(outcome.refusal?.code, code);
  }
  assert.deepEqual([record.values.addedConfigs, ids()], [[], ['r p']]);
  assert.deepEqual(
    lines.map(({ msg }) => `${msg}`.replace(/: .*/, '')),
    Array(3).fill('WAN replication not added'),
  );
});

test('Reloader removes an added publisher permanently', async () => {
  const { it, add, addWan, record, ids, extend, lines } = await reloader();
  const two = [
    { clusterName: 'q', targetEndpoints: 'b' },
    { clusterName: 'c', publisherId: ' ' },
  ];
  const remove = (replication: string, id: string) => it.removeWan(replication, id, extend);
  await addWan({ name: 's', batchPublishers: [two[0], { ...two[1], targetEndpoints: 'c' }] });
  await addWan(CALL);
  // A map refers to the replication that a removal empties.
  await add('grid: {map: {n: {wan-replication-ref: {s: }}}}');
  // A later text contains one of them again, and another one.
  await addWan({
    name: 's',
    batchPublishers: [two[0], { publisherId: 'd', clusterName: 'x', targetEndpoints: 'd' }],
  });
  assert.equal(await remove('s', 'q'), undefined);
  assert.equal(await remove('s', 'd'), undefined);
  assert.equal(await remove('r', 'q'), undefined);
  assert.deepEqual(ids(), ['r p', 's c']);
  assert.equal(await remove('s', 'c'), undefined);
  assert.deepEqual(ids(), ['r p']);
  assert.deepEqual(
    record.values.addedConfigs.map(({ text }) => text),
    ['{"name":"s","batchPublishers":[]}', 'grid: {map: {n: {wan-replication-ref: {s: }}}}'],
  );
  const next = await reloader({ record });
  await next.it.restore(next.extend);
  assert.deepEqual(next.ids(), ['r p']);
  assert.equal(next.last()?.mapWan.get('n')?.ref?.name, 's');
  assert.deepEqual(next.lines, []);
  assert.equal(lines.filter(({ msg }) => msg === 'WAN publisher removed').length, 4);
});

test('Reloader removes no configured or unknown publisher', async () => {
  const { it, addWan, ids, extend, lines } = await reloader();
  await addWan(CALL);
  for (const [replication, id, code] of [
    ['r', 'p', 'WAN_CONFIGURED'],
    ['r', 'x', 'WAN_UNKNOWN'],
    ['x', 'q', 'WAN_UNKNOWN'],
  ] as const) {
    const failed = await it.removeWan(replication, id, extend);
    assert.equal(failed?.refusal?.code, code);
    assert.match(`${lines.at(-1)?.msg}`, /^WAN publisher not removed: /);
  }
  assert.deepEqual(ids(), ['r p', 'r q']);
});

test('Reloader removes no publisher if that cannot be stored', async () => {
  let isFailing = false;
  const record = new LocalRecord('1.2', async () => {
    if (isFailing) throw new Error('EIO');
  });
  const { it, addWan, ids, extend } = await reloader({ record });
  await addWan(CALL);
  isFailing = true;
  const failed = await it.removeWan('r', 'q', extend);
  assert.equal(failed?.refusal?.code, 'CONFIG_NOT_KEPT');
  assert.deepEqual(ids(), ['r p', 'r q']);
});

test('Reloader adds no publisher that cannot be stored, nor if servers store the data', async () => {
  const failing = new LocalRecord('1.2', () => Promise.reject(new Error('EIO')));
  const stored = await (await reloader({ record: failing })).addWan(CALL);
  assert.ok('faults' in stored);
  assert.equal(stored.refusal?.code, 'CONFIG_NOT_KEPT');
  const record = new LocalRecord('1.2');
  const shared: SharedRecord = Object.assign(Object.create(record), {
    isShared: true,
    compareAndSet: () => assert.fail(),
  });
  const outcome = await (await reloader({ record: shared })).addWan(CALL);
  assert.ok('faults' in outcome);
  assert.deepEqual(outcome.faults, ['Cannot add a WAN replication: servers store the data']);
});

test('A configuration without a file has no WAN replication', () => {
  const { wanReplications, mapWan, wanEndpoints } = resolveConfig([]);
  assert.deepEqual([wanReplications.size, mapWan.size, wanEndpoints.size], [0, 0, 0]);
});
