/**
 * Covers src/member/reloader.ts. Additions to the WAN configuration of a cluster on servers: its
 * members share a record, and each has its own file.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GridError } from '../../src/base/errors.ts';
import { LocalRecord, type SharedRecord } from '../../src/cluster/shared-record.ts';
import type { Config } from '../../src/member/config.ts';
import { loadConfig } from '../../src/member/load.ts';
import { Reloader } from '../../src/member/reloader.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { WanMaps } from '../../src/wan/wan-maps.ts';

const REPLICATION = 'wan-replication: {r: {batch-publisher: {p: {target-endpoints: a}}}}';
const PUBLISHER = { clusterName: 'q', targetEndpoints: 'b' };
const CALL = { name: 'r', batchPublishers: [PUBLISHER] };

/** A record of several members; a test determines whether they act on its values. */
function sharedRecord() {
  const inner = new LocalRecord('1.2');
  const results: (() => Promise<boolean>)[] = [];
  const applied: Promise<boolean>[] = [];
  const record: SharedRecord = Object.assign(inner, {
    isShared: true as boolean,
    unapplied: ['h:1', 'h:2'],
    allApplied: () => results.shift()?.() ?? Promise.resolve(true),
  });
  const { onChange } = inner;
  record.onChange = (listener) =>
    onChange.call(inner, (values) => {
      const applying = listener(values);
      if (applying !== undefined) applied.push(applying);
      return applying;
    });
  return {
    record,
    /** Results of the next calls of allApplied. */
    results,
    /** Resolves with whether the members act on each change so far. */
    applied: () => Promise.all(applied),
  };
}

async function member(record: SharedRecord, text = REPLICATION, isFirst = false) {
  const file = { text: `grid:\n  engine: {url: "redis://a"}\n  ${text}\n` };
  const { config } = await loadConfig({ file, environment: {}, flags: [] });
  let current = config;
  const lines: string[] = [];
  const drops: string[][] = [];
  const publishersIn = ({ wanReplications }: Pick<Config, 'wanReplications'>) =>
    [...wanReplications.values()].flatMap(({ name, publishers }) =>
      publishers.map(({ publisherId }) => `${name} ${publisherId}`),
    );
  const parts = {
    fault: undefined as Error | undefined,
  };
  const reloader = new Reloader(config, {
    record,
    log: createLog('INFO', { write: (line: string) => lines.push(JSON.parse(line).msg) }),
    load: () => assert.fail(),
    hashPassword: () => assert.fail(),
    readText: loadConfig,
    async change(changed) {
      if (parts.fault !== undefined) throw parts.fault;
      return () => {
        current = changed;
      };
    },
    async dropRemoved() {
      drops.push(publishersIn(current));
    },
  });
  await reloader.restore(isFirst);
  const referring = (map: string) => {
    const maps = new WanMaps({ ...current, mapTimeToLiveSeconds: new Map() });
    return maps.refsTo('r')(Buffer.from(map)) !== undefined;
  };
  return {
    parts,
    reloader,
    lines,
    drops,
    addWan: (json: unknown = CALL) => reloader.addWan(JSON.stringify(json)),
    publishers: () => publishersIn(current),
    /** Returns those of the maps that have a reference. */
    referring: (...maps: readonly string[]) => maps.filter(referring),
  };
}

async function two(...texts: readonly string[]) {
  const shared = sharedRecord();
  const a = await member(shared.record, texts[0]);
  const b = await member(shared.record, texts[1]);
  return { ...shared, a, b };
}

function codeOf(outcome: object | undefined): string | undefined {
  return (outcome as { refusal?: GridError } | undefined)?.refusal?.code;
}

