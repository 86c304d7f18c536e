/** The contract of StoredEngine.merge as tests: each policy, with and without an entry. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EVERY_PARTITION } from '../../src/base/partition-number.ts';
import { APPLIED, KNOWN, OUTDATED, type Outcome } from '../../src/engine/engine.ts';
import {
  LATEST_UPDATE,
  type MergePolicy,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../../src/engine/merge-policy.ts';
import {
  CLEAR,
  DELETE,
  FROM_SOURCE,
  type Mutation,
  makerOf,
  type Operation,
  SET,
} from '../../src/engine/mutation.ts';
import type { StoredEngine } from '../../src/engine/stored-engine.ts';
import { Version } from '../../src/engine/version.ts';
import { MERGE_POLICIES } from '../../src/wan/wan-settings.ts';
import { changeOf, merged, replayInto } from './changes.ts';
import { Asker } from './results.ts';
import { RecordingSink } from './sinks.ts';
import { contentOf, type OpenStoredSubject } from './stored-engine.case.ts';

const POLICIES = [...MERGE_POLICIES.entries()] as [MergePolicy, string][];
/** The version of a change relative to that of the entry. */
const RELATIONS = { older: -1, equal: 0, later: 1 } as const;
const PATH = Buffer.alloc(32, 7);

/** Whether a set wins against an entry. The incoming one wins ties, except of versions. */
function setWins(policy: MergePolicy, relation: number): boolean {
  if (policy === PUT_IF_ABSENT) return false;
  return policy === LATEST_UPDATE ? relation >= 0 : true;
}

function sent(operation: Operation, version: Version, value = ''): Mutation {
  const change = changeOf(operation, { version, value, maker: makerOf(PATH) });
  change.path.set(PATH, 0, PATH.length);
  return change;
}

function moved(version: Version, by: number): Version {
  return new Version().set(version.low + by, version.high);
}

/** Asserts that a replay of the records results in the content of the engine. */
async function compareReplay(
  engine: StoredEngine,
  sink: RecordingSink,
  open: OpenStoredSubject,
): Promise<void> {
  const { engine: copy } = await open([]);
  replayInto(copy, sink.records, true);
  assert.deepEqual(contentOf(copy), contentOf(engine));
  assert.deepEqual(copy.sequences(), engine.sequences());
  assert.equal(copy.tombstones.count, engine.tombstones.count);
}

