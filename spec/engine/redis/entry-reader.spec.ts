/** Covers src/engine/redis/entry-reader.ts and src/engine/redis/entry-page.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mutation } from '../../../src/engine/mutation.ts';
import type { RedisEngine } from '../../../src/engine/redis/redis-engine.ts';
import { publisherOf, referencesTo } from '../marked.ts';
import { markingMembers } from './marking-members.ts';

const ROOM = { count: 100, bytes: 1_000_000 };
const MAP = Buffer.from('m');

function keysOf(entries: readonly Mutation[]): string[] {
  return entries.map(({ key }) => key.toBuffer().toString());
}

/** Reads all pages of a partition. Returns the keys of each, and whether the list began again. */
async function pagesOf(engine: RedisEngine, partition: number, count: number) {
  const pages: string[][] = [];
  let beganAgain = false;
  for (let place: Buffer | undefined; ; ) {
    const page = (await engine.readEntries(MAP, partition, place, { ...ROOM, count }))!;
    pages.push([...keysOf(page.entries), ...page.longKeys.map((key) => `${key} is long`)]);
    beganAgain ||= page.beganAgain;
    place = page.place;
    if (place === undefined) return { pages, beganAgain };
  }
}

test('the entries of a partition are read in pages, each entry once', async () => {
  await markingMembers(
    async ({ engines, asker }) => {
      const [engine] = engines as [RedisEngine];
      const keys = Array.from({ length: 1000 }, (_, index) => `k${index}`);
      for (const key of keys) await asker.set('m', key, 'v');
      await asker.set('m', 'k7', 'v'.repeat(65_600));
      await asker.set('other', 'key', 'v');
      const read: string[] = [];
      for (const partition of [0, 1, 2]) {
        const { pages, beganAgain } = await pagesOf(engine, partition, 40);
        assert.ok(pages.every(({ length }) => length <= 40));
        assert.equal(beganAgain, false);
        read.push(...pages.flat());
      }
      const named = keys.map((key) => (key === 'k7' ? 'k7 is long' : key));
      assert.deepEqual(read.sort(), named.sort());
      const long = (await engine.readEntry(MAP, Buffer.from('k7')))!;
      assert.equal(long.entry!.value.length, 65_600);
      assert.deepEqual(await engine.readEntry(MAP, Buffer.from('none')), { entry: undefined });
    },
    { partitionCount: 3 },
  );
});

test('an entry has its version, content type and lifetime; an expired one is left out', async () => {
  await markingMembers(async ({ world, engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    engine.setReferences(referencesTo([publisherOf('p')]));
    await asker.set('m', 'k', 'v', 'a/b', { timeToLiveMs: 60_000, maxIdleSeconds: 20 });
    await asker.set('m', 'short', 'v', '', { timeToLiveMs: 100, maxIdleSeconds: 0 });
    const { version } = await asker.get('m', 'k');
    await world.pass(200);
    const { entries } = (await engine.readEntries(MAP, 0, undefined, ROOM))!;
    assert.deepEqual(keysOf(entries), ['k']);
    const [entry] = entries;
    assert.equal(entry!.version.is(version), true);
    assert.equal(entry!.contentType.toBuffer().toString(), 'a/b');
    assert.deepEqual([entry!.maxIdleSeconds, entry!.expiryMs % 1000], [20, 0]);
  });
});

test('a list that begins again on another server says so', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    for (let index = 0; index < 1000; index++) await asker.set('m', `k${index}`, 'v');
    const first = (await engine.readEntries(MAP, 0, undefined, { ...ROOM, count: 50 }))!;
    assert.equal(first.beganAgain, false);
    const place = Buffer.from(first.place!);
    place.fill(0, 4, 8);
    const again = (await engine.readEntries(MAP, 0, place, { ...ROOM, count: 50 }))!;
    assert.equal(again.beganAgain, true);
    assert.deepEqual(keysOf(again.entries), keysOf(first.entries));
  });
});

test('names of maps are read without the reserved one', async () => {
  await markingMembers(async ({ engines, asker }) => {
    const [engine] = engines as [RedisEngine];
    for (const map of ['a', 'b', 'c']) await asker.set(map, 'k', 'v');
    const { names, place } = (await engine.readMaps(undefined))!;
    assert.deepEqual([names.map(String).sort(), place], [['a', 'b', 'c'], undefined]);
  });
});

test('a closed engine reads nothing', async () => {
  await markingMembers(async ({ engines }) => {
    const [engine] = engines as [RedisEngine];
    await engine.close();
    assert.equal(await engine.readEntries(MAP, 0, undefined, ROOM), undefined);
    assert.equal(await engine.readEntry(MAP, MAP), undefined);
    assert.equal(await engine.readMaps(undefined), undefined);
  });
});
