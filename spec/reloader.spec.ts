/** Reloading the configuration while a member runs, and adding to it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GridError, OutcomeUnknown } from '../src/base/errors.ts';
import { LocalRecord, type SharedRecord } from '../src/cluster/shared-record.ts';
import { type Config, resolveConfig } from '../src/config/config.ts';
import { ConfigFault } from '../src/config/config-fault.ts';
import { finding } from '../src/config/finding.ts';
import { type LoadedConfig, loadConfig } from '../src/config/load.ts';
import { isReloadable, SETTING_KEYS } from '../src/config/settings.ts';
import type { ConfigUpdate } from '../src/config/update.ts';
import { prepared, type Reload, Reloader, type Reloads } from '../src/reloader.ts';
import { createLog } from '../src/telemetry/log.ts';

const FILE = { kind: 'file', name: 'f:2:3' } as const;

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Replaces the hash function, which is slow. */
const hash = async (password: Buffer) =>
  `scrypt$2$1$1$c2FsdA$${Buffer.concat([password, Buffer.alloc(16)]).toString('base64')}`;

/**
 * Settings of a reloader that reads texts in this process. reading-thread.spec.ts and the specs of
 * members use a thread.
 */
const IN_PROCESS = { hashPassword: hash, readText: loadConfig };

/**
 * Returns a reloader of the default configuration, the configurations that it applied, and its log
 * lines.
 */
function reloader(load: () => Promise<LoadedConfig>, fault?: Error) {
  const taken: Config[] = [];
  const lines: Line[] = [];
  const apply = async (config: Config) => {
    if (fault !== undefined) throw fault;
    taken.push(config);
  };
  const log = createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line)) });
  const record = new LocalRecord('1.2');
  return {
    it: new Reloader(resolveConfig([]), { ...IN_PROCESS, apply, log, load, record }),
    record,
    taken,
    lines,
  };
}

function loaded(parts: Partial<LoadedConfig>): LoadedConfig {
  const config = resolveConfig([]);
  return { config, structured: [], sections: [], findings: [], ...parts };
}