describe('An added publisher', () => {
  it('is in force on every member, and on one that starts later', async () => {
    const { record, a, b, applied } = await two();
    const outcome = await a.addWan();
    assert.ok('addedPublisherIds' in outcome);
    assert.deepEqual(outcome.addedPublisherIds, ['q']);
    assert.deepEqual(await applied(), [true, true]);
    const late = await member(record);
    for (const each of [a, b, late]) assert.deepEqual(each.publishers(), ['r p', 'r q']);
    const [again, other] = await Promise.all([b.addWan(), a.addWan({ ...CALL, name: 's' })]);
    assert.ok('ignoredPublisherIds' in again && 'ignoredPublisherIds' in other);
    assert.deepEqual([again.ignoredPublisherIds, other.addedPublisherIds], [['q'], ['q']]);
    await applied();
    for (const each of [a, b, late]) assert.deepEqual(each.publishers(), ['r p', 'r q', 's q']);
  });

  it('is kept, and refused with 503, if not every member confirms it', async () => {
    const { record, results, a, b } = await two();
    results.push(async () => false);
    const outcome = await a.addWan();
    assert.equal(codeOf(outcome), 'CONFIG_UNCONFIRMED');
    const { refusal } = outcome as { refusal?: GridError };
    assert.deepEqual([refusal?.status, refusal?.isOutcomeUnknown], [503, true]);
    assert.match(refusal?.message ?? '', /not every member acts on it yet: not h:1, h:2$/);
    assert.equal(record.values.addedConfigs.length, 1);
    results.push(async () => false);
    assert.equal(codeOf(await b.addWan()), 'CONFIG_UNCONFIRMED');
    assert.ok('ignoredPublisherIds' in (await b.addWan()));
    assert.deepEqual([a.publishers(), b.publishers()], [a.publishers(), ['r p', 'r q']]);
  });

  it('that a member cannot use is not confirmed by that, until it is removed', async () => {
    const wanEndpoints =
      'advanced-network: {enabled: true, wan-endpoint-config: {x: {ssl: {enabled: false}}}}';
    const { record, applied, a, b } = await two(`${REPLICATION}\n  ${wanEndpoints}`);
    await a.addWan({ name: 'r', batchPublishers: [{ ...PUBLISHER, endpoint: 'x' }] });
    assert.deepEqual(await applied(), [true, false]);
    assert.deepEqual([a.publishers(), b.publishers()], [['r p', 'r q'], ['r p']]);
    assert.match(b.lines.join(), /WAN replication not added: the configuration is wrong/);
    await assert.rejects(member(record), { code: 'CONFIG_NOT_APPLIED' });
    // Another change does not help.
    await a.addWan({ ...CALL, name: 's' });
    assert.deepEqual((await applied()).slice(2, 4), [true, false]);
    assert.deepEqual(b.publishers(), ['r p', 's q']);
    assert.equal(await a.reloader.removeWan('r', 'q'), undefined);
    assert.deepEqual((await applied()).slice(-3).at(-1), true);
    assert.deepEqual([a.publishers(), b.publishers()], [a.publishers(), ['r p', 's q']]);
  });

  it('is not confirmed by a member whose parts refuse it', async () => {
    const { applied, a, b } = await two();
    b.parts.fault = new GridError('TLS_FILE_UNUSABLE', { file: 'f', reason: 'r' });
    await a.addWan();
    assert.deepEqual(await applied(), [true, false]);
    b.parts.fault = undefined;
    await a.addWan({ ...CALL, name: 's' });
    assert.deepEqual((await applied()).slice(2), [true, true]);
    assert.deepEqual(b.publishers(), ['r p', 'r q', 's q']);
  });

  it('may have a queue-bytes-max that another member could not have', async () => {
    const { applied, a, b } = await two(
      REPLICATION,
      `${REPLICATION}\n  wan: {queue-bytes-max: 1m}`,
    );
    await a.addWan({ name: 'r', batchPublishers: [{ ...PUBLISHER, queueBytesMax: '1g' }] });
    assert.deepEqual(await applied(), [true, true]);
    assert.deepEqual(b.publishers(), ['r p', 'r q']);
  });
});

