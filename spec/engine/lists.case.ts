/** The contract's guarantees about lists. Part of the suite in engine.case.ts. */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Random } from '../../bench/harness.ts';
import type { Span } from '../../src/base/span.ts';
import {
  CLOSED,
  FOREVER,
  FOUND,
  LIST_COUNT_MAX,
  LIST_PLACE_BYTES,
  LISTED,
  LISTED_BYTES,
  LISTED_VALUE_BYTES_MAX,
  type NameKind,
  NOT_COUNTED,
  type OperationResult,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import { type Asker, copied, Keeper, ListKeeper, type SeenEntry, span } from './results.ts';
import { type OpenSubject, type Subject, subjectTests } from './subject.ts';

/** Number of entries in most tests. */
const ENTRIES = 300;
const SHORT = { timeToLiveMs: 100, maxIdleSeconds: 0 };
const LONG = { timeToLiveMs: 3_600_000, maxIdleSeconds: 0 };

function keysOf(entries: readonly SeenEntry[]): string[] {
  return [...new Set(entries.map(({ key }) => key))].sort();
}

async function fill(asker: Asker, map: string, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, index) => `key ${index}`);
  await Promise.all(keys.map((key) => asker.set(map, key, `of ${key}`)));
  return keys.sort();
}

/** Sets, deletes and clears random entries; those of the map `m` named `stays …` are overwritten. */
async function meddle(asker: Asker, random: Random, staying: number): Promise<void> {
  const key = `other ${random.below(400)}`;
  switch (random.below(8)) {
    case 0:
      await asker.delete('m', key);
      return;
    case 1:
      await asker.set('m', `stays ${random.below(staying)}`, 'again'.repeat(random.below(20)));
      return;
    case 2:
      await asker.set('m', key, 'short', '', SHORT);
      return;
    case 3:
      await asker.set('other', key, 'v');
      return;
    case 4:
      if (random.below(10) === 0) await asker.clear('other');
      return;
    default:
      await asker.set('m', key, 'v'.repeat(random.below(60)));
  }
}

export function listCases(name: string, open: OpenSubject): void {
  describe(`${name}: lists of entries`, () => {
    entryCases(open);
    changeCases(open);
    receiverCases(open);
  });
  describe(`${name}: lists of names`, () => nameCases(open));
}

