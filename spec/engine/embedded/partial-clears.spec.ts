/**
 * Covers src/engine/embedded/sweeper.ts and src/engine/embedded/clears.ts. Merged clears of maps
 * that have later entries: the entries that they end are removed in steps.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts';
import { ABSENT, APPLIED, FOUND, OUTDATED, type Outcome } from '../../../src/engine/engine.ts';
import { CLEAR, EXPIRE, type Mutation, type Operation, SET } from '../../../src/engine/mutation.ts';
import { ADMITTED, DISK_FULL, type Veto } from '../../../src/engine/mutation-sink.ts';
import type { MergeOptions } from '../../../src/engine/stored-engine.ts';
import { changeOf, merged, replayInto } from '../changes.ts';
import { AcceptingSink, copyOf } from '../sinks.ts';
import { contentOf, visited } from '../stored-engine.case.ts';
import { AtOnce } from './at-once.ts';
import { engineOf } from './components-of.ts';

const VALUE = Buffer.from('v');
const KEYS = 2000;

/** Stores the records; refuses expiries when `removals` are used up. */
class SparingSink extends AcceptingSink {
  readonly records: Mutation[] = [];
  removals = Number.POSITIVE_INFINITY;
  refusedCount = 0;

  override admit({ operation }: Mutation): typeof ADMITTED | Veto {
    if (operation !== EXPIRE) return ADMITTED;
    if (this.removals-- > 0) return ADMITTED;
    this.refusedCount++;
    return DISK_FULL;
  }

  override record(mutation: Mutation): void {
    this.records.push(copyOf(mutation));
  }
}

function opened(options: MergeOptions = {}) {
  const sink = new SparingSink();
  return { ...engineOf({ sinks: [sink], ...options }), sink };
}

function merge(engine: EmbeddedEngine, operation: Operation, key: string, low: number): Outcome {
  const value = operation === SET ? 'sent' : '';
  return merged(engine, changeOf(operation, { key, value, version: low })).outcome;
}

/**
 * Returns a map of KEYS entries with the versions 1 to KEYS, and one that is later than any clear.
 */
function filled(options: MergeOptions = {}) {
  const subject = opened(options);
  for (let key = 0; key < KEYS; key++) merge(subject.engine, SET, `k${key}`, 1 + key);
  subject.ask.set('m', 'later', VALUE);
  return subject;
}

/** Returns an engine that a replay of the records has filled. */
function replayed(records: readonly Mutation[], options: MergeOptions = {}) {
  const copy = opened(options);
  replayInto(copy.engine, records, true);
  return copy;
}

it('entries ended by a clear are hidden while a sink refuses, and removed afterwards', () => {
  const { engine, ask, clock, sink } = filled();
  sink.removals = 100;
  assert.equal(merge(engine, CLEAR, '', KEYS - 10), APPLIED);
  clock.advance(60_000);
  assert.ok(sink.refusedCount > 0);
  const there = visited(engine).map(({ key }) => key.toBuffer().toString());
  assert.equal(there.length, 11);
  assert.equal(ask.get('m', 'k0').outcome, ABSENT);
  assert.equal(ask.get('m', `k${KEYS - 10}`).outcome, FOUND);
  // A refused step does not refuse a client's write, and writes win over ended entries.
  assert.equal(ask.set('m', 'k1', VALUE).outcome, APPLIED);
  assert.equal(merge(engine, SET, 'k2', KEYS - 10), OUTDATED);
  assert.equal(merge(engine, SET, 'k2', KEYS - 9), APPLIED);
  assert.equal(ask.delete('m', 'k3').outcome, APPLIED);
  const stored = sink.records.filter((record) => record.operation === SET);
  assert.equal(stored.filter((record) => engine.isStored(record)).length, 13);
  engine.invariants();
  const content = contentOf(engine);
  const copy = replayed(sink.records);
  assert.deepEqual(contentOf(copy.engine), content);
  sink.removals = Number.POSITIVE_INFINITY;
  clock.advance(60_000);
  copy.clock.advance(60_000);
  for (const each of [engine, copy.engine]) {
    assert.equal(new AtOnce(each).size('m').count, 13);
    assert.deepEqual(contentOf(each), content);
    each.invariants();
    each.close();
  }
});

it('a later clear extends one in progress, and a clear by a client ends both', () => {
  const { engine, ask, clock, sink } = filled();
  sink.removals = 0;
  assert.equal(merge(engine, CLEAR, '', 100), APPLIED);
  clock.advance(5000);
  assert.equal(merge(engine, CLEAR, '', 50), OUTDATED);
  assert.equal(merge(engine, CLEAR, '', KEYS), APPLIED);
  assert.deepEqual(visited(engine).length, 1);
  assert.equal(ask.clear('m').outcome, APPLIED);
  sink.removals = Number.POSITIVE_INFINITY;
  ask.set('m', 'new', VALUE);
  clock.advance(60_000);
  assert.equal(ask.size('m').count, 1);
  engine.invariants();
  engine.close();
});

it('a replay ends what a clear has ended, even if its tombstone has been dropped', () => {
  const options = { tombstonesMax: 1, keepsTombstones: () => true };
  const { engine, ask, sink } = filled(options);
  sink.removals = 0;
  assert.equal(merge(engine, CLEAR, '', KEYS), APPLIED);
  ask.set('n', 'k', VALUE);
  ask.delete('n', 'k');
  assert.equal(engine.tombstones.count, 1);
  const copy = replayed(sink.records, options);
  assert.equal(visited(copy.engine).length, 1);
  copy.engine.close();
  engine.close();
});

it('a set not later than a clear with a dropped tombstone remains, also in a replay', () => {
  const options = { tombstonesMax: 1, keepsTombstones: () => true };
  for (const removals of [0, Number.POSITIVE_INFINITY]) {
    const { engine, ask, clock, sink } = filled(options);
    sink.removals = removals;
    assert.equal(merge(engine, CLEAR, '', KEYS), APPLIED);
    ask.set('n', 'k', VALUE);
    ask.delete('n', 'k');
    clock.advance(60_000);
    assert.equal(merge(engine, SET, 'k0', 5), APPLIED);
    assert.equal(merge(engine, SET, 'new', 5), APPLIED);
    sink.removals = Number.POSITIVE_INFINITY;
    clock.advance(60_000);
    const { engine: copy } = replayed(sink.records, options);
    // The entries that a further replay ends are also ended after the first one.
    assert.equal(merge(copy, SET, 'late', 5), APPLIED);
    for (const each of [engine, copy]) {
      assert.equal(new AtOnce(each).size('m').count, each === copy ? 4 : 3);
      for (const key of ['k0', 'new', 'later']) {
        assert.equal(new AtOnce(each).get('m', key).outcome, FOUND);
      }
      each.invariants();
      each.close();
    }
  }
});
