/**
 * The contract of src/engine/stored-engine.ts and of src/engine/mutation-sink.ts as tests, for any
 * engine that stores its data itself.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EVERY_PARTITION, NO_PARTITION } from '../../src/base/partition-number.ts';
import {
  ABSENT,
  APPLIED,
  CONDITION_FAILED,
  COUNTED,
  FOREVER,
  FOUND,
  LOST,
  NO_HOLD,
  QUEUE_FULL,
  REFUSED,
  UNKNOWN,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import {
  CLEAR,
  DELETE,
  EXPIRE,
  FROM_CLIENT,
  FROM_REPLAY,
  type Mutation,
  OFFER,
  REMOVE,
  RETURN,
  SET,
} from '../../src/engine/mutation.ts';
import { DISK_FAILED, DISK_FULL, type MutationSink } from '../../src/engine/mutation-sink.ts';
import {
  REMOVED_ITEMS_MAX,
  type StoredEngine,
  VisitCursor,
} from '../../src/engine/stored-engine.ts';
import { Version } from '../../src/engine/version.ts';
import { replayInto } from './changes.ts';
import { Asker, Keeper, type Seen, span } from './results.ts';
import { copyOf, DelayingSink, RecordingSink, RefusingSink } from './sinks.ts';

export interface StoredSubject {
  readonly engine: StoredEngine;
  /** Ends the turn, and waits until nothing is in progress. */
  quiet(): Promise<void>;
  /** Advances the time. */
  advance(ms: number): Promise<void>;
}

export type OpenStoredSubject = (sinks: readonly MutationSink[]) => Promise<StoredSubject>;

type Three = [Mutation, Mutation, Mutation];
type Four = [...Three, Mutation];
type Eleven = [...Four, ...Four, ...Three];

/** Returns all stored data, in the order visited, in steps of `budget`. */
export function visited(engine: StoredEngine, budget = 1000): Mutation[] {
  const all: Mutation[] = [];
  for (let partition = 0; partition < engine.partitionCount; partition++) {
    const cursor = new VisitCursor();
    const visitor = { onStored: (stored: Mutation) => all.push(copyOf(stored)) };
    while (engine.visit(partition, cursor, budget, visitor));
  }
  return all;
}

/** Returns the stored data as texts in a fixed order: place, value, content type and version. */
export function contentOf(engine: StoredEngine): string[] {
  return visited(engine).map(describeStored).sort();
}

export function describeStored(stored: Mutation): string {
  const { operation, name, key, item, value, contentType, version } = stored;
  const where = operation === OFFER ? `item ${item}` : key.toBuffer().toString('latin1');
  const what = value.toBuffer().toString('latin1');
  const type = contentType.toBuffer().toString('latin1');
  return `${name.toBuffer()}/${where} = ${what} (${type}) ${version.high}.${version.low}`;
}