export function mergeSuite(name: string, open: OpenStoredSubject): void {
  async function opened() {
    const sink = new RecordingSink();
    const { engine, advance } = await open([sink]);
    const asker = new Asker(engine);
    return { engine, advance, asker, sink };
  }

  describe(`${name}: merge`, () => {
    for (const [policy, title] of POLICIES) {
      for (const [relation, by] of Object.entries(RELATIONS)) {
        it(`under ${title}, changes that are ${relation}`, async () => {
          for (const operation of [SET, DELETE, CLEAR] as const) {
            const { engine, asker, sink } = await opened();
            const { version } = await asker.set('m', 'k', 'here');
            const change = sent(operation, moved(version, by), operation === SET ? 'sent' : '');
            const answer = merged(engine, change, policy);
            const isLate = operation === SET ? setWins(policy, by) : by >= 0;
            const wins = isLate || (operation === DELETE && policy === PASS_THROUGH);
            // An earlier clear leaves later entries, and a tombstone.
            const isTaken = wins || operation === CLEAR;
            assert.equal(answer.outcome, isTaken ? APPLIED : OUTDATED);
            const left = !wins ? 'here' : operation === SET ? 'sent' : '';
            assert.equal((await asker.get('m', 'k')).value, left);
            assert.equal((await asker.size('m')).count, left === '' ? 0 : 1);
            const [, record] = sink.records;
            assert.equal(record !== undefined, isTaken);
            if (record !== undefined) {
              assert.deepEqual([record.operation, record.origin], [operation, FROM_SOURCE]);
              assert.ok(record.path.toBuffer().equals(PATH));
              assert.equal(record.version.is(change.version), by >= 0 || operation === CLEAR);
            }
            if (operation === CLEAR) assert.equal(answer.partition, EVERY_PARTITION);
            await compareReplay(engine, sink, open);
          }
        });
      }

      it(`under ${title}, without an entry`, async () => {
        for (const [operation, value] of [
          [SET, 'sent'],
          [DELETE, ''],
          [CLEAR, ''],
        ] as const) {
          const { engine, asker, sink } = await opened();
          const { version } = await asker.set('other', 'k', 'v');
          const change = sent(operation, moved(version, -5), value);
          assert.equal(merged(engine, change, policy).outcome, APPLIED);
          assert.equal((await asker.get('m', 'k')).value, value);
          const again = merged(engine, change, policy);
          assert.equal(again.outcome, KNOWN);
          // A removal is recorded: a set that is not later does not restore the entry.
          const late = operation === SET ? 0 : 1;
          const older = sent(SET, moved(change.version, -late), 'old');
          const outcomes: Outcome[] = [];
          if (late === 1) outcomes.push(merged(engine, older, policy).outcome);
          const same = sent(SET, change.version, 'old');
          if (late === 1) outcomes.push(merged(engine, same, policy).outcome);
          for (const outcome of outcomes) assert.equal(outcome, OUTDATED);
          assert.equal(engine.tombstones.count, late);
          await compareReplay(engine, sink, open);
        }
      });
    }

    for (const [policy, title] of POLICIES) {
      it(`under ${title}, a change that is not later than a tombstone changes nothing`, async () => {
        for (const removal of [DELETE, CLEAR] as const) {
          const { engine, asker, sink } = await opened();
          const { version } = await asker.set('other', 'k', 'v');
          const at = (by: number) => moved(version, by * 2 ** 16);
          const put = sent(SET, at(5), 'here');
          assert.equal(merged(engine, sent(removal, at(4)), policy).outcome, APPLIED);
          assert.equal(merged(engine, put, policy).outcome, APPLIED);
          for (const [operation, by, outcome] of [
            [SET, 3, OUTDATED],
            [DELETE, 3, OUTDATED],
            [CLEAR, 3, removal === CLEAR ? OUTDATED : APPLIED],
            [removal, 4, KNOWN],
            [SET, 4, OUTDATED],
          ] as const) {
            const change = sent(operation, at(by), operation === SET ? 'old' : '');
            assert.equal(merged(engine, change, policy).outcome, outcome);
            assert.equal((await asker.get('m', 'k')).value, 'here');
          }
          assert.equal(merged(engine, sent(DELETE, at(6)), policy).outcome, APPLIED);
          assert.equal((await asker.get('m', 'k')).value, '');
          await compareReplay(engine, sink, open);
        }
      });

      it(`under ${title}, an older change of the entry's maker changes nothing`, async () => {
        const { engine, asker, sink } = await opened();
        const { version } = await asker.set('other', 'k', 'v');
        const put = sent(SET, moved(version, 5), 'here');
        assert.equal(merged(engine, put, policy).outcome, APPLIED);
        for (const operation of [SET, DELETE] as const) {
          const older = sent(operation, moved(version, 4), operation === SET ? 'old' : '');
          assert.equal(merged(engine, older, policy).outcome, OUTDATED);
          assert.equal((await asker.get('m', 'k')).value, 'here');
        }
        assert.equal(sink.records.at(-1)?.maker, put.maker);
        // An entry of a client has another maker.
        const mine = await asker.set('m', 'k', 'mine');
        const other = sent(SET, moved(mine.version, -1), 'sent');
        const isTaken = policy !== PUT_IF_ABSENT && policy !== LATEST_UPDATE;
        const outcome = isTaken ? APPLIED : OUTDATED;
        assert.equal(merged(engine, other, policy).outcome, outcome);
        if (isTaken) {
          assert.equal(sink.records.at(-1)?.maker, 0);
          assert.ok(sink.records.at(-1)?.version.is(moved(mine.version, 1)));
        }
        await compareReplay(engine, sink, open);
      });

      it(`under ${title}, a sync restores entries removed before it began`, async () => {
        for (const operation of [DELETE, CLEAR] as const) {
          const { engine, asker, sink } = await opened();
          const { version } = await asker.set('m', 'k', 'v');
          const entry = sent(SET, version, 'v');
          merged(engine, sent(SET, moved(version, -9), 'v'), policy);
          if (operation === DELETE) await asker.delete('m', 'k');
          else await asker.clear('m');
          const began = new Version();
          engine.now(began);
          const restored = (syncBegan?: Version) =>
            merged(engine, entry, policy, syncBegan).outcome;
          assert.equal(restored(), OUTDATED);
          assert.equal(restored(moved(began, -1)), OUTDATED);
          const isRestored = policy !== LATEST_UPDATE;
          assert.equal(restored(began), isRestored ? APPLIED : OUTDATED);
          assert.equal((await asker.get('m', 'k')).value, isRestored ? 'v' : '');
          // The restored entry is later than the removal, but not later than the source's next
          // change.
          if (isRestored) assert.ok(sink.records.at(-1)?.version.is(moved(began, 1)));
          const next = sent(DELETE, moved(began, 1));
          assert.equal(merged(engine, next, policy).outcome, APPLIED);
          assert.equal(restored(began), OUTDATED);
          assert.equal((await asker.get('m', 'k')).value, '');
          await compareReplay(engine, sink, open);
        }
      });
    }

    it('of equal versions the later end of life wins, then the greater bytes', async () => {
      const { engine, asker } = await opened();
      const { version } = await asker.set('m', 'k', 'b', '', {
        timeToLiveMs: 5000,
        maxIdleSeconds: 0,
      });
      const less = sent(SET, version, 'z');
      less.expiryMs = 1;
      assert.equal(merged(engine, less, LATEST_UPDATE).outcome, OUTDATED);
      const longer = sent(SET, version, 'a');
      const answer = merged(engine, longer, LATEST_UPDATE);
      assert.deepEqual([answer.outcome, answer.version.is(version)], [APPLIED, true]);
      assert.equal(merged(engine, longer, LATEST_UPDATE).outcome, KNOWN);
      assert.equal(merged(engine, sent(SET, version, 'b'), 2).outcome, APPLIED);
      assert.equal(merged(engine, sent(SET, version, 'a'), 2).outcome, OUTDATED);
      assert.equal(merged(engine, sent(DELETE, version), 2).outcome, APPLIED);
      assert.equal((await asker.get('m', 'k')).value, '');
    });

    it('an expiry is recorded just below the version of the expired entry', async () => {
      const { engine, advance, asker } = await opened();
      const { version } = await asker.set('other', 'k', 'v');
      const short = sent(SET, version, 'short');
      short.expiryMs = 1;
      assert.equal(merged(engine, short, LATEST_UPDATE).outcome, APPLIED);
      await advance(10);
      assert.equal((await asker.get('m', 'k')).value, '');
      const older = sent(SET, moved(version, -1), 'old');
      assert.equal(merged(engine, older, LATEST_UPDATE).outcome, OUTDATED);
      const longer = sent(SET, version, 'longer');
      assert.equal(merged(engine, longer, LATEST_UPDATE).outcome, APPLIED);
    });

    it('the version clock advances to the versions of merged changes', async () => {
      const { engine, asker } = await opened();
      const { version } = await asker.set('m', 'k', 'v');
      const ahead = moved(version, 2 ** 28);
      merged(engine, sent(SET, ahead, 'w'), PASS_THROUGH);
      const now = new Version();
      engine.now(now);
      assert.ok(!ahead.isAfter(now));
      assert.ok((await asker.set('m', 'k', 'x')).version.isAfter(ahead));
      const later = moved(ahead, 2 ** 28);
      engine.observe(later);
      assert.ok((await asker.set('m', 'k', 'y')).version.isAfter(later));
    });
  });

  it(`${name}: no merged change of the reserved map changes anything`, async () => {
    const { engine, asker, sink } = await opened();
    const { version } = await asker.set('', 'k', 'own');
    await asker.set('m', 'k', 'v');
    const [content, sequences, now] = [contentOf(engine), engine.sequences(), new Version()];
    for (const [policy] of POLICIES) {
      for (const operation of [SET, DELETE, CLEAR] as const) {
        for (const by of [-1, 0, 1, 2 ** 28]) {
          const change = sent(operation, moved(version, by), operation === SET ? 'sent' : '');
          change.name.clear();
          for (const began of [undefined, moved(version, 2 ** 28)]) {
            assert.equal(merged(engine, change, policy, began).outcome, OUTDATED);
          }
        }
      }
    }
    assert.deepEqual([contentOf(engine), engine.sequences()], [content, sequences]);
    assert.equal((await asker.get('', 'k')).value, 'own');
    engine.now(now);
    assert.ok(!moved(version, 2 ** 28).is(now));
    assert.deepEqual([engine.tombstones.count, sink.records.length], [0, 2]);
    await compareReplay(engine, sink, open);
  });

  describe(`${name}: sinks that are added and removed`, () => {
    it('are notified in between, but only of the maps that they accept, and of no queue', async () => {
      const { engine, asker, sink } = await opened();
      await asker.set('m', 'k', 'before');
      const joined = new RecordingSink();
      const choosy = Object.assign(new RecordingSink(), {
        ignoresQueues: true,
        wants: (map: { toBuffer(): Buffer }) => map.toBuffer().toString() !== 'm',
      });
      engine.addSink(joined);
      engine.addSink(choosy);
      await asker.set('m', 'k', 'v');
      await asker.set('n', 'k', 'v');
      await asker.offer('n', 'item');
      await asker.delete('m', 'k');
      await asker.clear('n');
      await asker.set('', 'k', 'v');
      await asker.delete('', 'k');
      engine.removeSink(joined);
      engine.removeSink(choosy);
      await asker.set('n', 'k', 'after');
      assert.equal(sink.records.length, 9);
      assert.deepEqual([joined.records.length, choosy.records.length], [7, 2]);
      assert.ok(choosy.records.every(({ name }) => name.toBuffer().toString() === 'n'));
    });
  });
}
