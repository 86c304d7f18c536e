/** Covers src/engine/redis/redis-merges.ts. Merges into maps whose changes are marked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APPLIED, KNOWN, OUTDATED } from '../../../src/engine/engine.ts';
import {
  LATEST_UPDATE,
  type MergePolicy,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../../../src/engine/merge-policy.ts';
import { DELETE, type Mutation, PATH_LENGTH_MAX, SET } from '../../../src/engine/mutation.ts';
import { numberOf, setVersion } from '../../../src/engine/redis/partition-clock.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { Version } from '../../../src/engine/version.ts';
import { changeOf } from '../changes.ts';
import { allWaiting, publisherOf, referencesTo } from '../marked.ts';
import { span } from '../results.ts';
import { markingMembers, WALL_MS, waitingTexts } from './marking-members.ts';
import { eventsOf, sectionOf } from './merge-sections.ts';

const PUBLISHER = publisherOf('p');
const MAKER = 7;
const [ORIGIN, SENDER] = [Buffer.alloc(16, 'o'), Buffer.alloc(16, 's')];
const PATH = Buffer.concat([ORIGIN, SENDER]);

/** A change that another cluster has made, at the start or as much later. */
function change(
  operation: typeof SET | typeof DELETE,
  key: string,
  micros: number,
  { path = PATH, value = operation === SET ? `${micros}` : '', ...fields } = {},
): Mutation {
  const version = setVersion(new Version(), WALL_MS * 1000 + micros);
  const made = changeOf(operation, { key, version, value, maker: MAKER, ...fields });
  made.path.copyFrom(span(path));
  return made;
}

let lane = 0;

/** Merges the changes. Resolves with their outcomes. */
async function merge(
  engine: RedisEngine,
  changes: readonly Mutation[],
  policy: MergePolicy = LATEST_UPDATE,
): Promise<number[]> {
  const outcomes: number[] = [];
  lane = (lane + 1) % 65_536;
  const section = sectionOf(eventsOf(changes, 1, policy), { source: SENDER, lane });
  const { outcome } = await engine.mergeSection(section, (_, each) => outcomes.push(each));
  assert.equal(outcome, APPLIED);
  return outcomes;
}

test('a merged change that wins is marked, with its path and maker', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    const marked: number[] = [];
    engine.onMarked((partition) => marked.push(partition));
    engine.setReferences(referencesTo([PUBLISHER]));
    await asker.set('m', 'own', 'x');
    const changes = [
      change(SET, 'a', 5),
      change(DELETE, 'b', 6),
      change(SET, 'c', 7, { value: '', path: Buffer.alloc(0) }),
      change(SET, 'own', -5),
    ];
    assert.deepEqual(await merge(engine, changes), [APPLIED, APPLIED, APPLIED, OUTDATED]);
    assert.deepEqual(marked, [0, 0]);
    const waiting = await allWaiting(engine, PUBLISHER);
    assert.deepEqual(await waitingTexts(engine), ['set own x', 'set a 5', 'delete b', 'set c']);
    const seen = waiting.map(({ entry, removal }) => {
      const { path, maker, version } = (entry ?? removal)!;
      return [path.toBuffer().toString(), maker, numberOf(version) - WALL_MS * 1000];
    });
    assert.deepEqual(seen.slice(1), [
      [PATH.toString(), MAKER, 5],
      [PATH.toString(), MAKER, 6],
      ['', MAKER, 7],
    ]);
    const numbers = waiting.map(({ number }) => number);
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      numbers,
    );
    assert.equal(new Set(numbers).size, 4);
    // A change of a client has no path.
    await asker.add('m', 'a', 1n);
    await asker.set('m', 'c', 'own');
    await asker.delete('m', 'b');
    for (const { entry } of (await allWaiting(engine, PUBLISHER)).slice(2)) {
      assert.deepEqual([entry!.path.length, entry!.maker], [0, 0]);
    }
  });
});

test('a change received again, by the same or another path, is not marked', async () => {
  await markingMembers(async ({ server, engines }) => {
    const [engine, other] = engines as [RedisEngine, RedisEngine];
    for (const each of engines) each.setReferences(referencesTo([PUBLISHER]));
    await merge(engine, [change(SET, 'a', 5), change(DELETE, 'b', 6)]);
    const [first, second] = await allWaiting(engine, PUBLISHER);
    await engine.acknowledgeMarks(PUBLISHER, 0, second!.number);
    assert.ok(first !== undefined);
    const calls = server.countOf('EVALSHA');
    for (const path of [PATH, ORIGIN, Buffer.alloc(0)]) {
      const again = [change(SET, 'a', 5, { path }), change(DELETE, 'b', 6, { path })];
      assert.deepEqual(await merge(other, again), [KNOWN, KNOWN]);
    }
    // Origins are not compared, so no entry had to be returned.
    assert.equal(server.countOf('EVALSHA') - calls, 3);
    assert.deepEqual(await waitingTexts(engine), []);
  });
});

