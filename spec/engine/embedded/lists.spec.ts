/**
 * Lists of the embedded engine: each element exactly once, in short calls, whatever is changed
 * between the calls or by a receiver. The contract of lists is in lists.case.ts.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../bench/harness.ts';
import type { Pin } from '../../../src/base/pin.ts';
import type { EmbeddedEngine } from '../../../src/engine/embedded/embedded-engine.ts';
import {
  APPLIED,
  LIST_COUNT_MAX,
  LIST_PLACE_BYTES,
  LISTED,
  type NameKind,
  UNREACHABLE,
  VALUE_COPY_BYTES_MAX,
} from '../../../src/engine/engine.ts';
import { KeyWords } from '../../../src/engine/key-words.ts';
import { CLEAR, SET } from '../../../src/engine/mutation.ts';
import type { FakeClock } from '../../fake-clock.ts';
import { changeOf, merged } from '../changes.ts';
import { ListKeeper, type ListOptions, span } from '../results.ts';
import { visited } from '../stored-engine.case.ts';
import type { AtOnce } from './at-once.ts';
import { componentsOf, engineOf } from './components-of.ts';

const START = Buffer.alloc(LIST_PLACE_BYTES);

/** One call of a list of entries; returns its receiver, which has the result. */
function callEntries(
  engine: EmbeddedEngine,
  map: string,
  { prefix = '', place = START, count = LIST_COUNT_MAX }: ListOptions,
  keeper = new ListKeeper(),
): ListKeeper {
  engine.entries(span(map), span(prefix), span(place), count, keeper);
  assert.ok(keeper.seen !== undefined, 'no result during the call');
  assert.ok(keeper.entries.length <= count);
  return keeper;
}

function callNames(engine: EmbeddedEngine, kind: NameKind, options: ListOptions): ListKeeper {
  const { prefix = '', place = START, count = LIST_COUNT_MAX } = options;
  const keeper = new ListKeeper();
  engine.names(kind, span(prefix), span(place), count, keeper);
  assert.ok(keeper.names.length <= count);
  return keeper;
}

/** Lists to the end. `call` makes a call at a place. Returns the number of calls. */
function toEnd(call: (place: string | Buffer) => ListKeeper): number {
  let place: string | Buffer = START;
  let calls = 0;
  for (; place.length > 0; calls++) place = call(place).seen!.place;
  return calls;
}

function keysOf(engine: EmbeddedEngine, map: string, options: ListOptions = {}): string[] {
  const keys: string[] = [];
  toEnd((place) => {
    const call = callEntries(engine, map, { ...options, place });
    for (const { key } of call.entries) keys.push(key);
    return call;
  });
  return keys;
}

/** Random changes of the map `m` beside a model of its entries, and of other maps and queues. */
class Meddler {
  readonly model = new Map<string, string>();
  /** Keys of the entries that have existed since `begin`. */
  #staying = new Set<string>();
  readonly #ask: AtOnce;
  readonly #clock: FakeClock;
  readonly #random: Random;
  /** Number of keys in use: changes when the map grows and shrinks. */
  #keys = 500;
  #count = 0;

  constructor(ask: AtOnce, clock: FakeClock, random: Random) {
    this.#ask = ask;
    this.#clock = clock;
    this.#random = random;
  }

  begin(): Set<string> {
    this.#staying = new Set(this.model.keys());
    return this.#staying;
  }

  /** Returns whether the map was cleared. */
  meddle(changes: number): boolean {
    const random = this.#random;
    if (random.below(40) === 0) this.#keys = 50 + random.below(3000);
    for (let rest = changes; rest > 0; rest--) this.#change();
    if (random.below(10) === 0) this.#clock.advance(random.below(20));
    if (random.below(400) > 0) return false;
    this.#ask.clear('m');
    this.model.clear();
    this.#staying.clear();
    return true;
  }

