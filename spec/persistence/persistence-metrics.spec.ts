/** Covers src/persistence/persistence-metrics.ts. The log's length: subject.ts checks it everywhere. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { BUCKET_COUNT, bucketOf } from '../../src/base/duration-histogram.ts';
import { AtOnce } from '../engine/embedded/at-once.ts';
import { type Settings, type StoredMember, storedMember } from '../stored-member.ts';
import { scraped } from '../telemetry/scraped.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import { until } from './subject.ts';

const DISK_BYTES = 33_554_432;
const SNAPSHOT_MS = 1_600_000_000_500;

function storage(bytesMax = DISK_BYTES): MemoryStorage {
  return new MemoryStorage(new Random(1), 'boot', bytesMax);
}

function seriesOf({ persistence }: StoredMember): Record<string, number> {
  return scraped((to) => persistence.figures(to));
}

/** Returns the values of gauges and counters by their names without the prefix. */
function valuesOf(member: StoredMember): Record<string, number> {
  const series = Object.entries(seriesOf(member)).filter(([name]) => !name.includes('sync'));
  return Object.fromEntries(series.map(([name, value]) => [name.replace('gridnode_', ''), value]));
}

/** Returns the number of syncs and the sum of their durations. */
function syncsOf(member: StoredMember): [number, number] {
  const series = seriesOf(member);
  const { gridnode_sync_duration_seconds_count: count, gridnode_sync_duration_seconds_sum: sum } =
    series;
  return [count ?? Number.NaN, sum ?? Number.NaN];
}

async function served(memory: MemoryStorage, settings: Settings = []): Promise<StoredMember> {
  const member = storedMember(memory, settings);
  await member.serve();
  return member;
}

/** Returns the length of the files in the storage that are segments of the log. */
function logBytesIn(memory: MemoryStorage): number {
  const logs = [...memory.files].filter(([name]) => /^log-\d+$/.test(name));
  return logs.reduce((sum, [, { length }]) => sum + length, 0);
}

/** Adds entries until the condition is met. */
async function fill(member: StoredMember, isDone: () => boolean): Promise<void> {
  const ask = new AtOnce(member.engine);
  const value = 'v'.repeat(60_000);
  for (let key = 0; !isDone(); key++) {
    if (key > 200) assert.fail('the condition is not met');
    ask.set('m', `${key}`, value);
    await member.quiet();
  }
}

test('Nothing is reported until the data is recovered', async () => {
  const memory = storage();
  const member = storedMember(memory);
  assert.deepEqual([seriesOf(member), member.persistence.status], [{}, undefined]);
  await until(member.begin(), member.go);
  assert.deepEqual(seriesOf(member), {});
  await until(member.persistence.recover(), member.go);
  await member.quiet();
  const { log_bytes: logBytes, ...values } = valuesOf(member);
  assert.equal(logBytes, logBytesIn(memory));
  assert.deepEqual(values, { disk_full: 0, disk_failed: 0, log_written_bytes_total: 0 });
  assert.deepEqual(syncsOf(member), [0, 0]);
});

for (const [sync, delayMs] of [
  ['always', 0],
  ['interval', 1000],
] as const) {
  test(`Written bytes and syncs are counted, with sync ${sync}`, async () => {
    const member = await served(storage(), [{ key: 'persistenceSync', text: sync }]);
    const { clock } = member;
    const ask = new AtOnce(member.engine);
    const before = valuesOf(member).log_written_bytes_total ?? 0;
    ask.set('m', 'k', 'v'.repeat(1000));
    clock.endTurn();
    clock.advance(delayMs);
    await member.quiet();
    const written = (valuesOf(member).log_written_bytes_total ?? 0) - before;
    assert.ok(written > 1000 && written < 1200, `${written}`);
    assert.deepEqual(syncsOf(member), [1, 0]);
    ask.set('m', 'k', 'again');
    clock.endTurn();
    clock.advance(delayMs);
    // The sync lasts until the storage completes it.
    clock.advance(30);
    await member.quiet();
    assert.deepEqual(syncsOf(member), [2, 0.03]);
    const buckets = Object.entries(seriesOf(member)).filter(([name]) => name.includes('_bucket'));
    assert.equal(buckets.length, BUCKET_COUNT);
    const counts = buckets.map(([, count]) => count);
    assert.deepEqual(
      counts,
      counts.map((_, bucket) => (bucket < bucketOf(30) ? 1 : 2)),
    );
  });
}

