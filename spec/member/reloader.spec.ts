/** Reloading the configuration while a member runs, and adding to it, also WAN replication. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError, OutcomeUnknown } from '../../src/base/errors.ts';
import { LocalRecord, type SharedRecord } from '../../src/cluster/shared-record.ts';
import { ConfigFault, finding } from '../../src/config/finding.ts';
import { type Config, resolveConfig } from '../../src/member/config.ts';
import { type LoadedConfig, loadConfig } from '../../src/member/load.ts';
import { loadInThread } from '../../src/member/reading-thread.ts';
import { Reloader } from '../../src/member/reloader.ts';
import { addConfigText, addedText, type ConfigUpdate } from '../../src/member/update.ts';
import { createLog } from '../../src/telemetry/log.ts';

const FILE = { kind: 'file', name: 'f:2:3' } as const;

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Replaces the hash function, which is slow. */
const hash = async (password: Buffer) =>
  `scrypt$2$1$1$c2FsdA$${Buffer.concat([password, Buffer.alloc(16)]).toString('base64')}`;

interface Options {
  readonly config?: Config;
  readonly record?: SharedRecord;
  readonly load?: () => Promise<LoadedConfig>;
  /** Returns the error of the next change. */
  readonly fault?: () => Error | undefined;
}

/**
 * Returns a reloader that reads texts in this process (bounds.spec.ts and the specs of members use
 * a thread), the configurations that it put into force, those of them with files read again, and its
 * log lines.
 */
function reloader(options: Options = {}) {
  const { config = resolveConfig([]), record = new LocalRecord('1.2') } = options;
  const { load = async () => loaded({}), fault = () => undefined } = options;
  const taken: Config[] = [];
  const extended: Config[] = [];
  const lines: Line[] = [];
  const change = async (changed: Config, rereads: boolean) => {
    const thrown = fault();
    if (thrown !== undefined) throw thrown;
    return () => {
      if (rereads) taken.push(changed);
      extended.push(changed);
    };
  };
  const log = createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line)) });
  const hashing = { hashPassword: hash, readText: loadConfig };
  const it = new Reloader(config, { ...hashing, change, log, load, record });
  const last = () => extended.at(-1) ?? config;
  return {
    ...{ record, taken, extended, lines, last },
    reload: () => it.reload(),
    restore: () => it.restore(),
    add: (text: string) => it.add(text),
    addWan: (json: unknown) => it.addWan(JSON.stringify(json)),
    removeWan: (replication: string, id: string) => it.removeWan(replication, id),
    /** Returns the queues once the work is done. */
    queues: async () => {
      await it.add('grid: {}');
      return [...last().queueMaxSizes].sort();
    },
    users: () =>
      last()
        .security.realms.get('r')
        ?.map(({ name }) => name),
    publishers: () =>
      [...last().wanReplications.values()].flatMap(({ name, publishers }) =>
        publishers.map(({ publisherId }) => `${name} ${publisherId}`),
      ),
  };
}

/** Returns a record that several members share. */
function sharedRecord(): SharedRecord {
  return Object.assign(new LocalRecord('1.2'), { isShared: true as boolean });
}

/** Returns two members that share a record; `fault` is that of the first. */
async function two(fault?: Options['fault']) {
  const record = sharedRecord();
  const a = reloader({ record, ...(fault && { fault }) });
  const b = reloader({ record });
  await Promise.all([a.restore(), b.restore()]);
  return { record, a, b };
}

const read = (text: string) => loadConfig({ file: { text }, environment: {}, flags: [] });

function loaded(parts: Partial<LoadedConfig>): LoadedConfig {
  const config = resolveConfig([]);
  return { config, structured: [], sections: [], findings: [], ...parts };
}