  #change(): void {
    const ask = this.#ask;
    const random = this.#random;
    const key = `key ${random.below(this.#keys)}`;
    const kind = random.below(10);
    if (kind < 5) {
      const value = `${this.#count++}`.padEnd(random.below(40) === 0 ? 20_000 : random.below(200));
      ask.set('m', key, value, kind === 0 ? `type ${random.below(5)}` : '');
      this.model.set(key, value);
    } else if (kind < 8) {
      const gone = random.below(2) === 0 ? key : `key ${random.below(3000)}`;
      ask.delete('m', gone);
      this.model.delete(gone);
      this.#staying.delete(gone);
    } else if (kind < 9) {
      ask.set(`other ${random.below(3)}`, key, 'v');
      if (random.below(200) === 0) ask.clear(`other ${random.below(3)}`);
    } else if (random.below(2) === 0) ask.offer(`q ${random.below(20)}`, 'item');
    else ask.poll(`q ${random.below(20)}`);
  }
}

describe('a list of entries', () => {
  for (const [partitionCount, count, changes] of [
    [1, 1, 2],
    [5, 3, 10],
    [1, 100, 300],
    [7, LIST_COUNT_MAX, 3000],
  ] as const) {
    it(`passes each entry exactly once, in calls of ${count}, with ${changes} changes between`, () => {
      for (let seed = 1; seed <= 4; seed++) {
        const { engine, ask, clock } = engineOf({ partitionCount });
        const random = new Random(seed * 1000 + count);
        const meddler = new Meddler(ask, clock, random);
        meddler.meddle(3000);
        const staying = meddler.begin();
        const seen = new Set<string>();
        let wasCleared = false;
        const calls = toEnd((place) => {
          const call = callEntries(engine, 'm', { count, place });
          for (const { key, value } of call.entries) {
            assert.ok(wasCleared || !seen.has(key), `${key} twice, seed ${seed}`);
            assert.equal(value, meddler.model.get(key), `${key}, seed ${seed}`);
            seen.add(key);
          }
          wasCleared = meddler.meddle(random.below(2 * changes)) || wasCleared;
          return call;
        });
        assert.ok(calls >= seen.size / count);
        for (const key of staying) assert.ok(seen.has(key), `${key} is missing, seed ${seed}`);
        engine.close();
      }
    });
  }

  it('passes two entries of one hash exactly once, also in two calls', () => {
    const [first, second, map] = keysOfOneHash();
    for (const keys of [
      [first, second],
      [second, first],
    ]) {
      const { engine, ask } = engineOf({ partitionCount: 1 });
      ask.set(map, 'before', 'v');
      for (const key of keys) ask.set(map, key, `of ${key}`);
      for (let index = 0; index < 20; index++) ask.set(map, `${index}`, 'v');
      let hasCut = false;
      const seen: string[] = [];
      toEnd((place) => {
        const call = callEntries(engine, map, { count: 1, place });
        hasCut ||= /[^\0]/.test(call.seen!.place.slice(8));
        for (const { key, value } of call.entries) {
          seen.push(key);
          if (!key.startsWith('key')) continue;
          assert.equal(value, `of ${key}`);
          // The order in the index changes: the entry is added again after the other one.
          ask.delete(map, key);
          ask.set(map, key, `of ${key}`);
        }
        return call;
      });
      assert.ok(hasCut, 'a place between the entries');
      assert.deepEqual(new Set(seen).size, seen.length);
      assert.ok(seen.includes(first) && seen.includes(second));
      assert.equal(seen.length, 23);
      assert.equal(keysOf(engine, map).length, 23);
      engine.close();
    }
  });

  it('continues between two entries of one hash when either is deleted', () => {
    const [first, second, map] = keysOfOneHash();
    for (const isPassedDeleted of [true, false]) {
      const { engine, ask } = engineOf({ partitionCount: 1 });
      ask.set(map, first, 'v');
      ask.set(map, second, 'v');
      const seen: string[] = [];
      toEnd((place) => {
        const call = callEntries(engine, map, { count: 1, place });
        for (const { key } of call.entries) {
          seen.push(key);
          const other = key === first ? second : first;
          if (seen.length === 1) ask.delete(map, isPassedDeleted ? key : other);
        }
        return call;
      });
      assert.equal(seen.length, isPassedDeleted ? 2 : 1);
      assert.equal(new Set(seen).size, seen.length);
      engine.close();
    }
  });

  it('makes short calls, also among 200,000 entries of one partition', () => {
    const entries = 200_000;
    const { engine, ask } = engineOf({ partitionCount: 1 });
    for (let index = 0; index < entries; index++) ask.set('m', `key ${index}`, 'v');
    for (let index = 0; index < 20; index++) ask.set('small', `key ${index}`, 'v');
    const keys = new Set<string>();
    const calls = toEnd((place) => {
      const call = callEntries(engine, 'm', { place });
      for (const { key } of call.entries) {
        assert.ok(!keys.has(key));
        keys.add(key);
      }
      return call;
    });
    assert.equal(keys.size, entries);
    assert.ok(calls > entries / 2000, `${calls} calls`);
    for (const [map, prefix, count] of [
      ['m', 'nothing', 0],
      ['small', '', 20],
    ] as const) {
      let passed = 0;
      const others = toEnd((place) => {
        const call = callEntries(engine, map, { prefix, place });
        passed += call.entries.length;
        return call;
      });
      assert.equal(passed, count);
      assert.ok(others > entries / 2000, `${others} calls`);
    }
    // Most of the index is free while the entries of a cleared map are removed.
    ask.clear('m');
    for (let index = 0; index < 5000; index++) {
      ask.set('other', 'k', 'v');
      if (index % 500 === 0) assert.equal(keysOf(engine, 'small').length, 20);
    }
    engine.close();
  });

  it('continues in the next partition at a place after all hashes', () => {
    const { engine, ask } = engineOf({ partitionCount: 2 });
    const partitions = [0, 0];
    for (let index = 0; index < 50; index++) {
      partitions[ask.set('m', `${index}`, 'v').partition]!++;
    }
    for (const [secondHash, partition] of [
      [0, 0],
      [0xffff_fffe, 0],
      [0xffff_ffff, 0],
      [0xffff_ffff, 1],
    ] as const) {
      const place = Buffer.alloc(LIST_PLACE_BYTES);
      place.writeUInt32LE(partition, 0);
      place.writeUInt32LE(0xffff_ffff, 4);
      place.writeUInt32LE(secondHash, 8);
      const expected = partition === 0 ? partitions[1] : 0;
      let passed = 0;
      for (let at: string | Buffer = place; at.length > 0; ) {
        const call = callEntries(engine, 'm', { place: at, count: 7 });
        passed += call.entries.length;
        at = call.seen!.place;
      }
      assert.equal(passed, expected);
    }
    engine.close();
  });

  it('does not pass entries that a merged clear has ended', () => {
    const { engine } = engineOf();
    for (let low = 1; low <= 100; low++) {
      const change = changeOf(SET, { key: `k${low}`, value: 'v', version: low });
      assert.equal(merged(engine, change).outcome, APPLIED);
    }
    const change = changeOf(CLEAR, { key: '', value: '', version: 60 });
    assert.equal(merged(engine, change).outcome, APPLIED);
    assert.equal(keysOf(engine, 'm').length, 40);
    engine.close();
  });

  it('does not count as a read of its entries, and removes none', () => {
    const { engine, ask, clock } = engineOf({ keepsStatistics: () => true });
    ask.set('m', 'k', 'v', '', { timeToLiveMs: 0, maxIdleSeconds: 100 });
    ask.set('m', 'short', 'v', '', { timeToLiveMs: 10, maxIdleSeconds: 0 });
    ask.get('m', 'k');
    const before = visited(engine);
    clock.advance(5);
    const memory = engine.memoryBytes;
    const sequences = engine.sequences();
    for (let rest = 3; rest > 0; rest--) assert.equal(keysOf(engine, 'm').length, 2);
    assert.deepEqual(visited(engine), before);
    clock.setWall(clock.wall() + 5);
    assert.deepEqual(keysOf(engine, 'm'), ['k']);
    assert.deepEqual([engine.sequences(), engine.memoryBytes], [sequences, memory]);
    engine.close();
  });
});

