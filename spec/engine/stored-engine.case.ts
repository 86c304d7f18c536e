/**
 * The contract of src/engine/stored-engine.ts and of src/engine/mutation-sink.ts as tests, for any
 * engine that keeps its data itself.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ABSENT,
  APPLIED,
  EVERY_PARTITION,
  FOUND,
  QUEUE_FULL,
  REFUSED,
} from '../../src/engine/engine.ts';
import {
  CLEAR,
  DELETE,
  EXPIRE,
  FROM_CLIENT,
  FROM_REPLAY,
  MADE,
  type Mutation,
  OFFER,
  REMOVE,
  RETURN,
  SET,
} from '../../src/engine/mutation.ts';
import { DISK_FULL, type MutationSink } from '../../src/engine/mutation-sink.ts';
import { type StoredEngine, VisitCursor } from '../../src/engine/stored-engine.ts';
import { Asker } from './answers.ts';
import { copyOf, HoldingSink, RecordingSink, RefusingSink } from './sinks.ts';
import { SMALL_CAPACITY } from './subject.ts';

export interface StoredSubject {
  readonly engine: StoredEngine;
  /** Ends the turn, and waits until nothing is under way. */
  quiet(): Promise<void>;
  /** Lets time pass. */
  advance(ms: number): Promise<void>;
}

export type OpenStoredSubject = (sinks: readonly MutationSink[]) => Promise<StoredSubject>;

/** Everything that is stored, in the order given, in steps of `budget`. */
export function visited(engine: StoredEngine, budget = 1000): Mutation[] {
  const all: Mutation[] = [];
  for (let partition = 0; partition < engine.partitionCount; partition++) {
    const cursor = new VisitCursor();
    const visitor = { onStored: (stored: Mutation) => all.push(copyOf(stored)) };
    while (engine.visit(partition, cursor, budget, visitor));
  }
  return all;
}