function entryCases(open: OpenSubject): void {
  const test = subjectTests(open);

  test('a list passes every entry of its map, whatever the count of a call', async (asker) => {
    const keys = await fill(asker, 'm', ENTRIES);
    await fill(asker, 'other', 10);
    for (const count of [1, 2, 7, 100, LIST_COUNT_MAX]) {
      let calls = 0;
      const entries = await asker.allEntries('m', { count }, async () => {
        calls++;
      });
      assert.deepEqual(keysOf(entries), keys);
      assert.ok(calls >= ENTRIES / count, `${calls} calls of ${count}`);
      for (const { outcome, key, value, length } of entries) {
        assert.deepEqual([outcome, value, length], [FOUND, `of ${key}`, value.length]);
      }
    }
    const { entries } = await asker.entries('m', { count: 3 });
    assert.ok(entries.length <= 3);
  });

  test('a list passes only entries whose keys begin with the prefix', async (asker) => {
    const keys = ['', 'a', 'a\0', 'ab', 'abc', 'abcd', 'b', 'ba', '\xff', '\xff\xff', '\xff\xffa'];
    keys.push('*', '[a]', '?b', 'a*', '\\a', 'p'.repeat(500), `${'p'.repeat(500)}q`);
    for (const key of keys) await asker.set('m', key, 'v');
    for (const prefix of [...keys, 'abcde', 'c', '\xff\xff\xff', 'a'.repeat(1000), '\0']) {
      for (const count of [1, LIST_COUNT_MAX]) {
        const expected = keys.filter((key) => key.startsWith(prefix)).sort();
        assert.deepEqual(keysOf(await asker.allEntries('m', { prefix, count })), expected);
      }
    }
  });

  test('a list of a map without entries is empty', async (asker) => {
    await asker.set('other', 'k', 'v');
    await asker.set('emptied', 'k', 'v');
    await asker.delete('emptied', 'k');
    await asker.set('cleared', 'k', 'v');
    await asker.clear('cleared');
    for (const map of ['none', 'emptied', 'cleared', '']) {
      assert.deepEqual(await asker.allEntries(map), []);
    }
  });

  test('keys and names of maps are bytes of any content and length', async (asker) => {
    const texts = ['', '\0', '\0\0', '\0\0\0\0', '\xff', 'a', 'a\0', '\r\n', 'k'.repeat(6000)];
    for (const key of texts) await asker.set('m', key, `of ${key}`);
    const entries = await asker.allEntries('m');
    assert.deepEqual(keysOf(entries), [...texts].sort());
    for (const { key, value } of entries) assert.equal(value, `of ${key}`);
    for (const map of texts) await asker.set(map, map, 'v');
    for (const map of texts) assert.deepEqual(keysOf(await asker.allEntries(map)), [map]);
  });

  test('a listed entry is as a get returns it', async (asker) => {
    await asker.set('m', 'plain', 'value');
    await asker.set('m', 'typed', 'value', 'a/type');
    await asker.set('m', 'living', 'value', 'a/type', LONG);
    await asker.set('m', 'idle', '', '', { timeToLiveMs: 0, maxIdleSeconds: 60 });
    await asker.set('m', 'both', 'v'.repeat(100_000), '', { ...LONG, maxIdleSeconds: 60 });
    const entries = await asker.allEntries('m');
    assert.equal(keysOf(entries).length, 5);
    for (const { key, length, timeToLiveMs: leftMs, ...rest } of entries) {
      const { timeToLiveMs, ...got } = await asker.get('m', key);
      assert.deepEqual(rest, got);
      assert.equal(length, got.value.length);
      assert.equal(leftMs > 0, timeToLiveMs > 0);
      assert.ok(leftMs >= timeToLiveMs && leftMs <= LONG.timeToLiveMs, `${leftMs}`);
    }
  });

  test('an expired entry is not listed, and a list does not prolong max idle', async (asker, {
    advance,
  }) => {
    for (let index = 0; index < 20; index++) {
      await asker.set('m', `short ${index}`, 'v', '', SHORT);
      await asker.set('m', `long ${index}`, 'v', '', LONG);
    }
    await asker.set('m', 'idle', 'v', '', { timeToLiveMs: 0, maxIdleSeconds: 3 });
    await advance(2000);
    const expected = Array.from({ length: 20 }, (_, index) => `long ${index}`);
    assert.deepEqual(keysOf(await asker.allEntries('m')), [...expected, 'idle'].sort());
    await advance(2100);
    assert.deepEqual(keysOf(await asker.allEntries('m')), expected.sort());
  });

  test('a value of more than 1 MiB is left out, but its length is passed', async (asker) => {
    const longest = Buffer.alloc(LISTED_VALUE_BYTES_MAX, 'abcdefg');
    await asker.set('m', 'longest', longest, 'a/type');
    await asker.set('m', 'left out', Buffer.alloc(LISTED_VALUE_BYTES_MAX + 1), 'a/type', LONG);
    await asker.set('m', 'short', 'v');
    const entries = await asker.allEntries('m');
    assert.deepEqual(keysOf(entries), ['left out', 'longest', 'short']);
    for (const { key, value, length, contentType, timeToLiveMs, version } of entries) {
      if (key === 'short') continue;
      const isLeftOut = key === 'left out';
      assert.deepEqual(
        [length, contentType],
        [LISTED_VALUE_BYTES_MAX + Number(isLeftOut), 'a/type'],
      );
      assert.equal(value === (isLeftOut ? '' : longest.toString('latin1')), true);
      assert.equal(timeToLiveMs > 0, isLeftOut);
      assert.ok(version.is((await asker.get('m', key)).version));
    }
  });

  test('a call ends after the entry with which keys and values reach its bytes', async (asker) => {
    const keys: string[] = [];
    for (let index = 0; index < 40; index++) {
      const key = `${index}`.padEnd(index % 2 === 0 ? 10 : 5000, '.');
      keys.push(key);
      await asker.set('m', key, 'v'.repeat(index % 2 === 0 ? 9000 : 100));
    }
    const seen = new Set<string>();
    for (let place: string | undefined; place !== ''; ) {
      const call = await asker.entries('m', place === undefined ? {} : { place });
      const before = call.entries.slice(0, -1);
      const bytes = before.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
      assert.ok(bytes < LISTED_BYTES, `${bytes} bytes`);
      for (const { key } of call.entries) seen.add(key);
      place = call.seen!.place;
    }
    assert.deepEqual([...seen].sort(), keys.sort());
  });
}