describe('a receiver of entries', () => {
  it('gets each entry as it is then, and none that it has deleted', () => {
    for (let seed = 1; seed <= 8; seed++) {
      const { engine, ask, clock } = engineOf({ partitionCount: 1 + (seed % 3) });
      const meddler = new Meddler(ask, clock, new Random(seed));
      meddler.meddle(1000);
      const staying = meddler.begin();
      const seen = new Set<string>();
      let wasCleared = false;
      toEnd((place) => {
        const keeper = new ListKeeper((key, entry) => {
          const value = entry!.value.toBuffer().toString();
          assert.equal(value, meddler.model.get(key), `${key}, seed ${seed}`);
          assert.ok(wasCleared || !seen.has(key), `${key} twice, seed ${seed}`);
          seen.add(key);
          wasCleared = meddler.meddle(20) || wasCleared;
          assert.equal(entry!.value.toBuffer().toString(), value);
        });
        return callEntries(engine, 'm', { place }, keeper);
      });
      for (const key of staying) assert.ok(seen.has(key), `${key} is missing, seed ${seed}`);
      engine.invariants();
      engine.close();
    }
  });

  it('may pin a long value, which remains when its entry is deleted', () => {
    const { engine, ask } = engineOf();
    const lengths = [VALUE_COPY_BYTES_MAX + 1, 300_000, 1_000_000];
    for (const [index, length] of lengths.entries()) {
      ask.set('m', `${index}`, Buffer.alloc(length, `${index}`));
    }
    const pins: Pin[] = [];
    const pinned: Buffer[] = [];
    toEnd((place) => {
      const keeper = new ListKeeper((key, entry) => {
        const { bytes, start, end } = entry!.value;
        pins.push(entry!.pin());
        pinned[Number(key)] = bytes.subarray(start, end);
        ask.delete('m', key);
        for (const length of lengths) ask.set('n', 'k', Buffer.alloc(length, 'x'));
      });
      return callEntries(engine, 'm', { place }, keeper);
    });
    for (const length of lengths) ask.set('n', `${length}`, Buffer.alloc(length, 'x'));
    for (const [index, length] of lengths.entries()) {
      assert.ok(pinned[index]!.equals(Buffer.alloc(length, `${index}`)));
    }
    assert.equal(pins.length, lengths.length);
    for (const pin of pins) pin.release();
    engine.close();
  });

  it('may list the same map, clear it, or close the engine', () => {
    const { engine, ask } = engineOf();
    const fill = () => {
      for (let index = 0; index < 100; index++) ask.set('m', `${index}`, `of ${index}`);
    };
    fill();
    let inner = 0;
    const outer = callEntries(
      engine,
      'm',
      {},
      new ListKeeper((key, entry) => {
        inner += keysOf(engine, 'm', { count: 3 }).length;
        assert.equal(entry!.value.toBuffer().toString(), `of ${key}`);
      }),
    );
    assert.deepEqual([outer.entries.length, inner], [100, 10_000]);
    const cleared = callEntries(engine, 'm', {}, new ListKeeper(() => ask.clear('m')));
    assert.deepEqual([cleared.entries.length, cleared.seen!.place], [1, '']);
    fill();
    const closing = callEntries(engine, 'm', {}, new ListKeeper(() => engine.close()));
    assert.equal(closing.seen!.outcome, LISTED);
    for (const { key, value } of closing.entries) assert.equal(value, `of ${key}`);
    assert.equal(callEntries(engine, 'm', {}).seen!.outcome, UNREACHABLE);
  });
});