export function storedEngineSuite(name: string, open: OpenStoredSubject): void {
  async function opened(...sinks: readonly MutationSink[]) {
    const subject = await open(sinks);
    return { ...subject, asker: new Asker(subject.engine) };
  }

  /** Returns an engine into which the records were replayed. */
  async function replayed(records: readonly Mutation[], sinks: readonly MutationSink[] = []) {
    const { engine } = await open(sinks);
    replayInto(engine, records);
    return engine;
  }

  describe(`${name}: sinks`, () => {
    it('are notified of everything that is needed to make the change again', async () => {
      const sink = new RecordingSink();
      const { advance, quiet, asker } = await opened(sink);
      const first = await asker.set('m', 'k', 'v', 'a/type');
      const lifetime = { timeToLiveMs: 500, maxIdleSeconds: 7 };
      await asker.set('m', 'k', 'w', '', lifetime);
      await asker.set('m', 'l', 'x');
      await asker.delete('m', 'l');
      await advance(1000);
      assert.equal((await asker.get('m', 'k')).value, '');
      await asker.set('m', 'l', 'y');
      const cleared = await asker.clear('m');
      const offered = await asker.offer('q', 'i', 'a/type');
      await asker.poll('q');
      const waiting = asker.wait('q', 1000);
      await asker.offer('q', 'j');
      await quiet();
      assert.equal(waiting.keeper.seen?.value, 'j');
      const { records } = sink;
      const operations = [SET, SET, SET, DELETE, EXPIRE, SET, CLEAR, OFFER, REMOVE, OFFER, REMOVE];
      assert.deepEqual(
        records.map(({ operation }) => operation),
        operations,
      );
      const [set, again, other, deletion, expiry, reborn, clear, offer, removal, second, last] =
        records as Eleven;
      assert.equal(set.name.toBuffer().toString(), 'm');
      assert.equal(set.key.toBuffer().toString(), 'k');
      assert.equal(set.value.toBuffer().toString(), 'v');
      assert.equal(set.contentType.toBuffer().toString(), 'a/type');
      assert.deepEqual([set.partition, set.sequence], [first.partition, first.sequence]);
      assert.equal(set.origin, FROM_CLIENT);
      assert.ok(set.replaced.isNone);
      assert.deepEqual(set.life, set.version);
      assert.equal(set.expiryMs, 0);
      assert.deepEqual(again.replaced, set.version);
      assert.ok(again.version.isAfter(set.version));
      assert.deepEqual(again.life, set.life);
      assert.ok(again.expiryMs > 1_000_000);
      assert.equal(again.maxIdleSeconds, 7);
      assert.deepEqual(deletion.replaced, other.version);
      assert.equal(deletion.key.toBuffer().toString(), 'l');
      assert.deepEqual(expiry.replaced, again.version);
      assert.equal(expiry.key.toBuffer().toString(), 'k');
      assert.ok(reborn.life.isAfter(set.life));
      assert.equal(clear.partition, EVERY_PARTITION);
      assert.equal(cleared.partition, EVERY_PARTITION);
      assert.deepEqual(clear.life, clear.version);
      assert.ok(clear.life.isAfter(reborn.life));
      assert.equal(offer.name.toBuffer().toString(), 'q');
      assert.deepEqual([offer.partition, offer.sequence], [offered.partition, offered.sequence]);
      assert.ok(offer.sequence > clear.sequence);
      assert.equal(removal.item, offer.item);
      assert.ok(second.item > offer.item);
      assert.equal(last.item, second.item);
    });

    it('a veto changes nothing, has its code, and is reported to the sinks called before', async () => {
      const recording = new RecordingSink();
      const refusing = new RefusingSink();
      const never = new RecordingSink();
      const { engine, advance, asker } = await opened(recording, refusing, never);
      await asker.set('m', 'k', 'v');
      await asker.set('m', 'short', 'v', '', { timeToLiveMs: 100, maxIdleSeconds: 0 });
      await asker.offer('q', 'a');
      await asker.offer('q', 'b');
      const before = contentOf(engine);
      const sequences = engine.sequences();
      const recorded = recording.records.length;
      refusing.veto = DISK_FULL;
      const waiting = asker.wait('other', 1000);
      const answers = [
        await asker.set('m', 'k', 'w'),
        await asker.set('new', 'k', 'w', 'new/type'),
        await asker.delete('m', 'k'),
        await asker.clear('m'),
        await asker.offer('q', 'c'),
        await asker.offer('new', 'c'),
        await asker.take('q'),
        await asker.wait('q', 1000).keeper.answered,
      ];
      for (const answer of answers) {
        assert.equal(answer.outcome, REFUSED);
        assert.equal(answer.veto, DISK_FULL);
      }
      assert.equal(recording.abandonedCount, answers.length);
      assert.deepEqual(engine.sequences(), sequences);
      assert.deepEqual(contentOf(engine), before);
      await advance(1000);
      assert.equal((await asker.get('m', 'short')).value, '');
      assert.equal(recording.records.length, recorded);
      assert.equal(never.records.length, recorded);
      assert.equal(waiting.keeper.seen?.outcome, ABSENT);
      refusing.veto = undefined;
      assert.equal((await asker.delete('new', 'k')).outcome, APPLIED);
      assert.equal((await asker.poll('q')).value, 'a');
      assert.equal((await asker.poll('q')).value, 'b');
      assert.equal((await asker.get('m', 'k')).value, 'v');
    });

    it('a veto of a removal is reported to the waiting take, and the item remains', async () => {
      const refusing = new RefusingSink();
      const { quiet, asker } = await opened(new RecordingSink(), refusing);
      const waiting = [asker.wait('q', 1000), asker.wait('q', 1000), asker.wait('q', 1000)];
      await asker.offer('q', 'a');
      await asker.offer('q', 'b');
      refusing.veto = DISK_FULL;
      await quiet();
      for (const { keeper } of waiting) {
        assert.equal(keeper.seen?.outcome, REFUSED);
        assert.equal(keeper.seen.veto, DISK_FULL);
      }
      refusing.veto = undefined;
      assert.equal((await asker.queueSize('q')).count, 2);
      for (const item of 'ab') assert.equal((await asker.poll('q')).value, item);
    });

    it('a failed condition calls no sink and raises no sequence', async () => {
      const sink = new RecordingSink();
      const refusing = new RefusingSink();
      const { engine, asker } = await opened(sink, refusing);
      const { version } = await asker.set('m', 'k', 'v');
      await asker.set('m', 'k', 'w');
      const before = engine.sequences();
      refusing.veto = DISK_FULL;
      const answers = [
        await asker.setIf('m', 'k', 'x', version),
        await asker.setIf('m', 'other', 'x', version),
        await asker.setIf('m', 'k', 'x', new Version()),
        await asker.delete('m', 'k', version),
        await asker.delete('m', 'other', version),
      ];
      for (const { outcome, partition, sequence } of answers) {
        assert.equal(outcome, CONDITION_FAILED);
        assert.equal(sequence, before[partition]);
      }
      assert.equal(refusing.refusedCount, 0);
      assert.equal(sink.records.length, 2);
      assert.deepEqual(engine.sequences(), before);
    });

    it('a change that is not durable delays only the results that depend on it', async () => {
      const sink = new DelayingSink();
      const { engine, asker } = await opened(new RecordingSink(), sink);
      const before = await asker.set('m', 'k', 'v');
      let other = await asker.set('m', '0', 'v');
      for (let index = 1; other.partition === before.partition && index < 1000; index++) {
        if (engine.partitionCount === 1) break;
        other = await asker.set('m', `${index}`, 'v');
      }
      sink.upTo.set(before.partition, engine.sequences()[before.partition]!);
      const write = await asker.set('m', 'k', 'w');
      const read = await asker.get('m', 'k');
      assert.ok(!engine.delays(before.partition, before.sequence));
      assert.ok(engine.delays(write.partition, write.sequence));
      assert.equal(read.value, 'w');
      assert.ok(engine.delays(read.partition, read.sequence));
      if (engine.partitionCount > 1) assert.ok(!engine.delays(other.partition, other.sequence));
      sink.upTo.set(before.partition, write.sequence);
      assert.ok(!engine.delays(read.partition, read.sequence));
      await asker.clear('m');
      assert.ok(engine.delays(before.partition, engine.sequences()[before.partition]!));
    });
  });

  describe(`${name}: a sink that has failed`, () => {
    it('makes results UNKNOWN that depend on changes it has not made durable', async () => {
      const sink = new DelayingSink();
      const recording = new RecordingSink();
      const { engine, quiet, asker } = await opened(recording, sink);
      const { partition } = await asker.set('m', 'k', 'v', '', FOREVER);
      const other = await keyElsewhere(asker, partition);
      await asker.offer('q', 'a');
      const waiting = asker.wait('empty', 1000);
      for (const [each, last] of engine.sequences().entries()) sink.upTo.set(each, last);
      const ask = async (): Promise<Seen[]> => [
        await asker.get('m', 'k'),
        await asker.get('m', 'absent'),
        await asker.set('m', 'k', 'w'),
        await asker.setIf('m', 'k', 'w', new Version()),
        await asker.delete('m', 'k'),
        await asker.size('m'),
        await asker.peek('q'),
        await asker.queueSize('q'),
        await asker.offer('q', 'b'),
      ];
      sink.hasFailed = true;
      const before = await asker.get('m', 'k');
      assert.deepEqual([before.outcome, before.value], [FOUND, 'v']);
      assert.equal((await asker.size('m')).outcome, COUNTED);
      sink.upToElse = -1;
      sink.upTo.clear();
      for (const { outcome, partition, sequence, value, version, hold } of await ask()) {
        assert.equal(outcome, UNKNOWN);
        assert.deepEqual([partition, sequence, value, hold], [NO_PARTITION, 0, '', NO_HOLD]);
        assert.ok(version.isNone);
      }
      await asker.offer('empty', 'c');
      await quiet();
      assert.equal(waiting.keeper.seen?.outcome, UNKNOWN);
      sink.upTo.set(partition, Number.POSITIVE_INFINITY);
      assert.notEqual((await asker.get('m', 'k')).outcome, UNKNOWN);
      if (engine.partitionCount > 1) {
        assert.equal((await asker.get('m', other)).outcome, UNKNOWN);
        assert.equal((await asker.size('m')).outcome, UNKNOWN);
      }
      sink.hasFailed = false;
      sink.upTo.clear();
      assert.equal((await asker.get('m', other)).outcome, FOUND);
    });

    it('makes a list UNKNOWN, which passes only what cannot be lost', async () => {
      const sink = new DelayingSink();
      const { engine, asker } = await opened(sink);
      for (let index = 0; index < 50; index++) await asker.set('m', `${index}`, 'v');
      sink.hasFailed = true;
      assert.equal((await asker.allEntries('m')).length, 50);
      assert.equal((await asker.allNames('map')).length, 1);
      const { partition } = await asker.get('m', '7');
      sink.upTo.set(partition, engine.sequences()[partition]! - 1);
      const { entries, seen } = await asker.entries('m');
      assert.deepEqual([seen?.outcome, seen?.place], [UNKNOWN, '']);
      assert.ok(entries.every((entry) => entry.partition !== partition));
      for (const { names, seen: result } of [
        await asker.names('map'),
        await asker.names('map', { prefix: 'none' }),
      ]) {
        assert.deepEqual([result?.outcome, names], [UNKNOWN, []]);
      }
      sink.hasFailed = false;
      assert.equal((await asker.allEntries('m')).length, 50);
      assert.equal((await asker.allNames('map')).length, 1);
    });

    it('does not change the results of refused changes', async () => {
      const sink = new DelayingSink(0);
      const refusing = new RefusingSink();
      const { engine, asker } = await opened(sink, refusing);
      await asker.set('m', 'k', 'v');
      sink.hasFailed = true;
      refusing.veto = DISK_FAILED;
      assert.equal((await asker.set('m', 'k', 'w')).outcome, REFUSED);
      assert.equal((await asker.clear('m')).outcome, REFUSED);
      assert.equal((await asker.acknowledge(1, true)).outcome, LOST);
      await engine.close();
      const { outcome } = await asker.get('m', 'k');
      assert.equal(outcome, UNREACHABLE);
    });

    it('makes the result of a take UNKNOWN, and its item returns', async () => {
      const sink = new DelayingSink(0);
      const recording = new RecordingSink();
      const { quiet, asker } = await opened(recording, sink);
      await asker.offer('q', 'a');
      sink.hasFailed = true;
      const taken = await asker.take('q');
      assert.deepEqual([taken.outcome, taken.hold], [UNKNOWN, NO_HOLD]);
      const waiting = asker.wait('q', 1000);
      await quiet();
      assert.equal(waiting.keeper.seen?.outcome, UNKNOWN);
      sink.hasFailed = false;
      assert.equal((await asker.queueSize('q')).count, 1);
      assert.equal((await asker.take('q')).value, 'a');
      assert.deepEqual(
        recording.records.map(({ operation }) => operation),
        [OFFER, REMOVE, RETURN, REMOVE, RETURN, REMOVE],
      );
    });
  });

  describe(`${name}: items whose result is delayed`, () => {
    /** Makes a queue of a, b and c whose takes must wait. */
    async function taken() {
      const sink = new RecordingSink();
      const refusing = new RefusingSink();
      const subject = await opened(sink, refusing, new DelayingSink(0));
      for (const item of ['a', 'b', 'c']) await subject.asker.offer('q', item, 'a/type');
      return { ...subject, sink, refusing };
    }

    it('are neither visible nor delivered again, and are removed once they are delivered', async () => {
      const { engine, asker, sink } = await taken();
      const { hold, value, sequence } = await asker.take('q');
      assert.equal(value, 'a');
      assert.notEqual(hold, NO_HOLD);
      assert.equal(sequence, sink.records.at(-1)?.sequence);
      assert.equal((await asker.queueSize('q')).count, 2);
      assert.equal((await asker.peek('q')).value, 'b');
      assert.equal(visited(engine).length, 2);
      assert.equal(engine.isStored(sink.records[0]!), false);
      const ended = await asker.acknowledge(hold, true);
      assert.deepEqual([ended.outcome, ended.partition], [APPLIED, NO_PARTITION]);
      assert.equal(visited(engine).length, 2);
      assert.equal(sink.records.length, 4);
      assert.equal((await asker.acknowledge(hold, true)).outcome, LOST);
    });

    it('return to their old places permanently when their clients have disconnected', async () => {
      const { engine, asker, sink, quiet } = await taken();
      const first = await asker.take('q');
      const second = await asker.take('q');
      const last = await asker.take('q');
      const { keeper } = asker.wait('q', 1000);
      const returned = await asker.acknowledge(second.hold, false);
      assert.equal(returned.sequence, sink.records.at(-1)?.sequence);
      await quiet();
      assert.equal(keeper.seen?.value, 'b');
      assert.equal(sink.records.at(-1)?.operation, REMOVE);
      await asker.acknowledge(keeper.seen.hold, false);
      await asker.acknowledge(last.hold, true);
      await asker.acknowledge(first.hold, false);
      const back = sink.records.filter(({ operation }) => operation === RETURN);
      assert.deepEqual(
        back.map(({ value }) => value.toBuffer().toString()),
        ['b', 'b', 'a'],
      );
      const copy = await replayed(sink.records);
      assert.deepEqual(contentOf(copy), contentOf(engine));
      assert.deepEqual(copy.sequences(), engine.sequences());
      for (const each of [asker, new Asker(copy)]) {
        await each.offer('q', 'd');
        for (const value of ['a', 'b', 'd']) {
          const found = await each.poll('q');
          assert.equal(found.value, value);
          assert.equal(found.contentType, value === 'd' ? '' : 'a/type');
        }
        assert.equal((await each.poll('q')).outcome, ABSENT);
      }
    });

    it('return as soon as a sink admits their return, and then the result arrives', async () => {
      const { engine, asker, refusing, advance } = await taken();
      const first = await asker.take('q');
      const second = await asker.take('q');
      refusing.veto = DISK_FULL;
      const returned = [first, second].map(({ hold }) => {
        const keeper = new Keeper();
        engine.acknowledge(hold, false, keeper);
        return keeper;
      });
      await advance(5000);
      assert.equal((await asker.queueSize('q')).count, 1);
      assert.ok(returned.every(({ isAnswered }) => !isAnswered));
      for (const isDelivered of [true, false]) {
        assert.equal((await asker.acknowledge(first.hold, isDelivered)).outcome, LOST);
      }
      refusing.veto = undefined;
      await advance(5000);
      assert.ok(returned.every(({ seen }) => seen?.outcome === APPLIED));
      for (const item of 'abc') assert.equal((await asker.poll('q')).value, item);
    });

    it('that cannot return are UNREACHABLE when the engine is closed', async () => {
      const { engine, asker, refusing, advance } = await taken();
      const { hold } = await asker.take('q');
      refusing.veto = DISK_FULL;
      const keeper = new Keeper();
      engine.acknowledge(hold, false, keeper);
      await engine.close();
      assert.equal(keeper.seen?.outcome, UNREACHABLE);
      await advance(5000);
    });
  });

  describe(`${name}: items that are removed without a take`, () => {
    const remove = async (engine: StoredEngine, queue: string, end: number) => {
      const keeper = new Keeper();
      engine.removeItems(span(queue), end, keeper);
      return await keeper.answered;
    };

    it('are the first ones with lower numbers, and each removal is recorded', async () => {
      const sink = new RecordingSink();
      const { engine, asker } = await opened(sink);
      assert.equal(engine.queueEnd(span('q')), 0);
      assert.deepEqual((await remove(engine, 'q', 9)).count, 0);
      const offers = REMOVED_ITEMS_MAX + 3;
      for (let index = 0; index < offers; index++) await asker.offer('q', `${index}`, 'a/type');
      const end = engine.queueEnd(span('q'));
      await asker.offer('q', 'later');
      const first = await remove(engine, 'q', end);
      assert.deepEqual([first.outcome, first.count], [COUNTED, REMOVED_ITEMS_MAX]);
      const { partition, sequence } = first;
      assert.equal(sequence, engine.sequences()[partition]);
      assert.equal((await remove(engine, 'q', end)).count, 3);
      assert.equal((await remove(engine, 'q', end)).count, 0);
      assert.equal((await asker.peek('q')).value, 'later');
      const removals = sink.records.filter(({ operation }) => operation === REMOVE);
      assert.equal(removals.length, offers);
      const again = await replayed(sink.records);
      assert.deepEqual(contentOf(again), contentOf(engine));
      assert.equal((await remove(engine, 'q', end + 1)).count, 1);
      assert.equal(engine.queueEnd(span('q')), 0);
    });

    it('are neither held ones nor owed to waiting takes; a returned one is the first', async () => {
      const { engine, asker, quiet } = await opened(new DelayingSink(0));
      for (const item of ['a', 'b', 'c']) await asker.offer('q', item);
      const [held, returned] = [await asker.take('q'), await asker.take('q')];
      await asker.acknowledge(returned.hold, false);
      const end = engine.queueEnd(span('q'));
      assert.equal((await remove(engine, 'q', end - 1)).count, 1);
      assert.equal((await asker.peek('q')).value, 'c');
      assert.equal((await remove(engine, 'q', end)).count, 1);
      await asker.acknowledge(held.hold, false);
      assert.equal((await asker.peek('q')).value, 'a');
      const waiting = asker.wait('owed', 1000);
      await asker.offer('owed', 'd');
      await asker.offer('owed', 'e');
      assert.equal((await remove(engine, 'owed', Number.POSITIVE_INFINITY)).count, 1);
      await quiet();
      assert.equal(waiting.keeper.seen?.value, 'd');
    });

    it('remain if a sink refuses, from the first refused one on', async () => {
      let left = Number.POSITIVE_INFINITY;
      const refusing = new RefusingSink();
      const counting = new RecordingSink(({ operation }) => {
        if (operation === REMOVE && --left === 0) refusing.veto = DISK_FULL;
      });
      const { engine, asker } = await opened(refusing, counting);
      for (const item of ['a', 'b', 'c']) await asker.offer('q', item);
      left = 2;
      assert.equal((await remove(engine, 'q', engine.queueEnd(span('q')))).count, 2);
      const { outcome, veto } = await remove(engine, 'q', engine.queueEnd(span('q')));
      assert.deepEqual([outcome, veto], [REFUSED, DISK_FULL]);
      refusing.veto = undefined;
      assert.equal((await asker.poll('q')).value, 'c');
      await engine.close();
      const closed = await remove(engine, 'q', 9);
      assert.equal(closed.outcome, UNREACHABLE);
    });

    it('make room, and so do takes: awaitRoom reports the next one once', async () => {
      const { engine, asker, quiet } = await opened();
      let times = 0;
      const awaitRoom = (queue: string) => engine.awaitRoom(span(queue), () => times++);
      awaitRoom('none');
      assert.equal(times, 0);
      await quiet();
      assert.equal(times, 1);
      for (const item of ['a', 'b', 'c']) await asker.offer('small', item);
      assert.equal((await asker.offer('small', 'd')).outcome, QUEUE_FULL);
      awaitRoom('small');
      awaitRoom('small');
      await quiet();
      assert.equal(times, 1);
      await asker.take('small');
      await asker.take('small');
      assert.equal(times, 1);
      await quiet();
      assert.equal(times, 2);
      awaitRoom('small');
      assert.equal((await remove(engine, 'small', engine.queueEnd(span('small')))).count, 1);
      await quiet();
      assert.equal(times, 3);
      await asker.offer('small', 'e');
      awaitRoom('small');
      await engine.close();
      awaitRoom('small');
      await quiet();
      assert.equal(times, 3);
    });
  });

  describe(`${name}: replay`, () => {
    it('restores maps and queues, from the records or from a visit, and notifies sinks', async () => {
      const sink = new RecordingSink();
      const { engine, asker } = await opened(sink, new DelayingSink(0));
      await mixedWork(asker);
      const heard = new RecordingSink();
      const copies = [await open([heard]), await open([])] as const;
      for (const [index, source] of [sink.records, visited(engine, 3)].entries()) {
        const copy = copies[index]!.engine;
        const replay = copy.replay();
        for (let round = 0; round < 2; round++) {
          for (const mutation of source) {
            mutation.origin = FROM_REPLAY;
            assert.equal(replay.apply(mutation), APPLIED);
          }
        }
        engine.sequences().forEach((sequence, partition) => {
          replay.restoreSequence(partition, sequence);
        });
        replay.end();
        assert.deepEqual(contentOf(copy), contentOf(engine));
        assert.deepEqual(copy.sequences(), engine.sequences());
        const again = new Asker(copy);
        assert.equal((await again.size('m')).count, (await asker.size('m')).count);
        assert.equal((await again.size('gone')).count, 0);
        const mine = await asker.queueSize('q');
        const its = await again.queueSize('q');
        assert.equal(its.count, mine.count);
      }
      assert.ok(heard.records.length >= sink.records.length);
      assert.ok(heard.records.every(({ origin }) => origin === FROM_REPLAY));
      await comparePolls(asker, new Asker(copies[0].engine), new Asker(copies[1].engine));
    });

    it('a returned item is stored as its return records it, whatever else is recorded about it', async () => {
      const sink = new RecordingSink();
      const { engine, asker } = await opened(sink, new DelayingSink(0));
      await asker.offer('q', 'a', 'a/type');
      await asker.offer('q', 'b');
      await asker.acknowledge((await asker.take('q')).hold, false);
      const [offer, other, removal, back] = sink.records as Four;
      assert.deepEqual(
        [offer, other, back].map((mutation) => engine.isStored(mutation)),
        [false, true, true],
      );
      for (const known of [
        [offer, other, removal, back],
        [offer, other, back],
        [other, back],
        [offer, other, back, back],
      ]) {
        const copy = await replayed(known);
        assert.deepEqual(contentOf(copy), contentOf(engine));
      }
    });

    it('versions and items continue after the restored ones', async () => {
      const sink = new RecordingSink();
      const { asker } = await opened(sink);
      for (let index = 0; index < 10; index++) await asker.offer('q', `${index}`);
      await asker.set('m', 'k', 'v');
      const heard = new RecordingSink();
      const copy = await replayed(sink.records, [heard]);
      const before = heard.records.at(-1)!;
      const again = new Asker(copy);
      await again.set('m', 'k', 'w');
      await again.offer('q', 'x');
      for (let index = 0; index < 11; index++) await again.poll('q');
      await again.offer('q', 'y');
      const items = heard.records.filter(({ operation }) => operation === OFFER);
      assert.equal(new Set(items.map(({ item }) => item)).size, items.length);
      assert.ok(heard.records.at(-1)!.version.isAfter(before.version));
    });

    it('of two changes with one version the same one wins, in either order', async () => {
      const sink = new RecordingSink();
      const { asker } = await opened(sink);
      await asker.set('m', 'k', 'less');
      await asker.set('m', 'k', 'more');
      await asker.delete('m', 'k');
      const [less, more, removal] = sink.records as Three;
      for (const change of [less, more, removal]) {
        change.version.copyFrom(removal.version);
      }
      for (const [changes, value] of [
        [[less, more], 'more'],
        [[less, removal], ''],
        [[more, removal], ''],
      ] as const) {
        for (const ordered of [changes, [...changes].reverse()]) {
          const copy = await replayed(ordered);
          assert.equal((await new Asker(copy).get('m', 'k')).value, value);
        }
      }
    });

    it('entries ended by a clear remain ended, whichever partition is first', async () => {
      const sink = new RecordingSink();
      const { engine, asker } = await opened(sink);
      for (let index = 0; index < 50; index++) await asker.set('m', `${index}`, 'old');
      await asker.clear('m');
      for (let index = 0; index < 50; index += 5) await asker.set('m', `${index}`, 'new');
      const orders = [
        (mutation: Mutation) => mutation.partition,
        (mutation: Mutation) => -mutation.partition,
        (mutation: Mutation) => (mutation.partition * 7919) % 101,
      ];
      for (const order of orders) {
        const copy = await replayed([...sink.records].sort((a, b) => order(a) - order(b)));
        assert.deepEqual(contentOf(copy), contentOf(engine));
        assert.equal((await new Asker(copy).size('m')).count, 10);
      }
    });
  });

  describe(`${name}: visit`, () => {
    it('passes entries and items with all their fields, in steps', async () => {
      const { engine, advance, asker } = await opened();
      await asker.set('m', 'k', 'v', 'a/type', { timeToLiveMs: 5000, maxIdleSeconds: 9 });
      await asker.set('m', 'over', 'v', '', { timeToLiveMs: 10, maxIdleSeconds: 0 });
      await asker.set('cleared', 'k', 'v');
      await asker.clear('cleared');
      await advance(20);
      for (const item of ['a', 'b', 'c', 'd']) await asker.offer('q', item, 'b/type');
      await asker.poll('q');
      const { hold } = await asker.take('q');
      assert.equal(hold, NO_HOLD);
      for (const budget of [1, 2, 100]) {
        const stored = visited(engine, budget);
        const entries = stored.filter(({ operation }) => operation === SET);
        assert.equal(entries.length, 1);
        assert.equal(entries[0]?.maxIdleSeconds, 9);
        assert.ok((entries[0]?.expiryMs ?? 0) > 0);
        assert.match(describeStored(entries[0]!), /^m\/k = v \(a\/type\)/);
        const items = stored.filter(({ operation }) => operation === OFFER);
        assert.deepEqual(
          items.map(({ value }) => value.toBuffer().toString()),
          ['c', 'd'],
        );
      }
    });
  });
}