function changeCases(open: OpenSubject): void {
  const test = subjectTests(open);

  test('a list may continue more than once at a place that a call returned', async (asker) => {
    const keys = await fill(asker, 'm', 50);
    const passed: string[] = [];
    for (let place: string | undefined; place !== ''; ) {
      const rest = await asker.allEntries('m', {
        count: 7,
        ...(place === undefined ? {} : { place }),
      });
      assert.deepEqual([...new Set([...passed, ...keysOf(rest)])].sort(), keys);
      const call = await asker.entries('m', {
        count: 3,
        ...(place === undefined ? {} : { place }),
      });
      for (const { key } of call.entries) passed.push(key);
      place = call.seen!.place;
      assert.ok(place === '' || place.length === LIST_PLACE_BYTES);
    }
  });

  for (const count of [1, 5, 100]) {
    test(`what exists throughout is passed, in calls of ${count}, whatever else changes`, async (asker, {
      advance,
    }) => {
      const staying = Math.min(ENTRIES, count * 20);
      const random = new Random(count);
      for (let index = 0; index < staying; index++) await asker.set('m', `stays ${index}`, 'v');
      for (let index = 0; index < 200; index++) await meddle(asker, random, staying);
      const entries = await asker.allEntries('m', { count }, async () => {
        for (let changes = 10; changes > 0; changes--) await meddle(asker, random, staying);
        if (random.below(4) === 0) await advance(random.below(20));
      });
      const expected = Array.from({ length: staying }, (_, index) => `stays ${index}`);
      const seen = keysOf(entries.filter(({ key }) => key.startsWith('stays')));
      assert.deepEqual(seen, expected.sort());
    });
  }

  test('a list may continue after a clear of its map, with the new entries only', async (asker) => {
    const keys = await fill(asker, 'm', 100);
    const { seen } = await asker.entries('m', { count: 10 });
    await asker.clear('m');
    const { place } = seen!;
    assert.deepEqual(await asker.allEntries('m', { place }), []);
    for (const key of keys) await asker.set('m', `new ${key}`, 'v');
    for (const { key } of await asker.allEntries('m', { place })) assert.ok(key.startsWith('new'));
    assert.equal(keysOf(await asker.allEntries('m')).length, keys.length);
  });

  test('a place may have any bytes: the list is of its map', async (asker) => {
    const keys = await fill(asker, 'm', 50);
    await fill(asker, 'other', 50);
    const random = new Random(7);
    const places = [Buffer.alloc(LIST_PLACE_BYTES, 255), Buffer.alloc(LIST_PLACE_BYTES, '0')];
    for (let index = 0; index < 60; index++) {
      const place = Buffer.alloc(LIST_PLACE_BYTES);
      for (let at = random.below(20); at < LIST_PLACE_BYTES; at++) place[at] = random.below(256);
      places.push(index % 2 === 0 ? place : Buffer.from(place.reverse()));
    }
    for (const place of places) {
      const call = await asker.entries('m', { place });
      assert.equal(call.seen?.outcome, LISTED);
      for (const { key } of await asker.allEntries('m', { place })) assert.ok(keys.includes(key));
      for (const kind of ['map', 'queue'] as const) {
        assert.equal((await asker.names(kind, { place })).seen?.outcome, LISTED);
        for (const { name } of await asker.allNames(kind, { place })) {
          assert.ok(kind === 'map' && ['m', 'other'].includes(name));
        }
      }
    }
  });

  test('arguments may change as soon as the call has returned', async (asker) => {
    await asker.set('map', 'key', 'value');
    const bytes = Buffer.alloc(100);
    const at = (text: string, from: number) =>
      span('').set(bytes, from, from + bytes.write(text, from, 'latin1'));
    const [map, prefix, place] = [at('map', 3), at('k', 9), at('\0'.repeat(LIST_PLACE_BYTES), 20)];
    const keeper = new ListKeeper();
    asker.engine.entries(map, prefix, place, 10, keeper);
    bytes.fill('x');
    await keeper.answered;
    assert.deepEqual(keysOf(keeper.entries), ['key']);
    const names = new ListKeeper();
    asker.engine.names('map', at('m', 9), at('\0'.repeat(LIST_PLACE_BYTES), 20), 10, names);
    bytes.fill('x');
    await names.answered;
    assert.deepEqual(
      names.names.map((each) => each.name),
      ['map'],
    );
  });
}