it('an entry that expires while its receiver reads it still has a time to live', () => {
  const { engine, ask, clock } = engineOf();
  ask.set('m', 'k', 'v', '', { timeToLiveMs: 10, maxIdleSeconds: 0 });
  const keeper = new ListKeeper((_, entry) => {
    assert.equal(entry!.timeToLiveMs, 10);
    clock.setWall(clock.wall() + 10);
    assert.equal(entry!.timeToLiveMs, 1);
  });
  assert.equal(callEntries(engine, 'm', {}, keeper).entries.length, 1);
  engine.close();
});

describe('a list of names', () => {
  it('passes each name exactly once, with its size, whatever is changed between the calls', () => {
    for (const count of [1, 7, LIST_COUNT_MAX]) {
      for (const kind of ['map', 'queue'] as const) {
        const { engine, ask, clock } = engineOf();
        const random = new Random(count);
        const sizes = new Map<string, number>();
        const staying = new Set<string>();
        const change = () => {
          const name = `name ${random.below(200)}`;
          const size = sizes.get(name) ?? 0;
          const isAdded = random.below(2) === 0;
          if (kind === 'map') {
            if (isAdded) ask.set(name, `${size}`, 'v');
            else ask.delete(name, `${size - 1}`);
          } else if (isAdded) ask.offer(name, 'item');
          else ask.poll(name);
          sizes.set(name, Math.max(size + (isAdded ? 1 : -1), 0));
          if (sizes.get(name) === 0) staying.delete(name);
          if (random.below(50) === 0) clock.advance(5);
        };
        for (let rest = 2000; rest > 0; rest--) change();
        for (const [name, size] of sizes) if (size > 0) staying.add(name);
        const stayed = new Map<string, number>();
        toEnd((place) => {
          const call = callNames(engine, kind, { count, place });
          for (const { name, size } of call.names) {
            assert.equal(size, sizes.get(name), name);
            stayed.set(name, (stayed.get(name) ?? 0) + 1);
          }
          for (let rest = random.below(10); rest > 0; rest--) change();
          return call;
        });
        for (const name of staying) assert.equal(stayed.get(name), 1, name);
        engine.close();
      }
    }
  });

  it('makes short calls among many names, and does not visit entries', () => {
    const { engine, ask } = engineOf({ partitionCount: 1 });
    for (let index = 0; index < 5000; index++) ask.set(`map ${index}`, 'k', 'v');
    for (let index = 0; index < 20_000; index++) ask.set('map 0', `${index}`, 'v');
    let passed = 0;
    const calls = toEnd((place) => {
      const call = callNames(engine, 'map', { prefix: 'map 499', place });
      passed += call.names.length;
      return call;
    });
    assert.equal(passed, 11);
    assert.ok(calls >= 5 && calls < 20, `${calls} calls`);
    engine.close();
  });
});