/** What is stored as texts in a fixed order: where it is, its value, content type and version. */
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
  describe(`${name}: sinks`, () => {
    it('are told everything that is needed to make the change again', async () => {
      const sink = new RecordingSink();
      const { engine, advance } = await open([sink]);
      const asker = new Asker(engine);
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
      await asker.offer('q', 'j');
      const { hold } = await asker.take('q');
      await asker.settle(hold, true);
      const { records } = sink;
      const operations = [SET, SET, SET, DELETE, EXPIRE, SET, CLEAR, OFFER, REMOVE, OFFER, REMOVE];
      assert.deepEqual(
        records.map(({ operation }) => operation),
        operations,
      );
      const [set, again, other, deletion, expiry, reborn, clear, offer, removal, second, last] =
        records as [
          Mutation,
          Mutation,
          Mutation,
          Mutation,
          Mutation,
          Mutation,
          Mutation,
          Mutation,
          Mutation,
          Mutation,
          Mutation,
        ];
      assert.equal(set.name.toBuffer().toString(), 'm');
      assert.equal(set.key.toBuffer().toString(), 'k');
      assert.equal(set.value.toBuffer().toString(), 'v');
      assert.equal(set.contentType.toBuffer().toString(), 'a/type');
      assert.deepEqual([set.partition, set.sequence], [first.partition, first.sequence]);
      assert.deepEqual([set.origin, set.outcome], [FROM_CLIENT, MADE]);
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
      engine.close();
    });

    it('a refusal changes nothing, says its code, and is told to those asked before', async () => {
      const recording = new RecordingSink();
      const refusing = new RefusingSink();
      const never = new RecordingSink();
      const { engine, advance, quiet } = await open([recording, refusing, never]);
      const asker = new Asker(engine);
      await asker.set('m', 'k', 'v');
      await asker.set('m', 'short', 'v', '', { timeToLiveMs: 100, maxIdleSeconds: 0 });
      await asker.offer('q', 'a');
      await asker.offer('q', 'b');
      const { hold } = await asker.take('q');
      const before = contentOf(engine);
      const sequences = engine.sequences();
      const recorded = recording.records.length;
      refusing.refusal = DISK_FULL;
      const waiting = asker.wait('q', 1000);
      await quiet();
      assert.equal(waiting.keeper.seen?.value, 'b');
      const answers = [
        await asker.set('m', 'k', 'w'),
        await asker.set('new', 'k', 'w', 'new/type'),
        await asker.delete('m', 'k'),
        await asker.clear('m'),
        await asker.offer('q', 'c'),
        await asker.offer('new', 'c'),
        await asker.settle(hold, true),
        await asker.poll('q'),
        await asker.settle(waiting.keeper.seen?.hold ?? 0, true),
      ];
      for (const answer of answers) {
        assert.equal(answer.outcome, REFUSED);
        assert.equal(answer.refusal, DISK_FULL);
      }
      assert.equal(recording.abandonedCount, answers.length);
      assert.deepEqual(engine.sequences(), sequences);
      assert.deepEqual(contentOf(engine), before);
      await advance(1000);
      assert.equal((await asker.get('m', 'short')).value, '');
      assert.equal(recording.records.length, recorded);
      assert.equal(never.records.length, recorded);
      refusing.refusal = undefined;
      assert.equal((await asker.delete('new', 'k')).outcome, APPLIED);
      assert.equal((await asker.poll('q')).value, 'a');
      assert.equal((await asker.poll('q')).value, 'b');
      assert.equal((await asker.get('m', 'k')).value, 'v');
      engine.close();
    });

    it('what is held keeps back what depends on it, and nothing else', async () => {
      const sink = new HoldingSink();
      const { engine } = await open([new RecordingSink(), sink]);
      const asker = new Asker(engine);
      const before = await asker.set('m', 'k', 'v');
      let other = await asker.set('m', '0', 'v');
      for (let index = 1; other.partition === before.partition && index < 1000; index++) {
        if (engine.partitionCount === 1) break;
        other = await asker.set('m', `${index}`, 'v');
      }
      sink.upTo.set(before.partition, engine.sequences()[before.partition]!);
      const write = await asker.set('m', 'k', 'w');
      const read = await asker.get('m', 'k');
      assert.ok(!engine.holds(before.partition, before.sequence));
      assert.ok(engine.holds(write.partition, write.sequence));
      assert.equal(read.value, 'w');
      assert.ok(engine.holds(read.partition, read.sequence));
      if (engine.partitionCount > 1) assert.ok(!engine.holds(other.partition, other.sequence));
      sink.upTo.set(before.partition, write.sequence);
      assert.ok(!engine.holds(read.partition, read.sequence));
      await asker.clear('m');
      assert.ok(engine.holds(before.partition, engine.sequences()[before.partition]!));
      engine.close();
    });
  });

  describe(`${name}: items whose answer waits`, () => {
    /** A queue of a, b, c, whose polls have to wait. */
    async function polled() {
      const sink = new RecordingSink();
      const refusing = new RefusingSink();
      const subject = await open([sink, refusing, new HoldingSink(0)]);
      const asker = new Asker(subject.engine);
      for (const item of ['a', 'b', 'c']) await asker.offer('q', item, 'a/type');
      return { ...subject, asker, sink, refusing };
    }

    /** What an engine has that the records were replayed into. */
    async function replayed(sink: RecordingSink) {
      const { engine } = await open([]);
      const replay = engine.replay();
      for (const record of sink.records) assert.equal(replay.apply(record), APPLIED);
      replay.end();
      return engine;
    }

    it('are neither seen nor given again, and gone once they are delivered', async () => {
      const { engine, asker, sink } = await polled();
      const { hold, value } = await asker.poll('q');
      assert.equal(value, 'a');
      assert.notEqual(hold, 0);
      assert.equal((await asker.queueSize('q')).count, 2);
      assert.equal((await asker.peek('q')).value, 'b');
      assert.equal(visited(engine).length, 2);
      engine.conclude(hold, true);
      assert.equal(visited(engine).length, 2);
      assert.equal(sink.records.length, 4);
      assert.throws(() => engine.conclude(hold, true), RangeError);
      engine.close();
    });

    it('come back to their old places when their clients have gone, for good', async () => {
      const { engine, asker, sink, quiet } = await polled();
      const first = await asker.poll('q');
      const { hold } = await asker.take('q');
      const second = await asker.settle(hold, true);
      const last = await asker.poll('q');
      const { keeper } = asker.wait('q', 1000);
      engine.conclude(second.hold, false);
      await quiet();
      assert.equal(keeper.seen?.value, 'b');
      engine.conclude((await asker.settle(keeper.seen.hold, true)).hold, false);
      engine.conclude(last.hold, true);
      engine.conclude(first.hold, false);
      const back = sink.records.filter(({ operation }) => operation === RETURN);
      assert.deepEqual(
        back.map(({ value }) => value.toBuffer().toString()),
        ['b', 'b', 'a'],
      );
      const copy = await replayed(sink);
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
      for (const each of [engine, copy]) each.close();
    });

    it('come back as soon as a sink takes it', async () => {
      const { engine, asker, refusing, advance } = await polled();
      const { hold } = await asker.poll('q');
      refusing.refusal = DISK_FULL;
      engine.conclude(hold, false);
      await advance(5000);
      assert.equal((await asker.queueSize('q')).count, 2);
      refusing.refusal = undefined;
      await advance(5000);
      assert.equal((await asker.poll('q')).value, 'a');
      engine.close();
    });

    it('leave their places in a queue with max-size to others, and come back beyond it', async () => {
      const { engine, asker } = await polled();
      for (const item of ['1', '2', '3']) await asker.offer('small', item);
      assert.equal((await asker.offer('small', 'more')).outcome, QUEUE_FULL);
      const { hold } = await asker.poll('small');
      assert.equal((await asker.offer('small', '4')).outcome, APPLIED);
      engine.conclude(hold, false);
      assert.equal((await asker.queueSize('small')).count, SMALL_CAPACITY + 1);
      assert.equal((await asker.offer('small', 'more')).outcome, QUEUE_FULL);
      assert.equal((await asker.poll('small')).value, '1');
      engine.close();
    });
  });

  describe(`${name}: replay`, () => {
    it('makes the same maps and queues, from the records or from a visit, and sinks hear of it', async () => {
      const sink = new RecordingSink();
      const { engine } = await open([sink]);
      const asker = new Asker(engine);
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
        const [mine, its] = [await asker.queueSize('q'), await again.queueSize('q')];
        assert.equal(its.count, mine.count);
      }
      assert.ok(heard.records.length >= sink.records.length);
      assert.ok(heard.records.every(({ origin }) => origin === FROM_REPLAY));
      await comparePolls(asker, new Asker(copies[0].engine), new Asker(copies[1].engine));
      for (const each of [engine, copies[0].engine, copies[1].engine]) each.close();
    });

    it('makes the same of many together as of one after the other', async () => {
      const sink = new RecordingSink();
      const { engine } = await open([sink]);
      const asker = new Asker(engine);
      for (let round = 0; round < 3; round++) {
        for (let index = 0; index < 100; index++) await asker.set('m', `${index % 70}`, `${round}`);
        await mixedWork(asker);
        await asker.delete('m', `${round}`);
        await asker.clear('n');
        for (let index = 0; index < 10; index++) await asker.set('n', `${index}`, `${round}`);
      }
      for (const together of [1, 7, sink.records.length]) {
        const copy = (await open([])).engine;
        const replay = copy.replay();
        for (let from = 0; from < sink.records.length; from += together) {
          const some = sink.records.slice(from, from + together);
          for (const mutation of some) mutation.origin = FROM_REPLAY;
          assert.equal(replay.applyAll(some, some.length), some.length);
        }
        replay.end();
        assert.deepEqual(contentOf(copy), contentOf(engine));
        assert.deepEqual(copy.sequences(), engine.sequences());
        copy.close();
      }
      engine.close();
    });

    it('versions and items go on behind those restored', async () => {
      const sink = new RecordingSink();
      const { engine } = await open([sink]);
      const asker = new Asker(engine);
      for (let index = 0; index < 10; index++) await asker.offer('q', `${index}`);
      await asker.set('m', 'k', 'v');
      const heard = new RecordingSink();
      const copy = (await open([heard])).engine;
      const replay = copy.replay();
      for (const mutation of sink.records) replay.apply(mutation);
      replay.end();
      const before = heard.records.at(-1)!;
      const again = new Asker(copy);
      await again.set('m', 'k', 'w');
      await again.offer('q', 'x');
      for (let index = 0; index < 11; index++) await again.poll('q');
      await again.offer('q', 'y');
      const items = heard.records.filter(({ operation }) => operation === OFFER);
      assert.equal(new Set(items.map(({ item }) => item)).size, items.length);
      assert.ok(heard.records.at(-1)!.version.isAfter(before.version));
      engine.close();
      copy.close();
    });

    it('what a clear ended stays ended, whichever partition comes first', async () => {
      const sink = new RecordingSink();
      const { engine } = await open([sink]);
      const asker = new Asker(engine);
      for (let index = 0; index < 50; index++) await asker.set('m', `${index}`, 'old');
      await asker.clear('m');
      for (let index = 0; index < 50; index += 5) await asker.set('m', `${index}`, 'new');
      const orders = [
        (mutation: Mutation) => mutation.partition,
        (mutation: Mutation) => -mutation.partition,
        (mutation: Mutation) => (mutation.partition * 7919) % 101,
      ];
      for (const order of orders) {
        const copy = (await open([])).engine;
        const replay = copy.replay();
        const sorted = [...sink.records].sort((a, b) => order(a) - order(b));
        for (const mutation of sorted) assert.equal(replay.apply(mutation), APPLIED);
        replay.end();
        assert.deepEqual(contentOf(copy), contentOf(engine));
        assert.equal((await new Asker(copy).size('m')).count, 10);
        copy.close();
      }
      engine.close();
    });
  });

  describe(`${name}: visit`, () => {
    it('gives entries and items, with what they were written with, in steps', async () => {
      const { engine, advance } = await open([]);
      const asker = new Asker(engine);
      await asker.set('m', 'k', 'v', 'a/type', { timeToLiveMs: 5000, maxIdleSeconds: 9 });
      await asker.set('m', 'over', 'v', '', { timeToLiveMs: 10, maxIdleSeconds: 0 });
      await asker.set('cleared', 'k', 'v');
      await asker.clear('cleared');
      await advance(20);
      for (const item of ['a', 'b', 'c', 'd']) await asker.offer('q', item, 'b/type');
      await asker.poll('q');
      const { hold } = await asker.take('q');
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
          ['b', 'c', 'd'],
        );
      }
      await asker.settle(hold, true);
      engine.close();
    });
  });
}

/** Some of everything, on maps `m`, `n` and `gone`, and queues `q` and `empty`. */
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
  // Items that are taken leave gaps behind those that return.
  const holds: number[] = [];
  for (let count = 0; count < 20; count++) holds.push((await asker.take('q')).hold);
  for (const [index, hold] of holds.entries()) await asker.settle(hold, index % 3 === 1);
}

async function comparePolls(...askers: Asker[]): Promise<void> {
  for (;;) {
    const answers = await Promise.all(askers.map((asker) => asker.poll('q')));
    const [first] = answers;
    for (const answer of answers) assert.equal(answer.value, first?.value);
    if (first?.outcome !== FOUND) return;
  }
}