test('Reloader applies the settings that may change, and names those that may not', async () => {
  const config = resolveConfig([
    { key: 'logLevel', text: 'FINE', source: FILE },
    { key: 'partitionCount', text: '7', source: FILE },
  ]);
  const { reload, taken, lines } = reloader({
    load: async () => loaded({ config, findings: [finding('warning', 'mind this')] }),
  });
  const outcomes = [await reload(), await reload()];
  assert.deepEqual(outcomes, [
    { applied: ['log-level'], unapplied: ['partition-count'], faults: [] },
    { applied: [], unapplied: ['partition-count'], faults: [] },
  ]);
  const inForce = taken.map(({ logLevel, partitionCount }) => [logLevel, partitionCount]);
  assert.deepEqual(inForce, [
    ['FINE', 271],
    ['FINE', 271],
  ]);
  assert.deepEqual(
    lines.map(({ msg, settings, changed }) => [msg, settings ?? changed]),
    [
      ['mind this', undefined],
      ['not changed: needs a restart', ['partition-count']],
      ['reloaded', ['log-level']],
      ['mind this', undefined],
      ['not changed: needs a restart', ['partition-count']],
      ['reloaded', []],
    ],
  );
});

test('Reloader changes nothing if the configuration is invalid or refused', async () => {
  const findings = [finding('refused', 'Cannot serve with security.enabled: why', FILE.name)];
  const loads = [
    () => Promise.reject(new ConfigFault([finding('error', 'wrong', 'f:1:1')])),
    async () => loaded({ findings }),
  ];
  const { reload, taken, lines } = reloader({ load: () => (loads.shift() ?? assert.fail)() });
  const faults = [(await reload()).faults, (await reload()).faults];
  assert.deepEqual(faults, [['f:1:1: wrong'], ['f:2:3: Cannot serve with security.enabled: why']]);
  assert.deepEqual(taken, []);
  assert.deepEqual(
    lines.map(({ level, problems }) => [level, problems]),
    faults.map((each) => ['error', each]),
  );
});

test('Reloader reports which setting could not be applied', async () => {
  const fault = new GridError('TLS_FILE_UNUSABLE', { file: 'f', reason: 'r' });
  const { reload, lines } = reloader({ fault: () => fault });
  assert.deepEqual((await reload()).faults, ['Cannot use "f" for TLS: r']);
  assert.deepEqual(
    lines.map(({ level, code, msg }) => [level, code, msg]),
    [['error', 'TLS_FILE_UNUSABLE', 'not reloaded: Cannot use "f" for TLS: r']],
  );
});

const TEXT = `
grid:
  map: {new-map: {time-to-live-seconds: 5}}
  queue: {new-queue: {max-size: 3}}
  network: {rest-api: {endpoint-groups: {DATA: {enabled: true}}}}
  security:
    realms:
      - name: r
        authentication: {simple: {users: [{username: ann, password: x}]}}
  license-key: k
`;

test("Reloader keeps its compatibility if a text has the original's root", async () => {
  const { add, taken } = reloader();
  const outcome = await add(TEXT.replace('grid:', 'hazelcast:'));
  assert.ok('added' in outcome, JSON.stringify(outcome));
  assert.deepEqual([outcome.added.length, outcome.ignored.length], [3, 2]);
  assert.equal(outcome.config.compatibility, 'none');
  assert.equal(taken[0]?.compatibility, 'none');
});

test('Reloader adds maps, queues and users, and ignores existing ones and endpoint groups', async () => {
  const { add, taken, extended } = reloader();
  const added = [
    { sectionName: 'map', configName: 'new-map' },
    { sectionName: 'queue', configName: 'new-queue' },
    { sectionName: 'security.realms.r', configName: 'ann' },
  ];
  const groups = { sectionName: 'endpoint-groups', configName: 'DATA' };
  const license = { sectionName: 'license-key' };
  const first = await add(TEXT);
  assert.ok('added' in first, JSON.stringify(first));
  assert.deepEqual([first.added, first.ignored], [added, [groups, license]]);
  const [config] = extended;
  assert.equal(config?.mapTimeToLiveSeconds.get('new-map'), 5);
  assert.equal(config?.queueMaxSizes.get('new-queue'), 3);
  assert.equal(config?.endpointGroups.get('DATA'), false);
  assert.deepEqual(config?.security.realms.get('r'), [{ name: 'ann', password: 'x', roles: [] }]);
  const again = TEXT.replace('5', '6').replace('max-size: 3', 'max-size: 4').replace(': x', ': y');
  const second = await add(again);
  assert.ok('added' in second);
  const [map, queue, user] = added;
  assert.deepEqual([second.added, second.ignored], [[], [map, queue, groups, user, license]]);
  assert.deepEqual(taken.at(-1)?.queueMaxSizes, config?.queueMaxSizes);
  assert.deepEqual(taken.at(-1)?.security, config?.security);
});