it('a list asserts that its place has its length, and that its count is in the limits', () => {
  const { engine, ask } = engineOf();
  ask.set('m', 'k', 'v');
  const options = [{ place: '' }, { place: START.subarray(1) }, { count: 0 }];
  for (const each of [...options, { count: LIST_COUNT_MAX + 1 }, { count: Number.NaN }]) {
    assert.throws(() => callEntries(engine, 'm', each), /a place of|a list of/);
    assert.throws(() => callNames(engine, 'map', each), /a place of|a list of/);
  }
  engine.close();
});

it('listRun is a number of 32 bits, not 0, and another one in each engine', () => {
  const runs = new Set<number>();
  for (let rest = 20; rest > 0; rest--) {
    const { engine } = engineOf();
    runs.add(engine.listRun);
    engine.reset();
    runs.add(engine.listRun);
    engine.close();
  }
  assert.ok(runs.size > 35);
  for (const run of runs) assert.ok(Number.isInteger(run) && run > 0 && run < 2 ** 32);
});

/** Returns two keys whose hashes in a map are equal in engines of these specs, and the map. */
function keysOfOneHash(): [string, string, string] {
  const { store } = componentsOf(1).components;
  const words = new KeyWords();
  const byHash = new Map<number, string>();
  for (let index = 0; ; index++) {
    const key = `key ${index}`;
    // The id of an engine's first map is 1.
    const hash = store.hash(1, words.load(span(key)));
    const other = byHash.get(hash);
    if (other !== undefined) return [other, key, 'm'];
    byHash.set(hash, key);
  }
}