/** Returns a key with an entry in another partition, if there is one. */
async function keyElsewhere(asker: Asker, partition: number): Promise<string> {
  for (let index = 0; index < 100; index++) {
    if ((await asker.set('m', `${index}`, 'v')).partition !== partition) return `${index}`;
  }
  return '0';
}

/** Runs some operations of each kind on maps `m`, `n` and `gone`, and queues `q` and `empty`. */
async function mixedWork(asker: Asker): Promise<void> {
  for (let index = 0; index < 300; index++) {
    await asker.set(index % 3 === 0 ? 'm' : 'n', `k${index % 90}`, `v${index}`, `t/${index % 4}`);
    if (index % 7 === 0) await asker.delete('m', `k${(index * 5) % 90}`);
    if (index === 120) await asker.clear('n');
    await asker.set('gone', 'k', 'v');
    if (index % 2 === 0) await asker.delete('gone', 'k');
    await asker.offer('q', `item ${index}`, 't/0');
    await asker.offer('empty', `item ${index}`);
    await asker.poll('empty');
    if (index % 3 !== 0) await asker.poll('q');
  }
  await asker.clear('gone');
  // Taken items leave gaps after the returned ones.
  const holds: number[] = [];
  for (let count = 0; count < 20; count++) holds.push((await asker.take('q')).hold);
  for (const [index, hold] of holds.entries()) await asker.acknowledge(hold, index % 3 === 1);
}

async function comparePolls(...askers: Asker[]): Promise<void> {
  for (;;) {
    const answers = await Promise.all(askers.map((asker) => asker.poll('q')));
    const [first] = answers;
    for (const answer of answers) assert.equal(answer.value, first?.value);
    if (first?.outcome !== FOUND) return;
  }
}