test('Reloader adds to the configuration that a reload has applied', async () => {
  const users = (names: readonly string[]) =>
    names.map((name) => ({ name, password: 'x', roles: [] }));
  const config = resolveConfig([
    { key: 'endpointGroups', name: 'DATA', text: 'true', source: FILE },
  ]);
  const security = { ...config.security, realms: new Map([['r', users(['bob'])]]) };
  const { add, reload, taken } = reloader({
    load: async () => loaded({ config: { ...config, security } }),
  });
  await add(TEXT);
  assert.deepEqual((await reload()).applied, [
    'network.rest-api.endpoint-groups.{name}.enabled',
    'security.realms',
  ]);
  await add(TEXT.replace('ann', 'eve').replace('true', 'false'));
  assert.deepEqual(taken.at(-1)?.security.realms.get('r'), users(['bob', 'eve']));
  assert.equal(taken.at(-1)?.endpointGroups.get('DATA'), true);
});

test('Reloader does not enable or disable security, and reports that', async () => {
  const config = resolveConfig([]);
  const security = { ...config.security, isEnabled: true, realms: new Map([['r', []]]) };
  const { reload, taken } = reloader({
    load: async () => loaded({ config: { ...config, security } }),
  });
  const outcome = { applied: [], unapplied: ['security.enabled'], faults: [] };
  assert.deepEqual([await reload(), await reload()], [outcome, outcome]);
  assert.deepEqual(taken.at(-1)?.security, config.security);
});

for (const [name, text, fault] of [
  ['invalid YAML', 'grid: [', /configuration:1:\d+/],
  ['invalid XML', '<grid><map', /configuration:1:\d+/],
  ['a text without meaning', 'hello', /configuration:1:1/],
  ['an unknown setting', 'grid: {mpa: {}}', /"mpa" at the root.*"map"/],
  [
    'an import',
    'grid: {import: [/etc/passwd]}',
    /Cannot import "\/etc\/passwd": only a file can import files/,
  ],
  [
    'a configuration that serve refuses',
    'grid: {security: {enabled: true}}',
    /security\.enabled: no user/,
  ],
] as const) {
  test(`Reloader adds nothing from ${name}`, async () => {
    const { add, taken, extended } = reloader();
    const outcome = await add(text);
    assert.ok('faults' in outcome, JSON.stringify(outcome));
    assert.match(outcome.faults.join(), fault);
    assert.deepEqual([taken, extended], [[], []]);
  });
}

test('Reloader adds nothing that cannot be stored, and reports an unknown outcome', async () => {
  const unknown = new OutcomeUnknown(new Error('EIO'));
  const record = new LocalRecord('1.2', () => Promise.reject(unknown));
  const { add, taken, extended } = reloader({ record });
  const outcome = await add(TEXT);
  assert.ok('faults' in outcome);
  assert.deepEqual(outcome.faults, ['Cannot store the change of the configuration: EIO']);
  assert.ok(outcome.refusal?.isOutcomeUnknown);
  assert.deepEqual([taken, extended], [[], []]);
});

const queue = (name: string, size: number) => `grid: {queue: {${name}: {max-size: ${size}}}}`;