test('Reloader applies the settings that may change, and names those that may not', async () => {
  const config = resolveConfig([
    { key: 'logLevel', text: 'FINE', source: FILE },
    { key: 'partitionCount', text: '7', source: FILE },
  ]);
  const { it, taken, lines } = reloader(async () =>
    loaded({ config, findings: [finding('warning', 'mind this')] }),
  );
  const outcomes = [await it.reload(), await it.reload()];
  assert.deepEqual(outcomes, [
    { applied: ['log-level'], unapplied: ['partition-count'], faults: [] },
    { applied: [], unapplied: ['partition-count'], faults: [] },
  ]);
  assert.deepEqual(taken, [config, config]);
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

test('Reloads has code for exactly the settings that are marked as reloadable', () => {
  const nothing: Reload = () => () => {};
  const ofTls = {
    tlsCertificate: nothing,
    tlsKey: nothing,
    tlsKeyPassword: nothing,
    tlsClientCa: nothing,
    tlsKeyStore: nothing,
    tlsKeyStorePassword: nothing,
  };
  const all: Reloads = {
    logLevel: nothing,
    restEnabled: nothing,
    endpointGroups: nothing,
    ...ofTls,
  };
  // @ts-expect-error: without a setting that is marked
  const less: Reloads = { logLevel: nothing, restEnabled: nothing, ...ofTls };
  // @ts-expect-error: with a setting that is not marked
  const more: Reloads = { ...all, partitionCount: nothing };
  // @ts-expect-error: code that reads a setting that is not marked
  const reader: Reload = ({ partitionCount }) => partitionCount;
  assert.deepEqual(
    SETTING_KEYS.filter((key) => isReloadable(key)).sort(),
    Object.keys(all).sort(),
    `${[less, more, reader]}`,
  );
});

test('prepared changes nothing if a part cannot be prepared, and runs shared code once', async () => {
  const calls: string[] = [];
  const noted =
    (name: string): Reload =>
    () => {
      calls.push(`prepare ${name}`);
      return () => calls.push(`change ${name}`);
    };
  const tls = noted('tls');
  const groups = noted('groups');
  const reloads: Reloads = {
    tlsCertificate: tls,
    tlsKey: tls,
    tlsKeyPassword: tls,
    tlsClientCa: tls,
    tlsKeyStore: tls,
    tlsKeyStorePassword: tls,
    restEnabled: groups,
    endpointGroups: groups,
    logLevel: noted('level'),
  };
  const config = resolveConfig([]);
  (await prepared(reloads, config))();
  const parts = ['tls', 'groups', 'level'];
  const expected = ['prepare', 'change'].flatMap((verb) => parts.map((part) => `${verb} ${part}`));
  assert.deepEqual(calls.splice(0), expected);
  const failing: Reload = () => Promise.reject(new GridError('DISK_FULL', { name: 'x' }));
  await assert.rejects(prepared({ ...reloads, logLevel: failing }, config), { code: 'DISK_FULL' });
  assert.deepEqual(calls, ['prepare tls', 'prepare groups']);
});

test('Reloader changes nothing if the configuration is invalid or refused', async () => {
  const findings = [finding('refused', 'Cannot serve with security.enabled: why', FILE.name)];
  const loads = [
    () => Promise.reject(new ConfigFault([finding('error', 'wrong', 'f:1:1')])),
    async () => loaded({ findings }),
  ];
  const { it, taken, lines } = reloader(() => (loads.shift() ?? assert.fail)());
  const faults = [(await it.reload()).faults, (await it.reload()).faults];
  assert.deepEqual(faults, [['f:1:1: wrong'], ['f:2:3: Cannot serve with security.enabled: why']]);
  assert.deepEqual(taken, []);
  assert.deepEqual(
    lines.map(({ level, problems }) => [level, problems]),
    faults.map((each) => ['error', each]),
  );
});

test('Reloader reports which setting could not be applied', async () => {
  const fault = new GridError('TLS_FILE_UNUSABLE', { file: 'f', reason: 'r' });
  const { it, lines } = reloader(async () => loaded({}), fault);
  assert.deepEqual((await it.reload()).faults, ['Cannot use "f" for TLS: r']);
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
  const { it, taken } = reloader(() => assert.fail());
  const outcome = await it.add(TEXT.replace('grid:', 'hazelcast:'), () => {});
  assert.ok('added' in outcome, JSON.stringify(outcome));
  assert.deepEqual([outcome.added.length, outcome.ignored.length], [3, 2]);
  assert.equal(outcome.config.compatibility, 'none');
  assert.equal(taken[0]?.compatibility, 'none');
});

test('Reloader adds maps, queues and users, and ignores existing ones and endpoint groups', async () => {
  const { it, taken } = reloader(() => assert.fail());
  const extended: Config[] = [];
  const added = [
    { sectionName: 'map', configName: 'new-map' },
    { sectionName: 'queue', configName: 'new-queue' },
    { sectionName: 'security.realms.r', configName: 'ann' },
  ];
  const groups = { sectionName: 'endpoint-groups', configName: 'DATA' };
  const license = { sectionName: 'license-key' };
  const first = await it.add(TEXT, (config) => extended.push(config));
  assert.ok('added' in first, JSON.stringify(first));
  assert.deepEqual([first.added, first.ignored], [added, [groups, license]]);
  const [config] = extended;
  assert.equal(config?.mapTimeToLiveSeconds.get('new-map'), 5);
  assert.equal(config?.queueMaxSizes.get('new-queue'), 3);
  assert.equal(config?.endpointGroups.get('DATA'), false);
  assert.deepEqual(config?.security.realms.get('r'), [{ name: 'ann', password: 'x', roles: [] }]);
  const again = TEXT.replace('5', '6').replace('max-size: 3', 'max-size: 4').replace(': x', ': y');
  const second = await it.add(again, (config) => extended.push(config));
  assert.ok('added' in second);
  const [map, queue, user] = added;
  assert.deepEqual([second.added, second.ignored], [[], [map, queue, groups, user, license]]);
  assert.deepEqual(taken.at(-1)?.queueMaxSizes, config?.queueMaxSizes);
});

test('Reloader adds to the configuration that a reload has applied', async () => {
  const users = (names: readonly string[]) =>
    names.map((name) => ({ name, password: 'x', roles: [] }));
  const config = resolveConfig([
    { key: 'endpointGroups', name: 'DATA', text: 'true', source: FILE },
  ]);
  const security = { ...config.security, realms: new Map([['r', users(['bob'])]]) };
  const { it, taken } = reloader(async () => loaded({ config: { ...config, security } }));
  await it.add(TEXT, () => {});
  assert.deepEqual((await it.reload()).applied, [
    'network.rest-api.endpoint-groups.{name}.enabled',
    'security.realms',
  ]);
  await it.add(TEXT.replace('ann', 'eve').replace('true', 'false'), () => {});
  assert.deepEqual(taken.at(-1)?.security.realms.get('r'), users(['bob', 'eve']));
  assert.equal(taken.at(-1)?.endpointGroups.get('DATA'), true);
});

test('Reloader does not enable or disable security, and reports that', async () => {
  const config = resolveConfig([]);
  const security = { ...config.security, isEnabled: true, realms: new Map([['r', []]]) };
  const { it, taken } = reloader(async () => loaded({ config: { ...config, security } }));
  const outcome = { applied: [], unapplied: ['security.enabled'], faults: [] };
  assert.deepEqual([await it.reload(), await it.reload()], [outcome, outcome]);
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
    const { it, taken } = reloader(() => assert.fail());
    const outcome = await it.add(text, () => assert.fail());
    assert.ok('faults' in outcome, JSON.stringify(outcome));
    assert.match(outcome.faults.join(), fault);
    assert.deepEqual(taken, []);
  });
}

test('Reloader adds nothing that cannot be stored, and reports an unknown outcome', async () => {
  const taken: Config[] = [];
  const apply = async (config: Config) => void taken.push(config);
  const log = createLog('OFF', { write: () => {} });
  const unknown = new OutcomeUnknown(new Error('EIO'));
  const record = new LocalRecord('1.2', () => Promise.reject(unknown));
  const load = () => assert.fail();
  const it = new Reloader(resolveConfig([]), { ...IN_PROCESS, apply, log, load, record });
  const outcome = await it.add(TEXT, () => assert.fail());
  assert.ok('faults' in outcome);
  assert.deepEqual(outcome.faults, ['Cannot store the change of the configuration: EIO']);
  assert.ok(outcome.refusal?.isOutcomeUnknown);
  assert.deepEqual(taken, []);
});

/** A record that several reloaders share, each for another member. */
class RecordOfTwo {
  readonly #record = new LocalRecord('1.2');

  ofMember(): SharedRecord {
    const record = this.#record;
    return {
      isShared: true,
      get values() {
        return record.values;
      },
      get revision() {
        return record.revision;
      },
      compareAndSet: (revision, change) => record.compareAndSet(revision, change),
      onChange: (listener) => record.onChange(listener),
    };
  }
}

function member(record: RecordOfTwo, fault?: () => Error | undefined) {
  const extended: Config[] = [];
  const apply = async () => {
    const thrown = fault?.();
    if (thrown !== undefined) throw thrown;
  };
  const log = createLog('OFF', { write: () => {} });
  const shared = record.ofMember();
  const parts = { ...IN_PROCESS, apply, log, load: async () => loaded({}), record: shared };
  const it = new Reloader(resolveConfig([]), parts);
  const extend = (config: Config) => extended.push(config);
  return {
    it,
    add: (text: string) => it.add(text, extend),
    restore: () => it.restore(extend),
    /** Returns the queues of the member once its work is done. */
    queues: async () => {
      await it.add('grid: {}', () => {});
      return [...(extended.at(-1)?.queueMaxSizes ?? [])].sort();
    },
    users: () =>
      extended
        .at(-1)
        ?.security.realms.get('r')
        ?.map(({ name }) => name),
  };
}

const queue = (name: string, size: number) => `grid: {queue: {${name}: {max-size: ${size}}}}`;

test('Reloader adds texts that another member adds, and all of them at its start', async () => {
  const record = new RecordOfTwo();
  const a = member(record);
  const b = member(record);
  await Promise.all([a.restore(), b.restore()]);
  await a.add(TEXT);
  await b.add(queue('q', 4));
  const expected = [
    ['new-queue', 3],
    ['q', 4],
  ];
  assert.deepEqual([await a.queues(), await b.queues()], [expected, expected]);
  const late = member(record);
  await late.restore();
  assert.deepEqual(await late.queues(), expected);
  assert.deepEqual([a.users(), b.users(), late.users()], [['ann'], ['ann'], ['ann']]);
});

test('Reloaders of two members that add concurrently end with the same texts', async () => {
  const record = new RecordOfTwo();
  const a = member(record);
  const b = member(record);
  await Promise.all([a.restore(), b.restore()]);
  const adding = [1, 2, 3].flatMap((size) => [
    a.add(queue(`q${size}`, size)),
    b.add(queue(`q${size}`, 10 * size)),
  ]);
  await Promise.all(adding);
  assert.deepEqual(await a.queues(), await b.queues());
  assert.equal((await a.queues()).length, 3);
});

test('A reload of one member keeps the added texts of other members and of members that join later', async () => {
  const record = new RecordOfTwo();
  const a = member(record);
  const b = member(record);
  await Promise.all([a.restore(), b.restore()]);
  await a.add(TEXT);
  await a.it.reload();
  await b.add(queue('q', 4));
  await a.queues();
  const late = member(record);
  await late.restore();
  assert.deepEqual([a.users(), b.users(), late.users()], [undefined, ['ann'], ['ann']]);
});

test('Reloader removes from the record only the text that it could not apply', async () => {
  const record = new RecordOfTwo();
  let fault: Error | undefined;
  const a = member(record, () => fault);
  const b = member(record);
  await Promise.all([a.restore(), b.restore()]);
  await a.add(queue('q', 4));
  fault = new GridError('TLS_FILE_UNUSABLE', { file: 'f', reason: 'r' });
  const outcome = await a.add(queue('other', 5));
  assert.deepEqual(outcome, { faults: ['Cannot use "f" for TLS: r'] });
  const texts = record.ofMember().values.addedConfigs.map(({ text }) => text);
  assert.deepEqual(texts, ['{"grid":{"queue":{"q":{"max-size":4}}}}']);
  assert.deepEqual(await a.queues(), [['q', 4]]);
});

test('A shared record has the added text, with passwords only as hashes', async () => {
  const record = new RecordOfTwo();
  const a = member(record);
  const b = member(record);
  await Promise.all([a.restore(), b.restore()]);
  await a.add(queue('old', 1));
  const { ignored } = (await a.add(
    `${TEXT.replace('queue: {', 'queue: {old: {max-size: 2}, ').replace('x}', '"s\u00fcsse"}')}`,
  )) as ConfigUpdate;
  assert.deepEqual(ignored, [
    { sectionName: 'queue', configName: 'old' },
    { sectionName: 'endpoint-groups', configName: 'DATA' },
    { sectionName: 'license-key' },
  ]);
  const [, kept] = record.ofMember().values.addedConfigs;
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
  const { it } = reloader(async () => {
    const text = `grid: {${texts.shift()}}`;
    return loadConfig({ file: { text }, environment: {}, flags: [] });
  });
  const kept: (readonly string[])[] = [];
  while (texts.length > 0) {
    // Settings that are not applied remain as at the start, without names.
    kept.push((await it.reload()).unapplied.filter((path) => /^(map|queue)\./.test(path)));
  }
  assert.deepEqual(kept, [
    ['map.{name}.backup-count'],
    ['map.{name}.backup-count'],
    ['queue.{name}.max-size', 'map.{name}.max-idle-seconds', 'map.{name}.backup-count'],
    ['map.{name}.time-to-live-seconds', 'map.{name}.max-idle-seconds', 'map.{name}.backup-count'],
    ['map.{name}.time-to-live-seconds', 'map.{name}.backup-count'],
  ]);
});