describe('A removed publisher', () => {
  it('is removed from every member, and then what waits for it is dropped', async () => {
    const { results, applied, a, b } = await two();
    await a.addWan();
    await b.addWan({ ...CALL, name: 's' });
    let confirm = (_: boolean): void => {};
    const confirmed = new Promise<boolean>((resolve) => {
      confirm = resolve;
    });
    results.push(() => confirmed);
    const removing = b.reloader.removeWan('r', 'q');
    await nextTurn();
    await applied();
    assert.deepEqual(
      [a.publishers(), b.publishers()],
      [
        ['r p', 's q'],
        ['r p', 's q'],
      ],
    );
    assert.deepEqual(b.drops, []);
    confirm(true);
    assert.equal(await removing, undefined);
    assert.deepEqual([a.drops, b.drops], [[], [['r p', 's q']]]);
    assert.equal(codeOf(await a.reloader.removeWan('r', 'q')), 'WAN_UNKNOWN');
    assert.equal(codeOf(await a.reloader.removeWan('r', 'p')), 'WAN_CONFIGURED');
  });

  it('is dropped once every member has confirmed the removal', async () => {
    const { results, a } = await two();
    await a.addWan();
    results.push(
      async () => false,
      async () => false,
    );
    assert.equal(codeOf(await a.reloader.removeWan('r', 'q')), 'CONFIG_UNCONFIRMED');
    for (let turns = 0; turns < 5; turns++) await nextTurn();
    assert.deepEqual(a.drops, [['r p']]);
  });

  it('of an earlier file is dropped by the first member', async () => {
    const { record } = sharedRecord();
    const first = await member(record, REPLICATION, true);
    const next = await member(record);
    assert.deepEqual([first.drops, next.drops], [[['r p']], []]);
  });
});

describe('An added reference', () => {
  const text = (map: string, settings = '{wan-replication-ref: {r: }}') =>
    `grid: {map: {"${map}": ${settings}}}`;

  it('is in force on every member, whatever maps its file has', async () => {
    const { record, applied, a, b } = await two(
      REPLICATION,
      `${REPLICATION}\n  map: {m: {time-to-live-seconds: 5}, n: {time-to-live-seconds: 5}}`,
    );
    await a.reloader.add(text('m'));
    await a.reloader.add(text('n*'));
    await b.reloader.add(text('n', '{time-to-live-seconds: 7}'));
    await b.reloader.add(text('n2', '{time-to-live-seconds: 7}'));
    await b.reloader.add(text('default'));
    await a.reloader.add(text('o', '{time-to-live-seconds: 7}'));
    assert.ok((await applied()).every(Boolean));
    const late = await member(record, `${REPLICATION}\n  map: {n3: {}}`);
    for (const each of [a, b, late]) {
      const found = each.referring('m', 'n', 'n2', 'n3', 'o', 'x');
      assert.deepEqual(found, ['m', 'n', 'n3', 'x']);
    }
  });

  it('is refused with 503 if not every member confirms it; another addition is not', async () => {
    const { results, a } = await two();
    results.push(async () => false);
    assert.equal(codeOf(await a.reloader.add('grid: {queue: {q: {}}}')), undefined);
    assert.equal(codeOf(await a.reloader.add(text('m'))), 'CONFIG_UNCONFIRMED');
    results.push(async () => false);
    assert.equal(codeOf(await a.reloader.add(text('m'))), 'CONFIG_UNCONFIRMED');
    assert.equal(codeOf(await a.reloader.add(text('m'))), undefined);
  });

  it('with a policy that compares reads is refused, with its line', async () => {
    const { record, a } = await two();
    for (const policy of ['HigherHits', 'com.x.LatestAccessMergePolicy']) {
      const outcome = await a.reloader.add(
        `grid:\n  map:\n    m:\n      per-entry-stats-enabled: true\n      wan-replication-ref:\n        r: {merge-policy-class-name: ${policy}}`,
      );
      assert.ok('faults' in outcome);
      assert.match(
        outcome.faults.join(),
        /^configuration:6:\d+: .* reads are not counted with engine\.url$/,
      );
    }
    assert.deepEqual(record.values.addedConfigs, []);
  });
});