test('Reloader adds texts that another member adds, and all of them at its start', async () => {
  const { record, a, b } = await two();
  await a.add(TEXT);
  await b.add(queue('q', 4));
  const expected = [
    ['new-queue', 3],
    ['q', 4],
  ];
  assert.deepEqual([await a.queues(), await b.queues()], [expected, expected]);
  const late = reloader({ record });
  await late.restore();
  assert.deepEqual(await late.queues(), expected);
  assert.deepEqual([a.users(), b.users(), late.users()], [['ann'], ['ann'], ['ann']]);
});

test('Reloaders of two members that add concurrently end with the same texts', async () => {
  const { a, b } = await two();
  const adding = [1, 2, 3].flatMap((size) => [
    a.add(queue(`q${size}`, size)),
    b.add(queue(`q${size}`, 10 * size)),
  ]);
  await Promise.all(adding);
  assert.deepEqual(await a.queues(), await b.queues());
  assert.equal((await a.queues()).length, 3);
});

test('A reload of one member keeps the added texts of other members and of members that join later', async () => {
  const { record, a, b } = await two();
  await a.add(TEXT);
  await a.reload();
  await b.add(queue('q', 4));
  await a.queues();
  const late = reloader({ record });
  await late.restore();
  assert.deepEqual([a.users(), b.users(), late.users()], [undefined, ['ann'], ['ann']]);
});

test('Reloader removes from the record only the text that it could not apply', async () => {
  let fault: Error | undefined;
  const { record, a } = await two(() => fault);
  await a.add(queue('q', 4));
  fault = new GridError('TLS_FILE_UNUSABLE', { file: 'f', reason: 'r' });
  const outcome = await a.add(queue('other', 5));
  assert.deepEqual(outcome, { faults: ['Cannot use "f" for TLS: r'] });
  const texts = record.values.addedConfigs.map(({ text }) => text);
  assert.deepEqual(texts, ['{"grid":{"queue":{"q":{"max-size":4}}}}']);
  assert.deepEqual(await a.queues(), [['q', 4]]);
});

test('A shared record has the added text, with passwords only as hashes', async () => {
  const { record, a, b } = await two();
  await a.add(queue('old', 1));
  const { ignored } = (await a.add(
    `${TEXT.replace('queue: {', 'queue: {old: {max-size: 2}, ').replace('x}', '"s\u00fcsse"}')}`,
  )) as ConfigUpdate;
  assert.deepEqual(ignored, [
    { sectionName: 'queue', configName: 'old' },
    { sectionName: 'endpoint-groups', configName: 'DATA' },
    { sectionName: 'license-key' },
  ]);
  const [, kept] = record.values.addedConfigs;
  assert.deepEqual(JSON.parse(kept?.text ?? ''), {
    grid: {
      map: { 'new-map': { 'time-to-live-seconds': 5, 'max-idle-seconds': 0 } },
      queue: { 'new-queue': { 'max-size': 3 } },
      security: {
        realms: [
          {
            name: 'r',
            authentication: {
              simple: {
                users: [
                  { username: 'ann', password: await hash(Buffer.from('s\u00fcsse')), roles: [] },
                ],
              },
            },
          },
        ],
      },
    },
  });
  await b.queues();
  assert.deepEqual(b.users(), ['ann']);
  const many = Array.from({ length: 101 }, (_, at) => `{username: u${at}, password: p}`);
  const users = `{simple: {users: [${many.join(', ')}]}}`;
  const text = `grid: {security: {realms: [{name: r, authentication: ${users}}]}}`;
  const outcome = await a.add(text);
  assert.ok('faults' in outcome);
  assert.match(
    outcome.faults.join(),
    /^Cannot add 101 users with passwords in plain text, at most 100/,
  );
});

