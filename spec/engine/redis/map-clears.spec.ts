/** Covers src/engine/redis/map-clears.ts. Clears of maps whose changes are marked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APPLIED, KNOWN, OUTDATED, UNKNOWN, UNREACHABLE } from '../../../src/engine/engine.ts';
import { CLEAR } from '../../../src/engine/mutation.ts';
import { END_CLEAR, NOTE_CLEAR } from '../../../src/engine/redis/marked-scripts.ts';
import { CLEAR_MAP } from '../../../src/engine/redis/merge-scripts.ts';
import { numberOf, setVersion } from '../../../src/engine/redis/partition-clock.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { Version } from '../../../src/engine/version.ts';
import { shaOf } from '../../world/fake-scripts.ts';
import { CUT } from '../../world/fake-server.ts';
import { changeOf } from '../changes.ts';
import { allWaiting, publisherOf, referencesTo } from '../marked.ts';
import { span } from '../results.ts';
import { joinedMember } from './joined-member.ts';
import { hashFields, markingMembers, WALL_MS, waitingTexts } from './marking-members.ts';
import { eventsOf, sectionOf } from './merge-sections.ts';

const PUBLISHER = publisherOf('p');
const PARTITIONS = { partitionCount: 7 };
const [CLEARING, NOTING, ENDING] = [CLEAR_MAP, NOTE_CLEAR, END_CLEAR].map(({ source }) =>
  shaOf(source),
);
const SOURCE = Buffer.alloc(16, 's');

/** A clear of the map `m` that another cluster has made, a second after the start. */
function clearFrom(path: Buffer, micros: number) {
  const version = setVersion(new Version(), (WALL_MS + 1000) * 1000 + micros);
  const change = changeOf(CLEAR, { version });
  change.path.copyFrom(span(path));
  return sectionOf(eventsOf([change]), { source: SOURCE, lane: micros });
}

test('a clear is one event, and has one version in all partitions', async () => {
  await markingMembers(async ({ world, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    let last = new Version();
    for (let index = 0; index < 100; index++) {
      ({ version: last } = await asker.set('m', `k${index}`, 'x'));
    }
    await asker.set('n', 'a', 'other');
    await asker.delete('m', 'k0');
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    assert.equal((await asker.size('m')).count, 0);
    assert.equal((await asker.size('n')).count, 1);
    const after = await asker.set('m', 'k1', 'again');
    const texts = await waitingTexts(engine);
    const expected = ['clear m', 'delete k0', 'delete k1, set k1 again', 'set a other'];
    assert.deepEqual(texts.sort(), expected);
    const waiting = await allWaiting(engine, PUBLISHER);
    const { removal } = waiting.find((each) => each.removal?.operation === CLEAR)!;
    assert.ok(removal!.version.isAfter(last));
    assert.ok(after.version.isAfter(removal!.version));
    assert.equal(numberOf(removal!.version) - numberOf(last) > 40_000, true);
    // A clear of a map without entries changes nothing.
    await asker.delete('m', 'k1');
    await world.sleep(1000);
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    const again = await allWaiting(engine, PUBLISHER);
    const clears = again.filter((each) => each.removal?.operation === CLEAR);
    assert.deepEqual(
      clears.map((each) => each.removal!.version.is(removal!.version)),
      [true],
    );
  }, PARTITIONS);
});

test('a partition whose clock has passed the clear keeps its later entries', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    for (let index = 0; index < 2000; index++) await asker.set('m', `k${index}`, 'x');
    const [clock = ''] = server.data.names.filter((name) => name.endsWith('/t:'));
    const [hash = ''] = server.data.names.filter((name) => name.endsWith('/m:m'));
    let steps = 0;
    server.script = (words) => {
      if (words[1] !== CLEARING || steps++ > 0) return undefined;
      // Another member, whose clock is ahead, makes changes just before.
      const number = (WALL_MS + 900_000) * 1000;
      const version = setVersion(new Version(), number);
      const header = Buffer.alloc(9);
      header[0] = 16;
      header.writeInt32BE(version.high, 1);
      header.writeInt32BE(version.low, 5);
      server.run('SET', clock, `${number}`);
      for (const key of ['k7', 'k1999'])
        server.run('HSET', hash, key, `${header.toString('latin1')}later`);
      return undefined;
    };
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    assert.ok(steps > 2);
    assert.deepEqual(hashFields(server, 'm').sort(), ['k1999', 'k7']);
    assert.deepEqual((await waitingTexts(engine)).sort(), [
      'clear m',
      'delete k1999, set k1999 later',
      'delete k7, set k7 later',
    ]);
  });
});

