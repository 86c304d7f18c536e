/**
 * The cell store against a plain Map: growth, deletes, clears, conditions, lifetimes, reuse, every
 * size, many maps.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  ABSENT,
  APPLIED,
  CONDITION_FAILED,
  FOREVER,
  FOUND,
  MEMORY_FULL,
} from '../../../src/engine/engine.ts';
import { Version } from '../../../src/engine/version.ts';
import type { FakeClock } from '../../fake-clock.ts';
import { type AtOnce, MODEL_RUNS } from './at-once.ts';
import { engineOf } from './components-of.ts';

/**
 * Lengths of values: tiny, usual, near the limit of copies in words, long cells, values with
 * separate buffers.
 */
const lengths = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 160 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1000, max: 9000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 16_300, max: 16_400 }) },
  { weight: 1, arbitrary: fc.integer({ min: 65_500, max: 66_000 }) },
);
const maps = fc.constantFrom('a', 'b', 'c', 'a longer name of a map');
const keys = fc.oneof(
  fc.nat(60).map(String),
  fc.nat(6).map((n) => 'k'.repeat(n * 37)),
);
const steps = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        ...{ set: keys, map: maps, length: lengths, type: fc.nat(4) },
        timeToLiveMs: fc.constantFrom(0, 0, 0, 40),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ changeIf: keys, map: maps, isSet: fc.boolean(), on: fc.nat(2) }),
    },
    { weight: 5, arbitrary: fc.record({ delete: keys, map: maps }) },
    { weight: 1, arbitrary: fc.record({ clear: maps }) },
    { weight: 1, arbitrary: fc.record({ pass: fc.nat(20) }) },
  ),
  { maxLength: 400, size: 'max' },
);

interface Entry {
  readonly value: string;
  readonly type: string;
  readonly version: Version;
  readonly expiryMs: number;
}

/** A model of all maps by name and key. */
class Model {
  readonly entries = new Map<string, Map<string, Entry>>();
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  /** Returns the map without its expired entries. */
  map(name: string): Map<string, Entry> {
    const map = this.entries.get(name) ?? new Map<string, Entry>();
    this.entries.set(name, map);
    for (const [key, { expiryMs }] of map) if (expiryMs <= this.#clock.wall()) map.delete(key);
    return map;
  }
}

function agree(engine: AtOnce, model: Model): void {
  for (const name of model.entries.keys()) {
    const map = model.map(name);
    assert.equal(engine.size(name).count, map.size);
    for (const [key, entry] of map) {
      const answer = engine.get(name, key);
      assert.equal(answer.outcome, FOUND, `${name}/${key}`);
      assert.ok(answer.value === entry.value, `${name}/${key}`);
      assert.equal(answer.contentType, entry.type);
    }
  }
}

function run(partitionCount: number, memoryBytesMax: number, actions: readonly Step[]): void {
  const { clock, engine, ask } = engineOf({ partitionCount, memoryBytesMax });
  const model = new Model(clock);
  let fill = 0;
  let former = new Version();
  for (const action of actions) {
    if ('set' in action) {
      const value = Buffer.alloc(action.length, String.fromCharCode(33 + (fill++ % 90)));
      const type = action.type === 0 ? '' : `type/${action.type}`;
      const { timeToLiveMs } = action;
      const lifetime = { timeToLiveMs, maxIdleSeconds: 0 };
      const { outcome, version } = ask.set(action.map, action.set, value, type, lifetime);
      if (outcome === APPLIED) {
        const expiryMs = timeToLiveMs === 0 ? Infinity : clock.wall() + timeToLiveMs;
        const entry = { value: value.toString('latin1'), type, version, expiryMs };
        model.map(action.map).set(action.set, entry);
        former = version;
      } else {
        assert.equal(outcome, MEMORY_FULL);
        assert.ok(Number.isFinite(memoryBytesMax));
      }
    } else if ('changeIf' in action) {
      const { map: name, changeIf: key, isSet } = action;
      const map = model.map(name);
      const present = map.get(key)?.version ?? new Version();
      const condition = [present, new Version(), former][action.on]!;
      const answer = isSet
        ? ask.set(name, key, Buffer.from('v'), '', FOREVER, condition)
        : ask.delete(name, key, condition);
      const { outcome, version } = answer;
      if (!present.is(condition)) {
        assert.deepEqual([outcome, version], [CONDITION_FAILED, present]);
      } else if (isSet && outcome === APPLIED) {
        map.set(key, { value: 'v', type: '', version, expiryMs: Infinity });
      } else {
        assert.equal(outcome, isSet ? MEMORY_FULL : APPLIED);
        if (!isSet) map.delete(key);
      }
    } else if ('delete' in action) {
      assert.equal(ask.delete(action.map, action.delete).outcome, APPLIED);
      model.map(action.map).delete(action.delete);
      assert.equal(ask.get(action.map, action.delete).outcome, ABSENT);
    } else if ('clear' in action) {
      ask.clear(action.clear);
      model.map(action.clear).clear();
    } else {
      clock.advance(action.pass);
    }
    assert.ok(engine.memoryBytes <= memoryBytesMax);
  }
  agree(ask, model);
  const sizes = [...model.entries.values()].map(({ size }) => size).filter((size) => size > 0);
  const entryCount = sizes.reduce((sum, size) => sum + size, 0);
  assert.deepEqual([engine.maps.count, engine.entryCount], [sizes.length, entryCount]);
  for (const [name, map] of model.entries) for (const key of map.keys()) ask.delete(name, key);
  clock.advance(10_000);
  assert.ok(engine.memoryBytes <= partitionCount * 128 + 8 * 4096);
  assert.equal(clock.timerCount, 0);
  assert.deepEqual([engine.maps.count, engine.entryCount], [0, 0]);
}

type Step = NonNullable<(typeof steps extends fc.Arbitrary<infer T> ? T : never)[number]>;

describe('the maps of an embedded engine', () => {
  it('behave like plain Maps, and leave nothing allocated', () => {
    fc.assert(
      fc.property(fc.constantFrom(1, 3, 271), steps, (partitionCount, actions) => {
        run(partitionCount, Number.POSITIVE_INFINITY, actions);
      }),
      { numRuns: 2 * MODEL_RUNS },
    );
  });

  it('count their bytes also while buffers of long values are released', () => {
    const { engine, ask } = engineOf();
    for (let index = 0; index < 200; index++) ask.set('m', `${index}`, Buffer.alloc(20_000));
    const { bytes } = ask.size('m');
    for (let index = 1; index < 200; index++) ask.delete('m', `${index}`);
    const left = ask.size('m').bytes;
    assert.ok(left > 20_000 && left < bytes / 190, `${left} bytes`);
    ask.delete('m', '0');
    assert.equal(ask.size('m').bytes, 0);
    engine.close();
  });

  it('refuse writes without memory, do not change in this case, and continue', () => {
    fc.assert(
      fc.property(fc.integer({ min: 200_000, max: 600_000 }), steps, (bytes, actions) => {
        run(1, bytes, actions);
      }),
      { numRuns: MODEL_RUNS },
    );
  });
});