test('Reloader names only the settings of maps and queues that have changed', async () => {
  const texts = [
    'map: {m: {backup-count: 2}}',
    'map: {m: {backup-count: 3}, n: {}}, queue: {q: {}}',
    'map: {m: {backup-count: 3}, n: {max-idle-seconds: 5}}, queue: {q: {max-size: 1}}',
    'map: {default: {time-to-live-seconds: 9}, m: {backup-count: 3}, n: {max-idle-seconds: 5}}',
    'map: {default: {time-to-live-seconds: 9}, m: {backup-count: 3}}',
  ];
  const { reload } = reloader({ load: () => read(`grid: {${texts.shift()}}`) });
  const kept: (readonly string[])[] = [];
  while (texts.length > 0) {
    // Settings that are not applied remain as at the start, without names.
    kept.push((await reload()).unapplied.filter((path) => /^(map|queue)\./.test(path)));
  }
  assert.deepEqual(kept, [
    ['map.{name}.backup-count'],
    ['map.{name}.backup-count'],
    ['queue.{name}.max-size', 'map.{name}.max-idle-seconds', 'map.{name}.backup-count'],
    ['map.{name}.time-to-live-seconds', 'map.{name}.max-idle-seconds', 'map.{name}.backup-count'],
    ['map.{name}.time-to-live-seconds', 'map.{name}.backup-count'],
  ]);
});

const WAN_FILE = `grid:
  wan-replication: {r: {batch-publisher: {p: {target-endpoints: a}}}}
  map: {m: {wan-replication-ref: {r: }}}
`;
const CALL = { name: 'r', batchPublishers: [{ clusterName: 'q', targetEndpoints: 'b' }] };

/** Returns a reloader of WAN_FILE. */
async function wanReloader({
  reloaded = WAN_FILE,
  record = new LocalRecord('1.2') as SharedRecord,
} = {}) {
  const { config } = await read(WAN_FILE);
  return reloader({ config, load: () => read(reloaded), record });
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
    const { reload, lines } = await wanReloader({ reloaded: WAN_FILE.replace(before, after) });
    for (let round = 0; round < 2; round++) {
      const outcome = await reload();
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
  const { reload, addWan, publishers, add } = await wanReloader();
  await addWan(CALL);
  assert.deepEqual((await reload()).unapplied, []);
  await add('grid: {queue: {x: {max-size: 1}}}');
  assert.deepEqual(publishers(), ['r p', 'r q']);
});

test('An added map may refer to a replication of the current configuration', async () => {
  const { add, addWan, last } = await wanReloader();
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
  assert.deepEqual(last().mapWan.get('n')?.ref, {
    name: 's',
    mergePolicy: 'PassThrough',
    republishingEnabled: true,
    filters: ['a'],
  });
  assert.ok(last().mapWan.has('m'));
});

test('A text does not change an existing map', async () => {
  const { add, last } = await wanReloader();
  const outcome = await add(
    'grid: {map: {m: {merkle-tree: {depth: 3}}, n: {merkle-tree: {depth: 4}}}}',
  );
  assert.ok('added' in outcome);
  const depths = [...last().mapWan].map(([name, { merkleTree }]) => [name, merkleTree.depth]);
  assert.deepEqual(depths, [
    ['m', 10],
    ['n', 4],
  ]);
});

test('A text read on a thread includes the settings of its maps', async () => {
  const { config } = await read(WAN_FILE);
  const text = 'grid: {map: {n: {wan-replication-ref: {r: }}}}';
  const { config: extended } = await addConfigText(config, text, loadInThread);
  assert.equal(extended.mapWan.get('n')?.ref?.name, 'r');
});

test('A text for other members has the settings of maps', async () => {
  const { config } = await read(WAN_FILE);
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
  const { reload, addWan, record, publishers, lines } = await wanReloader();
  const first = await addWan(CALL);
  assert.ok('addedPublisherIds' in first, JSON.stringify(first));
  assert.deepEqual([first.addedPublisherIds, first.ignoredPublisherIds], [['q'], []]);
  const second = await addWan(CALL);
  assert.ok('addedPublisherIds' in second);
  assert.deepEqual([second.addedPublisherIds, second.ignoredPublisherIds], [[], ['q']]);
  assert.equal(record.values.addedConfigs.length, 1);
  assert.deepEqual(publishers(), ['r p', 'r q']);
  await reload();
  const next = await wanReloader({ record });
  await next.restore();
  assert.deepEqual(next.publishers(), ['r p', 'r q']);
  assert.ok(lines.some(({ msg }) => msg === 'WAN replication added'));
});