function receiverCases(open: OpenSubject): void {
  const test = subjectTests(open);

  test('a receiver may call the engine, and its entry and key do not change', async (asker, subject) => {
    const keys = await fill(asker, 'm', 40);
    const seen: string[] = [];
    const meddler = meddlerOf(asker, subject, (key) => seen.push(key));
    let place: string | undefined;
    for (let rest = 1000; place !== '' && rest > 0; rest--) {
      const call = new ListKeeper(meddler);
      place = (await asker.entries('m', place === undefined ? {} : { place }, call)).seen!.place;
      await subject.quiet();
    }
    // Each entry is deleted or overwritten in the call that passes it, and others before theirs.
    for (const key of keys) assert.ok(seen.includes(key) || Number(key.slice(4)) % 3 === 0, key);
  });

  test('the receiver of the result may call the engine', async (asker, { engine, quiet }) => {
    await fill(asker, 'm', 20);
    const inner = new ListKeeper();
    const outer = new Keeper((answer) => {
      const before = copied(answer);
      engine.entries(span('m'), span(''), answer.place, 5, inner);
      engine.clear(span('m'), new Keeper());
      assert.deepEqual(copied(answer), before);
    });
    const onEntry = () => {};
    const place = span(Buffer.alloc(LIST_PLACE_BYTES));
    const onResult = outer.onResult.bind(outer);
    engine.entries(span('m'), span(''), place, 5, { onEntry, onResult });
    await quiet();
    await outer.answered;
    assert.equal((await inner.answered).outcome, LISTED);
  });

  test('a list without values has empty ones, and the lengths', async (asker, {
    engine,
    quiet,
  }) => {
    const keys = await fill(asker, 'm', 20);
    await asker.set('m', 'long', 'v'.repeat(100_000), 'a/type');
    const seen = new Map<string, number>();
    const onEntry = (key: Span, { value, version }: OperationResult, length: number) => {
      assert.equal(value.length, 0);
      assert.ok(!version.isNone);
      seen.set(key.toBuffer().toString(), length);
    };
    for (let place: Buffer | string = Buffer.alloc(LIST_PLACE_BYTES); place !== ''; ) {
      const end = new Keeper();
      const onResult = end.onResult.bind(end);
      const receiver = { hasNoValues: true, onEntry, onResult };
      engine.entries(span('m'), span(''), span(place), 100, receiver);
      await quiet();
      ({ place } = await end.answered);
    }
    assert.deepEqual([...seen.keys()].sort(), [...keys, 'long'].sort());
    assert.equal(seen.get('long'), 100_000);
  });

  test('a list of a closed engine is UNREACHABLE, without elements', async (asker, { engine }) => {
    await asker.set('m', 'k', 'v');
    await engine.close();
    for (const { entries, names, seen } of [await asker.entries('m'), await asker.names('map')]) {
      assert.deepEqual([entries, names], [[], []]);
      assert.deepEqual([seen?.outcome, seen?.reason, seen?.place], [UNREACHABLE, CLOSED, '']);
    }
  });
}