test('a clear that fails in some partitions is done by the oldest member, and marked once', async () => {
  await markingMembers(async ({ world, server, engines, asker }) => {
    for (const engine of engines) engine.setReferences(referencesTo([PUBLISHER]));
    for (let index = 0; index < 100; index++) await asker.set('m', `k${index}`, 'x');
    let calls = 0;
    const script = (words: readonly string[]) =>
      words[1] === CLEARING && ++calls > 3 ? '-MISCONF no\r\n' : undefined;
    server.script = script;
    assert.equal((await asker.clear('m')).outcome, UNKNOWN);
    server.script = () => undefined;
    assert.deepEqual(hashFields(server, 'l'), ['m']);
    const left = (await asker.size('m')).count;
    assert.ok(left > 0 && left < 100);
    assert.ok(!(await waitingTexts(engines[0]!)).includes('clear m'));
    const kept = await asker.set('m', 'new', 'y');
    const member = await joinedMember(engines[1]!, world.clock, { uuid: 'a', leaseMs: 10_000 });
    await world.until(() => hashFields(server, 'l').length === 0);
    const remaining = hashFields(server, 'm');
    // The version of the clear was ahead, so it depends on the partition whether the set is later.
    assert.ok(remaining.length <= 1);
    if (remaining.length === 1) assert.ok((await asker.get('m', 'new')).version.is(kept.version));
    const texts = await waitingTexts(engines[0]!);
    assert.equal(texts.filter((text) => text === 'clear m').length, 1);
    await world.sleep(30_000);
    assert.deepEqual((await waitingTexts(engines[0]!)).length, texts.length);
    await member.cluster.leave();
  }, PARTITIONS);
});

test('a clear that fails in some partitions is done although no map has a reference any more', async () => {
  await markingMembers(async ({ world, server, engines, asker }) => {
    for (const engine of engines) engine.setReferences(referencesTo([PUBLISHER]));
    for (let index = 0; index < 100; index++) await asker.set('m', `k${index}`, 'x');
    server.script = (words) => (words[1] === CLEARING ? '-MISCONF no\r\n' : undefined);
    assert.equal((await asker.clear('m')).outcome, UNKNOWN);
    server.script = () => undefined;
    assert.equal((await asker.size('m')).count, 100);
    for (const engine of engines) engine.setReferences(undefined);
    const member = await joinedMember(engines[1]!, world.clock, { uuid: 'a', leaseMs: 10_000 });
    await world.until(() => hashFields(server, 'l').length === 0);
    assert.equal((await asker.size('m')).count, 0);
    await member.cluster.leave();
  }, PARTITIONS);
});

test('a clear that is not marked yet keeps its tombstone, though none may be kept', async () => {
  await markingMembers(
    async ({ world, server, engines, asker }) => {
      for (const engine of engines) engine.setReferences(referencesTo([PUBLISHER]), [PUBLISHER]);
      await asker.set('m', 'a', 'x');
      await asker.set('n', 'a', 'x');
      await asker.delete('n', 'a');
      await engines[0]!.dropWaiting(PUBLISHER, 0);
      server.script = (words) => (words[1] === ENDING ? '-MISCONF no\r\n' : undefined);
      assert.equal((await asker.clear('m')).outcome, UNKNOWN);
      const member = await joinedMember(engines[1]!, world.clock, { uuid: 'a', leaseMs: 10_000 });
      await world.sleep(20_000);
      assert.deepEqual([hashFields(server, 'd'), hashFields(server, 'l')], [['1:m'], ['m']]);
      server.script = () => undefined;
      await world.sleep(20_000);
      assert.deepEqual([hashFields(server, 'd'), hashFields(server, 'l')], [['1:m'], []]);
      assert.deepEqual(await waitingTexts(engines[0]!), ['clear m']);
      await engines[0]!.dropWaiting(PUBLISHER, 0);
      await world.sleep(20_000);
      assert.deepEqual(hashFields(server, 'd'), []);
      await member.cluster.leave();
    },
    { tombstonesMax: 0 },
  );
});

test('the next clear ends one that has failed before it was marked', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    await asker.set('m', 'a', 'x');
    server.script = (words) => (words[1] === ENDING ? '-MISCONF no\r\n' : undefined);
    assert.equal((await asker.clear('m')).outcome, UNKNOWN);
    server.script = () => undefined;
    assert.deepEqual([hashFields(server, 'm'), hashFields(server, 'l')], [[], ['m']]);
    await asker.set('m', 'b', 'x');
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    assert.deepEqual([hashFields(server, 'l'), await waitingTexts(engine)], [[], ['clear m']]);
  });
});