test('Reloader adds all of a call or nothing', async () => {
  const { addWan, record, publishers, lines } = await wanReloader();
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
  assert.deepEqual([record.values.addedConfigs, publishers()], [[], ['r p']]);
  assert.deepEqual(
    lines.map(({ msg }) => `${msg}`.replace(/: .*/, '')),
    Array(3).fill('WAN replication not added'),
  );
});

test('Reloader removes an added publisher permanently', async () => {
  const { removeWan, add, addWan, record, publishers, lines } = await wanReloader();
  const two = [
    { clusterName: 'q', targetEndpoints: 'b' },
    { clusterName: 'c', publisherId: ' ' },
  ];
  await addWan({ name: 's', batchPublishers: [two[0], { ...two[1], targetEndpoints: 'c' }] });
  await addWan(CALL);
  // A map refers to the replication that a removal empties.
  await add('grid: {map: {n: {wan-replication-ref: {s: }}}}');
  // A later text contains one of them again, and another one.
  await addWan({
    name: 's',
    batchPublishers: [two[0], { publisherId: 'd', clusterName: 'x', targetEndpoints: 'd' }],
  });
  assert.equal(await removeWan('s', 'q'), undefined);
  assert.equal(await removeWan('s', 'd'), undefined);
  assert.equal(await removeWan('r', 'q'), undefined);
  assert.deepEqual(publishers(), ['r p', 's c']);
  assert.equal(await removeWan('s', 'c'), undefined);
  assert.deepEqual(publishers(), ['r p']);
  assert.deepEqual(
    record.values.addedConfigs.map(({ text }) => text),
    ['{"name":"s","batchPublishers":[]}', 'grid: {map: {n: {wan-replication-ref: {s: }}}}'],
  );
  const next = await wanReloader({ record });
  await next.restore();
  assert.deepEqual(next.publishers(), ['r p']);
  assert.equal(next.last().mapWan.get('n')?.ref?.name, 's');
  assert.deepEqual(next.lines, []);
  assert.equal(lines.filter(({ msg }) => msg === 'WAN publisher removed').length, 4);
});

test('Reloader removes no configured or unknown publisher', async () => {
  const { removeWan, addWan, publishers, lines } = await wanReloader();
  await addWan(CALL);
  for (const [replication, id, code] of [
    ['r', 'p', 'WAN_CONFIGURED'],
    ['r', 'x', 'WAN_UNKNOWN'],
    ['x', 'q', 'WAN_UNKNOWN'],
  ] as const) {
    const failed = await removeWan(replication, id);
    assert.equal(failed?.refusal?.code, code);
    assert.match(`${lines.at(-1)?.msg}`, /^WAN publisher not removed: /);
  }
  assert.deepEqual(publishers(), ['r p', 'r q']);
});

test('Reloader removes no publisher if that cannot be stored', async () => {
  let isFailing = false;
  const record = new LocalRecord('1.2', async () => {
    if (isFailing) throw new Error('EIO');
  });
  const { removeWan, addWan, publishers } = await wanReloader({ record });
  await addWan(CALL);
  isFailing = true;
  const failed = await removeWan('r', 'q');
  assert.equal(failed?.refusal?.code, 'CONFIG_NOT_KEPT');
  assert.deepEqual(publishers(), ['r p', 'r q']);
});

test('Reloader adds no publisher that cannot be stored', async () => {
  const failing = new LocalRecord('1.2', () => Promise.reject(new Error('EIO')));
  const stored = await (await wanReloader({ record: failing })).addWan(CALL);
  assert.ok('faults' in stored);
  assert.equal(stored.refusal?.code, 'CONFIG_NOT_KEPT');
});

test('A configuration without a file has no WAN replication', () => {
  const { wanReplications, mapWan, wanEndpoints } = resolveConfig([]);
  assert.deepEqual([wanReplications.size, mapWan.size, wanEndpoints.size], [0, 0, 0]);
});