test('The time of a snapshot is reported, also after a restart', async () => {
  const memory = storage();
  memory.wallMs = SNAPSHOT_MS;
  const member = await served(memory);
  assert.equal(valuesOf(member).snapshot_timestamp_seconds, undefined);
  await fill(member, () => valuesOf(member).snapshot_timestamp_seconds !== undefined);
  assert.equal(valuesOf(member).snapshot_timestamp_seconds, member.clock.wall() / 1000);
  assert.equal(valuesOf(member).log_bytes, logBytesIn(memory));
  const written = valuesOf(member).log_written_bytes_total ?? 0;
  assert.ok(written > 4_000_000, `${written}`);
  const again = await served(memory.afterKill());
  const values = valuesOf(again);
  assert.equal(values.snapshot_timestamp_seconds, SNAPSHOT_MS / 1000);
  assert.equal(values.log_bytes, logBytesIn(again.memory));
  assert.equal(values.log_written_bytes_total, 0);
  assert.deepEqual(again.persistence.status, {
    sync: 'interval',
    logBytes: logBytesIn(again.memory),
    snapshotTime: SNAPSHOT_MS,
    diskFull: false,
    diskFailed: false,
  });
});

test('The time of the last backup that this member made is reported', async () => {
  const settings = [{ key: 'backupDirectory', text: temporaryFolder() }] as const;
  const member = await served(storage(), settings);
  const { persistence, clock, go } = member;
  assert.equal(valuesOf(member).backup_timestamp_seconds, undefined);
  member.memory.failure = { at: member.memory.calls.length + 1, code: 'EIO', isLasting: true };
  await assert.rejects(until(persistence.backUp(), go));
  assert.equal(valuesOf(member).backup_timestamp_seconds, undefined);
  member.memory.failure = undefined;
  clock.advance(5000);
  await until(persistence.backUp(), go);
  assert.equal(valuesOf(member).backup_timestamp_seconds, clock.wall() / 1000);
  const again = await served(member.memory.afterKill(), settings);
  assert.equal(valuesOf(again).backup_timestamp_seconds, undefined);
});

/** Returns whether the disk is reported as full, and as failed. */
function faultsOf(member: StoredMember): number[] {
  const { disk_full: full = Number.NaN, disk_failed: failed = Number.NaN } = valuesOf(member);
  return [full, failed];
}

test('A full disk is reported while writes are refused', async () => {
  const memory = storage(3_000_000);
  const member = await served(memory);
  await fill(member, () => faultsOf(member)[0] === 1);
  assert.deepEqual(faultsOf(member), [1, 0]);
  const { diskFull, diskFailed, snapshotTime } = member.persistence.status ?? {};
  assert.deepEqual([diskFull, diskFailed, snapshotTime], [true, false, null]);
  memory.bytesMax = 100_000_000;
  for (let second = 0; second < 3; second++) {
    member.clock.advance(1000);
    await member.quiet();
  }
  assert.deepEqual(faultsOf(member), [0, 0]);
});

test('A failed disk is reported until the member ends, and its failed sync does not count', async () => {
  const memory = storage();
  const member = await served(memory);
  new AtOnce(member.engine).set('m', 'k', 'v');
  await member.quiet();
  memory.failure = { at: 0, code: 'EIO', isLasting: true, of: ['sync'] };
  member.clock.advance(1000);
  await member.quiet();
  assert.deepEqual(faultsOf(member), [0, 1]);
  assert.deepEqual(syncsOf(member), [0, 0]);
  memory.failure = undefined;
  member.clock.advance(10_000);
  await member.quiet();
  assert.deepEqual(faultsOf(member), [0, 1]);
});

test('A disk on which no segment can be made is reported as full until one is made', async () => {
  const memory = storage();
  const member = await served(memory);
  memory.failure = { at: 0, code: 'EIO', isLasting: true, of: ['create'] };
  await fill(member, () => faultsOf(member)[0] === 1);
  assert.deepEqual(faultsOf(member), [1, 0]);
  memory.failure = undefined;
  member.clock.advance(1000);
  await member.quiet();
  assert.deepEqual(faultsOf(member), [0, 0]);
});
