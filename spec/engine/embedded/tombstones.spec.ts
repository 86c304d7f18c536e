import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Span } from '../../../src/base/span.ts';
import type { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts';
import { APPLIED, MEMORY_FULL, OUTDATED, type Outcome } from '../../../src/engine/engine.ts';
import {
  HIGHER_HITS,
  LATEST_ACCESS,
  LATEST_UPDATE,
  type MergePolicy,
} from '../../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, type Mutation, SET } from '../../../src/engine/mutation.ts';
import { TombstoneCursor } from '../../../src/engine/stored-engine.ts';
import { Version } from '../../../src/engine/version.ts';
import { changeOf, merged, replayInto } from '../changes.ts';
import { span } from '../results.ts';
import { copyOf, RecordingSink } from '../sinks.ts';
import { visited } from '../stored-engine.case.ts';
import { AtOnce } from './at-once.ts';
import { componentsOf, deleteEntry, engineOf, setEntry } from './components-of.ts';

const VALUE = Buffer.from('v');
function msOf({ low, high }: Version): number {
  return high * 2 ** 16 + (low >>> 16);
}

/** Source of the merged changes. */
const MAKER = 7;

function mergeSet(
  engine: EmbeddedEngine,
  key: string,
  version: Version,
  policy: MergePolicy,
  hits = 0,
  lastAccessSeconds = 0,
): Outcome {
  const fields = { key, version, value: 'sent', maker: MAKER, hits, lastAccessSeconds };
  return merged(engine, changeOf(SET, fields), policy).outcome;
}

it('above the limit the oldest tombstones are dropped and reported', () => {
  const dropped: number[] = [];
  const { engine, ask, clock } = engineOf({
    keepsTombstones: () => true,
    tombstonesMax: 3,
    onTombstonesDropped: (count) => dropped.push(count),
  });
  const versions: Version[] = [];
  for (let index = 0; index < 5; index++) {
    versions.push(ask.set('m', `k${index}`, VALUE).version);
    ask.delete('m', `k${index}`);
    clock.advance(1);
  }
  assert.deepEqual([engine.tombstones.count, engine.tombstones.droppedCount], [3, 2]);
  assert.deepEqual(dropped, [1]);
  for (const [index, version] of versions.entries()) {
    const outcome = index < 2 ? APPLIED : OUTDATED;
    assert.equal(mergeSet(engine, `k${index}`, version, LATEST_UPDATE), outcome);
  }
  engine.invariants();
  engine.close();
});

it('a tombstone is dropped when it is too old, and its memory is freed', () => {
  const { engine, ask, clock } = engineOf({
    keepsTombstones: () => true,
    tombstoneRetentionMs: 10_000,
  });
  for (let index = 0; index < 5000; index++) {
    ask.set('m', `k${index}`, VALUE);
    ask.delete('m', `k${index}`);
  }
  assert.equal(engine.tombstones.count, 5000);
  clock.advance(9000);
  assert.equal(engine.tombstones.count, 5000);
  clock.advance(4000);
  assert.deepEqual([engine.tombstones.count, engine.tombstones.droppedCount], [0, 0]);
  engine.invariants();
  engine.close();
});

it('only removals in maps that keep tombstones, or were merged into, leave tombstones', () => {
  const { engine, ask } = engineOf({});
  const { version } = ask.set('m', 'k', VALUE);
  ask.delete('m', 'k');
  assert.equal(engine.tombstones.count, 0);
  assert.equal(mergeSet(engine, 'l', version, LATEST_UPDATE), APPLIED);
  ask.delete('m', 'l');
  ask.set('n', 'k', VALUE);
  ask.delete('n', 'k');
  assert.equal(engine.tombstones.count, 1);
  engine.close();
});

it('reads are counted across overwrites in maps with statistics, and decide HIGHER_HITS', () => {
  const { engine, ask } = engineOf({ keepsStatistics: (map) => map.toString() === 'm' });
  for (const map of ['m', 'n']) {
    ask.set(map, 'k', VALUE);
    for (let count = 0; count < 3; count++) ask.get(map, 'k');
    ask.set(map, 'k', VALUE);
    ask.get(map, 'absent');
    ask.get(map, 'k');
  }
  const hits = visited(engine).map(({ name, hits }) => [name.toBuffer().toString(), hits]);
  assert.deepEqual(hits.sort(), [
    ['m', 4],
    ['n', 0],
  ]);
  const old = new Version().set(1, 1);
  assert.equal(mergeSet(engine, 'k', old, HIGHER_HITS, 3), OUTDATED);
  assert.equal(mergeSet(engine, 'k', old, HIGHER_HITS, 4), APPLIED);
  engine.invariants();
  engine.close();
});

it('if no memory is left, a new tombstone replaces the oldest, but the others remain', () => {
  const { engine, ask } = engineOf({ keepsTombstones: () => true, memoryBytesMax: 4_194_304 });
  for (let key = 0; key < 3000; key++) {
    ask.set('m', `gone ${key}`, VALUE);
    ask.delete('m', `gone ${key}`);
  }
  const { count } = engine.tombstones;
  assert.equal(count, 3000);
  for (let length = 8192; length >= 8; length >>= 1) {
    for (let key = 0, misses = 0; misses < 100; key++) {
      const isFull = ask.set('n', `${length} ${key}`, Buffer.alloc(length)).outcome === MEMORY_FULL;
      misses = isFull ? misses + 1 : 0;
    }
  }
  const full = engine.memoryBytes;
  let least = count;
  for (let key = 0; key < 8000; key++) {
    assert.equal(
      merged(engine, changeOf(DELETE, { key: `absent ${key}`, version: 1 })).outcome,
      APPLIED,
    );
    least = Math.min(least, engine.tombstones.count);
  }
  assert.ok(least >= count, `only ${least} tombstones`);
  assert.ok(engine.memoryBytes < full + 200_000, 'more than one additional page of the table');
  engine.invariants();
  // Nor does a restart that needs more memory drop any.
  const copy = engineOf({ memoryBytesMax: 4_000_000 }).engine;
  const replay = copy.replay({ mayExceed: true });
  for (const stored of visited(engine)) assert.equal(replay.apply(stored), APPLIED);
  const cursor = new TombstoneCursor();
  const onStored = (tombstone: Mutation) => assert.equal(replay.apply(tombstone), APPLIED);
  while (engine.visitTombstones(cursor, 100, { onStored }));
  assert.ok(replay.end());
  assert.equal(copy.tombstones.count, engine.tombstones.count);
  copy.close();
  engine.close();
});

it('reads decide LATEST_ACCESS, and the incoming entry wins ties', () => {
  const { engine, ask, clock } = engineOf({ keepsStatistics: () => true });
  ask.set('m', 'k', VALUE);
  clock.advance(10_000);
  const readSeconds = Math.floor(clock.wall() / 1000);
  ask.get('m', 'k');
  clock.advance(10_000);
  ask.set('m', 'k', VALUE);
  const old = new Version().set(1, 1);
  assert.equal(mergeSet(engine, 'k', old, LATEST_ACCESS, 9, readSeconds - 1), OUTDATED);
  assert.equal(mergeSet(engine, 'k', old, LATEST_ACCESS, 9, readSeconds), APPLIED);
  const [{ hits, lastAccessSeconds } = { hits: -1, lastAccessSeconds: -1 }] = visited(engine);
  assert.deepEqual([hits, lastAccessSeconds], [9, readSeconds]);
  ask.get('m', 'k');
  assert.equal(mergeSet(engine, 'k', old, LATEST_ACCESS, 9, readSeconds), OUTDATED);
  engine.close();
});

it('a merged read count is limited to the maximum', () => {
  const { engine, ask } = engineOf({ keepsStatistics: () => true });
  ask.set('m', 'k', VALUE);
  const old = new Version().set(1, 1);
  assert.equal(mergeSet(engine, 'k', old, HIGHER_HITS, 2 ** 32 - 1), APPLIED);
  ask.get('m', 'k');
  assert.equal(visited(engine)[0]?.hits, 2 ** 31 - 1);
  assert.equal(mergeSet(engine, 'k', old, HIGHER_HITS, 2 ** 31 - 2), OUTDATED);
  engine.close();
});

it('without such maps no operation calls the options; after the review, each operation does', () => {
  let hasKeptMaps = false;
  let asked = 0;
  const isSo = () => ++asked > 0;
  const { engine, ask } = engineOf({
    hasKeptMaps: () => hasKeptMaps,
    keepsTombstones: isSo,
    keepsStatistics: isSo,
  });
  const { version } = ask.set('m', 'k', VALUE);
  ask.get('m', 'k');
  ask.delete('m', 'k');
  assert.equal(asked, 0);
  ask.set('m', 'l', VALUE);
  hasKeptMaps = true;
  engine.reviewMaps();
  ask.get('m', 'l');
  ask.set('m', 'l', VALUE);
  ask.get('m', 'l');
  assert.equal(visited(engine)[0]?.hits, 1);
  ask.delete('m', 'l');
  assert.equal(engine.tombstones.count, 1);
  assert.equal(mergeSet(engine, 'l', version, LATEST_UPDATE), OUTDATED);
  engine.close();
});

it('a refill from a visit restores tombstones, and the maps that were merged into', () => {
  const { engine, ask } = engineOf({});
  assert.equal(mergeSet(engine, 'k', new Version().set(1, 1), LATEST_UPDATE), APPLIED);
  const ahead = new Version();
  engine.now(ahead);
  // Within a second, but far from its beginning.
  ahead.set((999 << 16) | 7, ahead.high + 1000);
  engine.observe(ahead);
  ask.delete('m', 'k');
  const copy = engineOf({}).engine;
  const replay = copy.replay();
  const given: number[] = [];
  const cursor = new TombstoneCursor();
  const onStored = (tombstone: Mutation): void => {
    given.push(tombstone.operation);
    if (tombstone.operation === DELETE) {
      assert.equal(msOf(tombstone.version), Math.floor(msOf(ahead) / 1000) * 1000);
    }
    assert.ok(engine.isStored(tombstone));
    assert.equal(replay.apply(tombstone), APPLIED);
  };
  while (engine.visitTombstones(cursor, 1, { onStored }));
  assert.deepEqual(given, [DELETE, CLEAR]);
  assert.ok(replay.end());
  assert.equal(copy.tombstones.count, 1);
  const again = new AtOnce(copy);
  assert.ok(again.set('m', 'l', VALUE).version.isAfter(ahead), 'not later than the removal');
  again.delete('m', 'l');
  again.set('n', 'l', VALUE);
  again.delete('n', 'l');
  assert.equal(copy.tombstones.count, 2);
  copy.invariants();
  copy.close();
  engine.close();
});

it('a map that no sink accepts fills no draft, but leaves its tombstones', () => {
  const wanted = new RecordingSink();
  const wants = (map: Span) => map.toBuffer().toString() === 'wanted';
  const { components } = componentsOf(3, {
    sinks: [Object.assign(wanted, { wants })],
    keepsTombstones: () => true,
  });
  const { draft } = components.maps.changes;
  for (const map of ['m', 'wanted']) {
    setEntry(components, map, 'k', VALUE, '');
    deleteEntry(components, map, 'k');
    assert.equal(draft.key.length, map === 'm' ? 0 : 1);
  }
  assert.deepEqual([wanted.records.length, components.tombstones.count], [2, 2]);
});

it('a visit of tombstones ends, even if others are added and renewed fast', () => {
  const { engine, ask } = engineOf({ keepsTombstones: () => true, tombstonesMax: 20 });
  const remove = (key: string): void => {
    ask.set('m', key, VALUE);
    ask.delete('m', key);
  };
  for (let key = 0; key < 10; key++) remove(`k${key}`);
  const given: Mutation[] = [];
  const cursor = new TombstoneCursor();
  const onStored = (tombstone: Mutation) => given.push(copyOf(tombstone));
  for (let step = 0; engine.visitTombstones(cursor, 1, { onStored }); step++) {
    assert.ok(step < 10);
    remove(`new ${step}`);
    remove('k9');
    remove('k2');
  }
  // All except the two renewed ones.
  assert.equal(given.length, 8);
  assert.ok(given.every((tombstone) => engine.isStored(tombstone)));
  engine.close();
});

it('a replay of a merged change of the reserved map is not one of every map', async () => {
  const { engine, ask } = engineOf();
  const changes = [SET, DELETE, CLEAR].map((operation, index) => {
    const change = changeOf(operation as typeof SET, { version: index + 1, sequence: index + 1 });
    change.name.clear();
    change.path.copyFrom(span('0123456789abcdef'));
    change.life.set(operation === CLEAR ? 3 : 1, 1);
    if (operation !== SET) change.tombstone.copyFrom(change.version);
    return change;
  });
  replayInto(engine, changes, true);
  const merged: string[] = [];
  const onStored = ({ key, name }: Mutation) => {
    if (key.length === 0) merged.push(name.toBuffer().toString());
  };
  const cursor = new TombstoneCursor();
  while (engine.visitTombstones(cursor, 100, { onStored }));
  assert.deepEqual(merged, []);
  const before = engine.tombstones.count;
  ask.set('m', 'k', VALUE);
  ask.delete('m', 'k');
  assert.equal(engine.tombstones.count, before);
  await engine.close();
});

it('the reserved map has no tombstones, statistics or selective sinks, whatever the options', async () => {
  const asked: string[] = [];
  const keeps = (map: Buffer) => asked.push(map.toString()) > 0;
  const wants = (map: Span) => keeps(map.toBuffer());
  const selective = Object.assign(new RecordingSink(), { wants });
  const log = new RecordingSink();
  const made = { keepsTombstones: keeps, keepsStatistics: keeps, sinks: [log, selective] };
  const { engine, ask, clock } = engineOf(made);
  const remove = () => {
    for (const map of ['', 'm']) {
      ask.set(map, 'deleted', VALUE);
      ask.delete(map, 'deleted');
      ask.set(map, 'expires', VALUE, '', { timeToLiveMs: 1000, maxIdleSeconds: 0 });
      clock.setWall(clock.wall() + 2000);
      ask.get(map, 'expires');
      ask.set(map, 'cleared', VALUE);
      ask.get(map, 'cleared');
      ask.clear(map);
    }
  };
  remove();
  const kept = engine.tombstones.count;
  assert.ok(kept > 0);
  // So many maps that every one counts as a map that changes were merged into.
  for (let map = 0; map < 20; map++) {
    const change = changeOf(SET, { version: 1 });
    const name = Buffer.alloc(60_000, `${map}`.padStart(2, '0'));
    change.name.set(name, 0, name.length);
    assert.equal(merged(engine, change, LATEST_UPDATE).outcome, APPLIED);
  }
  engine.reviewMaps();
  remove();
  assert.equal(engine.tombstones.count, kept);
  assert.ok(asked.includes('m') && !asked.includes(''));
  const names = (sink: RecordingSink) => new Set(sink.records.map(({ name }) => name.length));
  assert.deepEqual(names(log), new Set([0, 1, 60_000]));
  assert.deepEqual(names(selective), new Set([1, 60_000]));
  ask.set('', 'k', VALUE);
  for (const { hits, name } of visited(engine)) assert.ok(name.length > 0 || hits === 0);
  engine.invariants();
  await engine.close();
});
