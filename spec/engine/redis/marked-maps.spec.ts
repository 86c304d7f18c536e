/**
 * Covers src/engine/redis/marked-maps.ts, src/engine/redis/marked-scripts.ts,
 * src/engine/redis/marking.ts, src/engine/redis/map-changes.ts and src/engine/marked-changes.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ABSENT,
  APPLIED,
  CONDITION_FAILED,
  MEMORY_FULL,
  NO_NUMBER,
  REFUSED,
  UNKNOWN,
  UNREACHABLE,
} from '../../../src/engine/engine.ts';
import type { WaitingChange } from '../../../src/engine/marked-changes.ts';
import { DELETE } from '../../../src/engine/mutation.ts';
import { REPLICATION_FULL } from '../../../src/engine/mutation-sink.ts';
import { numberOf } from '../../../src/engine/redis/partition-clock.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { Version } from '../../../src/engine/version.ts';
import { allWaiting, publisherOf, referencesTo } from '../marked.ts';
import { joinedMember } from './joined-member.ts';
import { hashFields, markingMembers, waitingTexts } from './marking-members.ts';

const SHORT = { timeToLiveMs: 1000, maxIdleSeconds: 0 };

/** The version right before it. */
function before(version: Version): Version {
  return new Version().copyFrom(version).stepBack();
}

test('a set is marked for each publisher with the number of its version', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const publishers = [publisherOf('p'), publisherOf('q')];
    engines[0]!.setReferences(referencesTo(publishers));
    const marked: number[] = [];
    engines[0]!.onMarked((partition) => marked.push(partition));
    const { version } = await asker.set('m', 'a', 'x', 'text/plain');
    assert.ok(!version.isNone);
    assert.deepEqual(marked, [0]);
    for (const publisher of publishers) {
      const [waiting, ...more] = await allWaiting(engines[0]!, publisher);
      assert.equal(more.length, 0);
      const { number, entry, removal } = waiting!;
      assert.deepEqual([number, removal], [numberOf(version), undefined]);
      assert.ok(entry!.version.is(version));
      const texts = [entry!.name, entry!.key, entry!.value, entry!.contentType];
      assert.deepEqual(
        texts.map((span) => span.toBuffer().toString()),
        ['m', 'a', 'x', 'text/plain'],
      );
      assert.deepEqual([entry!.maker, entry!.path.length, entry!.expiryMs], [0, 0, 0]);
    }
  });
});

test('changes that change nothing are not marked', async () => {
  await markingMembers(async ({ engines, asker }) => {
    engines[0]!.setReferences(referencesTo([publisherOf('p')]));
    const marked: number[] = [];
    engines[0]!.onMarked((partition) => marked.push(partition));
    assert.equal((await asker.delete('m', 'a')).outcome, APPLIED);
    assert.equal((await asker.setIf('m', 'a', 'x', { isPresent: true })).outcome, CONDITION_FAILED);
    assert.equal((await asker.delete('m', 'a', { isPresent: true })).outcome, CONDITION_FAILED);
    assert.equal((await asker.clear('m')).outcome, APPLIED);
    assert.deepEqual([marked, await waitingTexts(engines[0]!)], [[], []]);
    await asker.set('m', 'a', 'text');
    assert.equal((await asker.add('m', 'a', 1n)).outcome, NO_NUMBER);
    const held = (await asker.get('m', 'a')).version;
    const failed = await asker.setIf('m', 'a', 'y', before(held));
    assert.deepEqual([failed.outcome, failed.version.is(held)], [CONDITION_FAILED, true]);
    assert.deepEqual([marked.length, await waitingTexts(engines[0]!)], [1, ['set a text']]);
  });
});

test('each kind of change is marked, and a key waits once, by its last change', async () => {
  await markingMembers(async ({ engines, asker }) => {
    engines[0]!.setReferences(referencesTo([publisherOf('p')]));
    await asker.set('m', 'a', 'x');
    await asker.set('m', 'b', 'x', '', SHORT);
    await asker.setIf('m', 'c', 'x', { isPresent: false });
    await asker.add('m', 'd', 5n);
    await asker.set('n', 'a', 'other map');
    assert.deepEqual(await waitingTexts(engines[0]!), [
      ...['set a x', 'set b x', 'set c x', 'set d 5', 'set a other map'],
    ]);
    await asker.delete('m', 'a');
    await asker.delete('m', 'c', { isPresent: true });
    await asker.add('m', 'd', 2n);
    await asker.set('m', 'c', 'again');
    assert.deepEqual(await waitingTexts(engines[0]!), [
      ...['set b x', 'set a other map', 'delete a', 'set d 7', 'delete c, set c again'],
    ]);
    const [, , , , last] = await allWaiting(engines[0]!, publisherOf('p'));
    assert.ok(last!.entry!.version.isAfter(last!.removal!.version));
  });
});