test('a clear that cannot be noted changes nothing, and is noted once if the reply is lost', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    await asker.set('m', 'a', 'x');
    server.script = (words) => (words[1] === NOTING ? '-MISCONF no\r\n' : undefined);
    assert.equal((await asker.clear('m')).outcome, UNREACHABLE);
    assert.deepEqual(await waitingTexts(engine), ['set a x']);
    server.script = (words) => {
      if (words[1] !== NOTING) return undefined;
      server.script = () => undefined;
      server.run(...words);
      return CUT;
    };
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    assert.deepEqual([hashFields(server, 'l'), await waitingTexts(engine)], [[], ['clear m']]);
  });
});

test('clears by two members at the same time end', async () => {
  await markingMembers(async ({ server, engines, askers }) => {
    for (const engine of engines) engine.setReferences(referencesTo([PUBLISHER]));
    for (let round = 0; round < 20; round++) {
      for (let index = 0; index < 20; index++) await askers[0]!.set('m', `k${index}`, 'x');
      const results = await Promise.all(askers.map((asker) => asker.clear('m')));
      assert.deepEqual(
        results.map(({ outcome }) => outcome),
        [APPLIED, APPLIED],
      );
      assert.deepEqual([hashFields(server, 'm'), hashFields(server, 'l')], [[], []]);
      assert.deepEqual(await waitingTexts(engines[0]!), ['clear m']);
    }
  }, PARTITIONS);
});

test('a clear that is overtaken by a later one of another cluster has a later version', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    for (let index = 0; index < 100; index++) await asker.set('m', `k${index}`, 'x');
    const passed = setVersion(new Version(), (WALL_MS + 900_000) * 1000);
    const tombstone = Buffer.alloc(13, 'c');
    tombstone.writeInt32BE(passed.high, 0);
    tombstone.writeInt32BE(passed.low, 4);
    tombstone.writeUInt32BE(WALL_MS / 1000, 8);
    let notes = 0;
    server.script = (words) => {
      if (words[1] !== NOTING || notes++ > 0) return undefined;
      // It is merged into this partition only, so far.
      const prefix = words[3]!.slice(0, words[3]!.lastIndexOf('/'));
      server.run('HSET', `${prefix}/d:`, '1:m', tombstone.toString('latin1'));
      server.run('RPUSH', `${prefix}/o:`, `${tombstone.toString('latin1', 0, 8)}1:m`);
      server.run('SET', `${prefix}/t:`, `${numberOf(passed)}`);
      return undefined;
    };
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    assert.equal(notes, 2);
    assert.equal((await asker.size('m')).count, 0);
    const waiting = await allWaiting(engine, PUBLISHER);
    const { removal } = waiting.find((each) => each.removal?.operation === CLEAR)!;
    assert.ok(removal!.version.isAfter(passed));
  }, PARTITIONS);
});

test('a full queue drops the event of a clear', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const full = publisherOf('p', { partitionCapacity: 1 });
    const notMarked: unknown[] = [];
    const [engine] = engines as [RedisEngine];
    engine.onNotMarked((publisher) => notMarked.push(publisher));
    engine.setReferences(referencesTo([full]));
    await asker.set('n', 'a', 'x');
    await asker.set('m', 'a', 'x');
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    assert.deepEqual(notMarked, [full, full]);
    assert.deepEqual(await waitingTexts(engine), ['set a x']);
  });
});

test('a merged clear is forwarded with its path, once, and not to where it comes from', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const target = publisherOf('q', { targetDataSet: SOURCE });
    for (const engine of engines) engine.setReferences(referencesTo([PUBLISHER, target]));
    const [engine, other] = engines as [RedisEngine, RedisEngine];
    await asker.set('m', 'a', 'x');
    const path = Buffer.concat([Buffer.alloc(16, 'o'), SOURCE]);
    const outcomes: number[] = [];
    const merge = async (member: RedisEngine, micros: number) => {
      await member.mergeSection(clearFrom(path, micros), (_, outcome) => outcomes.push(outcome));
    };
    await merge(engine, 5);
    assert.deepEqual([await waitingTexts(engine), outcomes], [['clear m'], [APPLIED]]);
    const [waiting] = await allWaiting(engine, PUBLISHER);
    assert.ok(waiting!.removal!.path.toBuffer().equals(path));
    const own = await allWaiting(engine, target);
    assert.deepEqual(own, []);
    await engine.acknowledgeMarks(PUBLISHER, 0, waiting!.number);
    await merge(other, 5);
    await merge(engine, 5);
    await merge(other, 4);
    assert.deepEqual(outcomes, [APPLIED, KNOWN, KNOWN, OUTDATED]);
    assert.deepEqual([await waitingTexts(engine), hashFields(server, 'l')], [[], []]);
    for (const each of engines) {
      each.setReferences(referencesTo([PUBLISHER], { republishing: false }));
    }
    await merge(engine, 6);
    assert.deepEqual(await waitingTexts(engine), []);
  });
});