/**
 * Returns a function for onEntry that deletes or overwrites the entry, deletes or overwrites others
 * of `m`, and writes much to another map; the entry must not change meanwhile.
 */
function meddlerOf(asker: Asker, { engine, many }: Subject, onKey: (key: string) => void) {
  let count = 0;
  const set = (map: string, key: string, value: string) => {
    engine.set(span(map), span(key), span(value), span('t'), FOREVER, undefined, new Keeper());
  };
  return (key: string, entry?: Parameters<typeof copied>[0]) => {
    const before = copied(entry!);
    onKey(key);
    if (count++ % 2 === 0) engine.delete(span('m'), span(key), undefined, new Keeper());
    else set('m', key, 'overwritten');
    engine.delete(span('m'), span(`key ${3 * (count % 14)}`), undefined, new Keeper());
    set('m', `key ${(7 * count) % 40}`, 'again'.repeat(count % 300));
    for (let index = 0; index < many / 20; index++) set('n', `${index}`, 'x'.repeat(500 + count));
    asker.engine.entries(span('m'), span('key'), span(Buffer.alloc(LIST_PLACE_BYTES)), 2, {
      onEntry: () => {},
      onResult: () => {},
    });
    assert.deepEqual(copied(entry!), before);
  };
}

function nameCases(open: OpenSubject): void {
  const test = subjectTests(open);
  const put = (asker: Asker, kind: NameKind, name: string, element: string) =>
    kind === 'map' ? asker.set(name, element, 'v') : asker.offer(name, element);

  for (const kind of ['map', 'queue'] as const) {
    test(`names of each ${kind} are passed with their sizes, whatever the count`, async (asker) => {
      const sizes = new Map<string, number>();
      for (let index = 0; index < 60; index++) {
        sizes.set(`name ${index}`, 1 + (index % 5));
        for (let rest = index % 5; rest >= 0; rest--)
          await put(asker, kind, `name ${index}`, `${rest}`);
      }
      await put(asker, kind === 'map' ? 'queue' : 'map', 'of the other kind', 'e');
      await put(asker, kind === 'map' ? 'queue' : 'map', 'name 1', 'e');
      for (const count of [1, 2, 7, LIST_COUNT_MAX]) {
        const names = await asker.allNames(kind, { count });
        assert.deepEqual(new Map(names.map((each) => [each.name, each.size])), sizes);
        assert.ok((await asker.names(kind, { count })).names.length <= count);
      }
    });

    test(`names of each ${kind} are bytes, chosen by a prefix`, async (asker) => {
      const names = [
        '',
        '\0',
        'a',
        'a\0',
        'ab',
        'abc',
        'b',
        '\xff',
        '\xff\xff',
        '*',
        'a*',
        '[a]',
        '?',
      ];
      names.push('n'.repeat(3000), '{a}', 'a:b', ':');
      for (const each of names) await put(asker, kind, each, 'e');
      for (const prefix of [...names, 'abcd', '\xff\xff\xff', 'n'.repeat(4000)]) {
        const seen = (await asker.allNames(kind, { prefix })).map((each) => each.name);
        const listed = names.filter((each) => kind === 'queue' || each !== '');
        const expected = listed.filter((each) => each.startsWith(prefix));
        assert.deepEqual([...new Set(seen)].sort(), expected.sort());
      }
    });
  }

  test('the reserved map is never passed, whatever the count and the place', async (asker) => {
    for (let index = 0; index < 20; index++) {
      await asker.set('', `${index}`, 'v');
      assert.equal((await asker.size('')).count, index + 1);
      const names = Array.from({ length: index }, (_, number) => `m ${number}`).sort();
      for (const count of [1, 3, LIST_COUNT_MAX]) {
        const seen = (await asker.allNames('map', { count })).map((each) => each.name);
        assert.deepEqual([...new Set(seen)].sort(), names);
      }
      await asker.set(`m ${index}`, 'k', 'v');
    }
    const random = new Random(11);
    for (let rest = 200; rest > 0; rest--) {
      const place = random.bytes(LIST_PLACE_BYTES);
      if (rest % 2 === 0) place.fill(0, 1);
      for (const each of (await asker.names('map', { place })).names)
        assert.match(each.name, /^m /);
    }
  });

  test('names without entries or items are not passed', async (asker) => {
    await asker.set('stays', 'k', 'v');
    await asker.set('emptied', 'k', 'v');
    await asker.delete('emptied', 'k');
    await asker.set('cleared', 'k', 'v');
    await asker.clear('cleared');
    await asker.offer('stays', 'i');
    await asker.offer('emptied', 'i');
    await asker.poll('emptied');
    await asker.get('read', 'k');
    await asker.peek('read');
    for (const kind of ['map', 'queue'] as const) {
      assert.deepEqual(
        (await asker.allNames(kind)).map((each) => each.name),
        ['stays'],
      );
    }
  });

  test('bytes of a map are those that its size returns', async (asker) => {
    for (let index = 0; index < 10; index++) await asker.set('m', `${index}`, 'v'.repeat(100));
    const [only] = await asker.allNames('map');
    const { bytes } = await asker.size('m');
    assert.deepEqual(only, { name: 'm', size: 10, bytes });
    assert.ok(bytes === NOT_COUNTED || bytes > 1000);
  });

  test('a name that exists throughout is passed, whatever else changes', async (asker) => {
    const random = new Random(3);
    for (let index = 0; index < 30; index++) await asker.set(`stays ${index}`, 'k', 'v');
    const seen = new Set<string>();
    for (let place: string | undefined; place !== ''; ) {
      const call = await asker.names('map', {
        count: 2,
        ...(place === undefined ? {} : { place }),
      });
      for (const each of call.names) seen.add(each.name);
      for (let changes = 5; changes > 0; changes--) {
        const other = `other ${random.below(30)}`;
        if (random.below(3) === 0) await asker.clear(other);
        else if (random.below(2) === 0) await asker.delete(other, 'k');
        else await asker.set(other, 'k', 'v');
        await asker.set(`stays ${random.below(30)}`, `k${random.below(3)}`, 'v');
      }
      place = call.seen!.place;
    }
    for (let index = 0; index < 30; index++) assert.ok(seen.has(`stays ${index}`), `${index}`);
  });

  test('a receiver of names may call the engine, and its name does not change', async (asker, {
    engine,
    quiet,
  }) => {
    for (let index = 0; index < 20; index++) await asker.set(`m ${index}`, 'k', 'v');
    const seen = new Set<string>();
    const clears = (each: string) => {
      seen.add(each);
      engine.clear(span(each), new Keeper());
      for (let index = 0; index < 10; index++) {
        const value = span('v'.repeat(100));
        const key = span(`${seen.size} ${index}`);
        engine.set(span('another'), key, value, span(''), FOREVER, undefined, new Keeper());
      }
    };
    let place: string | undefined;
    for (let rest = 1000; place !== '' && rest > 0; rest--) {
      const call = new ListKeeper(clears);
      place = (await asker.names('map', place === undefined ? {} : { place }, call)).seen!.place;
      await quiet();
    }
    for (let index = 0; index < 20; index++) assert.ok(seen.has(`m ${index}`), `${index}`);
  });
}