test('versions rise within a partition although the clocks of members disagree', async () => {
  await markingMembers(async ({ world, server, engines, askers }) => {
    for (const engine of engines) engine.setReferences(referencesTo([publisherOf('p')]));
    let last = new Version();
    for (let round = 0; round < 30; round++) {
      const key = `k${round % 3}`;
      for (const asker of askers) {
        const changes = [
          () => asker.set('m', key, '1'),
          () => asker.set('m', key, '1', '', { timeToLiveMs: 90_000, maxIdleSeconds: 0 }),
          () => asker.setIf('m', key, '1', last),
          () => asker.add('m', key, 1n),
        ];
        for (const change of changes) {
          const { outcome, version } = await change();
          assert.equal(outcome, APPLIED);
          assert.ok(version.isAfter(last));
          last = version;
        }
        assert.ok((await asker.get('m', key)).version.is(last));
      }
      await askers[0]!.delete('m', key);
      await askers[1]!.set('m', key, '1');
      const waiting = await allWaiting(engines[0]!, publisherOf('p'));
      const { entry, removal } = waiting.at(-1)!;
      assert.ok(entry!.version.isAfter(removal!.version) && removal!.version.isAfter(last));
      last = entry!.version;
      const [clock = ''] = server.data.names.filter((name) => name.endsWith('/t:'));
      // A member whose clock is ahead has made a change.
      if (round % 3 === 0) server.run('SET', clock, `${world.clock.wall() * 1000 + 20_000}`);
      await world.sleep(8);
    }
  });
});

test('a publisher that is stopped, and keys that are filtered, are not marked', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const publishers = [publisherOf('p'), publisherOf('q', { isMarking: false })];
    const accepts = (key: { readonly length: number }) => key.length < 3;
    engines[0]!.setReferences(referencesTo(publishers, { accepts }));
    await asker.set('m', 'a', 'x');
    await asker.set('m', 'long', 'x');
    assert.deepEqual(await waitingTexts(engines[0]!, publishers[0]), ['set a x']);
    assert.deepEqual(await waitingTexts(engines[0]!, publishers[1]), []);
    publishers[1]!.isMarking = true;
    await asker.delete('m', 'long');
    await asker.set('m', 'b', 'x');
    assert.deepEqual(await waitingTexts(engines[0]!, publishers[1]), ['set b x']);
    // A map without publishers has tombstones and versions of the clock.
    engines[0]!.setReferences(referencesTo([]));
    await asker.set('m', 'c', 'x');
    await asker.delete('m', 'c');
    assert.deepEqual(hashFields(server, 'd'), ['1:mlong', '1:mc']);
    assert.deepEqual((await waitingTexts(engines[0]!)).length, 2);
  });
});

test('maps without a reference, and the reserved map, are changed by plain commands', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const references = referencesTo([publisherOf('p')]);
    engines[0]!.setReferences((map) => (`${map}` === 'm' ? references(map) : undefined));
    for (const map of ['n', '']) {
      await asker.set(map, 'a', 'x');
      await asker.delete(map, 'a');
      await asker.clear(map);
    }
    assert.deepEqual([server.countOf('HSET'), server.countOf('HDEL')], [2, 2]);
    assert.equal(server.countOf('EVALSHA'), 0);
    await asker.set('m', 'a', 'x');
    assert.equal(server.countOf('EVALSHA'), 1);
    engines[0]!.setReferences(undefined);
    await asker.set('m', 'a', 'x');
    assert.equal(server.countOf('HSET'), 3);
  });
});