test('a change is not marked for a data set in its path, nor if the path is full', async () => {
  await markingMembers(async ({ engines }) => {
    const [engine] = engines as [RedisEngine];
    const back = publisherOf('q', { targetDataSet: ORIGIN });
    const stopped = publisherOf('r', { isMarking: false });
    const references = referencesTo([back, PUBLISHER, stopped], {
      accepts: (key) => key.length === 1,
    });
    engine.setReferences(references);
    const full = Buffer.alloc(16 * PATH_LENGTH_MAX, 'f');
    await merge(engine, [
      change(SET, 'a', 5),
      change(SET, 'b', 6, { path: SENDER }),
      change(SET, 'c', 7, { path: full }),
      change(SET, 'filtered', 8),
    ]);
    assert.deepEqual(await waitingTexts(engine), ['set a 5', 'set b 6']);
    assert.deepEqual(await waitingTexts(engine, back), ['set b 6']);
    assert.deepEqual(await waitingTexts(engine, stopped), []);
    engine.setReferences(referencesTo([PUBLISHER], { republishing: false }));
    await merge(engine, [change(SET, 'd', 9)]);
    assert.equal((await waitingTexts(engine)).length, 2);
  });
});

test('a full queue leaves merged changes without a mark, also if it refuses those of clients', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    const full = publisherOf('q', { partitionCapacity: 2, refusesWhenFull: true });
    const notMarked: unknown[] = [];
    engine.onNotMarked((publisher) => notMarked.push(publisher));
    engine.setReferences(referencesTo([PUBLISHER, full]));
    await asker.set('m', 'a', 'x');
    const changes = ['b', 'c', 'd', 'a'].map((key, at) => change(SET, key, 100_000 + at));
    assert.deepEqual(await merge(engine, changes), [APPLIED, APPLIED, APPLIED, APPLIED]);
    assert.deepEqual(notMarked, [full, full]);
    assert.deepEqual(await waitingTexts(engine, full), ['set b 100000', 'set a 100003']);
    assert.equal((await waitingTexts(engine)).length, 4);
  });
});

test('a change that gets a version of this data set keeps its path', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    const { version } = await asker.set('m', 'a', 'x');
    assert.deepEqual(await merge(engine, [change(SET, 'a', -900)], PASS_THROUGH), [APPLIED]);
    const [waiting] = await allWaiting(engine, PUBLISHER);
    const { entry } = waiting!;
    assert.deepEqual([`${entry!.path.toBuffer()}`, entry!.maker], [PATH.toString(), 0]);
    assert.ok(entry!.version.is(version.stepForward()));
    // It is this data set's own change, so an earlier one of its maker may win again.
    assert.deepEqual(await merge(engine, [change(SET, 'a', -800)], PASS_THROUGH), [APPLIED]);
    assert.deepEqual(await merge(engine, [change(SET, 'a', 900)], PUT_IF_ABSENT), [OUTDATED]);
  });
});

test('a merge moves the clock of its partition past its version', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    const merged = change(SET, 'a', 5_000_000);
    await merge(engine, [merged]);
    const { version } = await asker.set('m', 'b', 'x');
    assert.ok(version.isAfter(merged.version));
    await asker.delete('m', 'a');
    const waiting = await allWaiting(engine, PUBLISHER);
    assert.deepEqual(await waitingTexts(engine), ['set b x', 'delete a']);
    assert.ok(waiting[1]!.removal!.version.isAfter(version));
    assert.ok(waiting[1]!.number > waiting[0]!.number);
  });
});

test('an expired entry of another data set leaves its maker and path in its tombstone', async () => {
  await markingMembers(async ({ world, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([PUBLISHER]));
    const expiryMs = WALL_MS + 1000;
    const keys = ['a', 'b', 'c'];
    await merge(
      engine,
      keys.map((key, at) => change(SET, key, at, { expiryMs } as object)),
    );
    await world.sleep(1000);
    await asker.delete('m', 'a');
    await merge(engine, [change(DELETE, 'b', -5)]);
    await asker.size('m');
    const waiting = await allWaiting(engine, PUBLISHER);
    assert.equal(waiting.length, 3);
    for (const { entry, removal } of waiting) {
      assert.equal(entry, undefined);
      const { path, maker } = removal!;
      assert.deepEqual([`${path.toBuffer()}`, maker], [PATH.toString(), MAKER]);
    }
  });
});

test('without a reference an entry keeps its maker only, and a tombstone neither', async () => {
  await markingMembers(async ({ server, engines }) => {
    const [engine] = engines as [RedisEngine];
    await merge(engine, [change(SET, 'a', 1), change(DELETE, 'b', 2)]);
    const lengths = ['m', 'd'].map((letter) => {
      const [name = ''] = server.data.names.filter((each) => each.includes(`/${letter}:`));
      return [...server.data.get(name, 'hash')!.values()].map((value) => value.length);
    });
    assert.deepEqual(lengths, [[9 + 5 + 1], [13]]);
  });
});