test('a full queue refuses a change, which changes nothing, or leaves it without a mark', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    const full = publisherOf('p', { partitionCapacity: 2 });
    const other = publisherOf('q');
    const notMarked: unknown[] = [];
    const [engine] = engines as [RedisEngine];
    engine.onNotMarked((publisher) => notMarked.push(publisher));
    engine.setReferences(referencesTo([other, full]));
    await asker.set('m', 'a', '1');
    await asker.set('m', 'b', '1');
    for (const set of [
      () => asker.set('m', 'c', '1'),
      () => asker.set('m', 'd', '1', '', SHORT),
      () => asker.add('m', 'e', 1n),
    ]) {
      assert.equal((await set()).outcome, APPLIED);
    }
    assert.deepEqual(notMarked, [full, full, full]);
    assert.equal((await waitingTexts(engine, other)).length, 5);
    full.refusesWhenFull = true;
    const names = [...server.data.names];
    const contents = () => [
      hashFields(server, 'm'),
      hashFields(server, 'd'),
      names.map((name) => `${server.run('EXISTS', name)}`),
    ];
    const earlier = contents();
    for (const change of [
      () => asker.set('m', 'f', '1'),
      () => asker.set('m', 'c', '2', '', SHORT),
      () => asker.setIf('m', 'f', '1', { isPresent: false }),
      () => asker.add('m', 'e', 1n),
      () => asker.delete('m', 'c'),
      () => asker.delete('m', 'c', { isPresent: true }),
      () => asker.clear('m'),
    ]) {
      const { outcome, veto } = await change();
      assert.deepEqual([outcome, veto], [REFUSED, REPLICATION_FULL]);
    }
    assert.deepEqual(contents(), earlier);
    assert.deepEqual(await waitingTexts(engine, full), ['set a 1', 'set b 1']);
    assert.equal((await waitingTexts(engine, other)).length, 5);
    // A key that waits has room, and a delete of nothing needs none.
    assert.equal((await asker.delete('m', 'a')).outcome, APPLIED);
    assert.equal((await asker.set('m', 'b', '2')).outcome, APPLIED);
    assert.equal((await asker.add('m', 'b', 2n)).outcome, APPLIED);
    assert.equal((await asker.delete('m', 'none')).outcome, APPLIED);
    assert.deepEqual(await waitingTexts(engine, full), ['delete a', 'set b 4']);
    assert.equal(notMarked.length, 3);
  });
});

test('expired entries leave a tombstone just below their version, whoever finds them', async () => {
  await markingMembers(async ({ world, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    const publisher = publisherOf('p');
    engine.setReferences(referencesTo([publisher]));
    const finders: ((key: string) => Promise<unknown>)[] = [
      (key) => asker.delete('m', key),
      (key) => asker.setIf('m', key, 'new', { isPresent: false }),
      (key) => asker.add('m', key, 1n),
      () => asker.size('m'),
      async () => {},
    ];
    for (const [index, find] of finders.entries()) {
      const key = `k${index}`;
      const { version } = await asker.set('m', key, '1', 'text/plain', SHORT);
      await world.sleep(1000);
      assert.equal((await asker.get('m', key)).outcome, ABSENT);
      await find(key);
      const waiting = await allWaiting(engine, publisher);
      const { entry, removal } = waiting.at(-1)!;
      assert.ok(removal!.version.is(before(version)), key);
      assert.equal(removal!.operation, DELETE);
      // A target refuses a delete with any of these.
      const { value, contentType, expiryMs } = removal!;
      assert.deepEqual([value.length, contentType.length, expiryMs], [0, 0, 0], key);
      assert.equal(entry !== undefined, index === 1 || index === 2);
    }
  });
});

test('a set records that the entry before has expired if the target may keep that', async () => {
  await markingMembers(async ({ world, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    const publisher = publisherOf('p');
    engine.setReferences(referencesTo([publisher], { keepsEarlier: true }));
    const { version } = await asker.set('m', 'k', 'old', '', SHORT);
    await world.sleep(1000);
    const later = await asker.set('m', 'k', 'new');
    const [{ entry, removal }] = (await allWaiting(engine, publisher)) as [WaitingChange];
    assert.ok(removal!.version.is(before(version)));
    assert.ok(entry!.version.is(later.version));
  });
});

test('the oldest member sweeps expired entries into tombstones', async () => {
  await markingMembers(async ({ world, server, engines, asker }) => {
    for (const engine of engines) engine.setReferences(referencesTo([publisherOf('p')]));
    for (let index = 0; index < 250; index++) await asker.set('m', `k${index}`, '1', '', SHORT);
    const member = await joinedMember(engines[0]!, world.clock, { uuid: 'a', leaseMs: 10_000 });
    await world.until(() => hashFields(server, 'm').length === 0);
    assert.equal(hashFields(server, 'd').length, 250);
    const waiting = await waitingTexts(engines[1]!);
    assert.deepEqual([waiting.length, waiting[0]], [250, 'delete k0']);
    await member.cluster.leave();
  });
});

test('a full server takes deletes, sweeps and clears', async () => {
  await markingMembers(async ({ world, server, engines, asker }) => {
    engines[0]!.setReferences(referencesTo([publisherOf('p')]));
    await asker.set('m', 'a', '1');
    await asker.set('m', 'b', '1', '', SHORT);
    await asker.set('n', 'a', '1');
    await world.sleep(1000);
    server.isOutOfMemory = true;
    assert.equal((await asker.set('m', 'c', '1')).outcome, MEMORY_FULL);
    assert.equal((await asker.set('m', 'c', '1', '', SHORT)).outcome, MEMORY_FULL);
    assert.equal((await asker.add('m', 'c', 1n)).outcome, MEMORY_FULL);
    assert.equal((await asker.delete('m', 'a')).outcome, APPLIED);
    assert.equal((await asker.size('m')).count, 0);
    assert.deepEqual(hashFields(server, 'd'), ['1:ma', '1:mb']);
    assert.equal((await asker.clear('n')).outcome, APPLIED);
    assert.equal((await asker.get('n', 'a')).outcome, ABSENT);
    server.isOutOfMemory = false;
    assert.deepEqual(await waitingTexts(engines[0]!), ['delete b', 'delete a', 'clear n']);
  });
});

test('a delete drops tombstones beyond the share of the partition', async () => {
  const dropped: number[] = [];
  await markingMembers(
    async ({ server, engines, asker }) => {
      engines[0]!.setReferences(referencesTo([publisherOf('p')]));
      for (let index = 0; index < 30; index++) {
        await asker.set('m', `k${index}`, '1');
        await asker.delete('m', `k${index}`);
      }
      assert.deepEqual(hashFields(server, 'd').length, 10);
      assert.equal(dropped.at(-1), 20);
    },
    { tombstonesMax: 10, onTombstonesDropped: (count) => dropped.push(count) },
  );
});

test('removals that wait are kept beyond the share of the partition and their retention', async () => {
  const dropped: number[] = [];
  await markingMembers(
    async ({ world, server, engines, asker }) => {
      const publishers = [publisherOf('p'), publisherOf('q')];
      for (const engine of engines) engine.setReferences(referencesTo(publishers), publishers);
      for (let index = 0; index < 700; index++) {
        await asker.set('m', `k${index}`, '1');
        await asker.delete('m', `k${index}`);
      }
      await engines[0]!.dropWaiting(publishers[1]!, 0);
      const member = await joinedMember(engines[0]!, world.clock, { uuid: 'a', leaseMs: 10_000 });
      await world.sleep(20_000);
      assert.deepEqual([hashFields(server, 'd').length, dropped], [700, []]);
      const waiting = await allWaiting(engines[0]!, publishers[0]!);
      assert.equal(waiting.length, 700);
      await engines[0]!.acknowledgeMarks(publishers[0]!, 0, waiting[694]!.number);
      await world.sleep(20_000);
      // 10 may be kept beside the 5 that wait.
      assert.deepEqual([hashFields(server, 'd').length, dropped.at(-1)], [15, 685]);
      await world.sleep(120_000);
      assert.deepEqual(
        await waitingTexts(engines[0]!),
        [695, 696, 697, 698, 699].map((index) => `delete k${index}`),
      );
      assert.equal(hashFields(server, 'd').length, 5);
      await engines[0]!.dropWaiting(publishers[0]!, 0);
      await world.sleep(20_000);
      assert.deepEqual([hashFields(server, 'd'), dropped.at(-1)], [[], 685]);
      await member.cluster.leave();
    },
    {
      tombstonesMax: 10,
      tombstoneRetentionMs: 120_000,
      onTombstonesDropped: (count) => dropped.push(count),
    },
  );
});

test('a script that fails at its first write has changed nothing', async () => {
  await markingMembers(async ({ server, engines, asker }) => {
    engines[0]!.setReferences(referencesTo([publisherOf('p')]));
    await asker.set('m', 'a', '1');
    const [hash = ''] = server.data.names.filter((name) => name.endsWith('/m:m'));
    server.run('UNLINK', hash);
    server.run('RPUSH', hash, 'foreign');
    // A script for one publisher has marked the key by then.
    assert.equal((await asker.set('m', 'b', '1')).outcome, UNKNOWN);
    engines[0]!.setReferences(referencesTo([publisherOf('p'), publisherOf('q')]));
    assert.equal((await asker.set('m', 'b', '1')).outcome, UNREACHABLE);
    assert.deepEqual(await waitingTexts(engines[0]!).catch(() => 'foreign'), 'foreign');
  });
});
