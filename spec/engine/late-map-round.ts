/**
 * One seeded round of maps on an engine whose results arrive later. A read must see, for its key,
 * at least the changes completed when it was called, and none that was called later; on an ordered
 * engine exactly those called before it. At the end the maps must be as the last changes left them.
 */
import assert from 'node:assert/strict';
import { Random } from '../../bench/harness.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { ABSENT, APPLIED, FOREVER, FOUND } from '../../src/engine/engine.ts';
import { FakeClock } from '../fake-clock.ts';
import { LateEngine, type LateEngineOptions } from './late-engine.ts';
import { span } from './results.ts';

const PARTITION_COUNT = 5;
const STEPS = 60;
const MAPS = ['m', 'n'];
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];

/** The changes of one entry in the order of the calls: the value after each, undefined for none. */
interface History {
  readonly values: (string | undefined)[];
  /** Index of the last change that has a result. */
  answered: number;
}

type MapRoundOptions = Pick<LateEngineOptions, 'isOrdered' | 'turns'>;

/** The wrapped engine, which all rounds use. */
class MapWorld {
  readonly clock = new FakeClock();
  readonly inside = new EmbeddedEngine({
    partitionCount: PARTITION_COUNT,
    clock: this.clock,
    queueCapacity: () => 1,
  });
}

/**
 * Runs rounds from this seed on. Returns the number of reads that have seen more than the completed
 * changes.
 */
export function lateMapRounds(first: number, count: number, options: MapRoundOptions): number {
  const world = new MapWorld();
  let aheadCount = 0;
  for (let seed = first; seed < first + count; seed++) {
    const round = new Round(world, seed, options);
    round.run();
    aheadCount += round.aheadCount;
  }
  return aheadCount;
}

class Round {
  aheadCount = 0;
  readonly #world: MapWorld;
  readonly #isOrdered: boolean;
  readonly #random: Random;
  readonly #engine: LateEngine;
  readonly #histories = new Map<string, History>();
  #openCount = 0;

  constructor({ clock, inside }: MapWorld, seed: number, options: MapRoundOptions) {
    this.#world = { clock, inside };
    this.#isOrdered = options.isOrdered;
    this.#random = new Random(seed * 2654435761 + 1);
    this.#engine = new LateEngine(inside, {
      clock,
      random: new Random(seed * 40503 + 7),
      partitionCount: PARTITION_COUNT,
      ...options,
    });
    for (const map of MAPS) {
      for (const key of KEYS) this.#histories.set(map + key, { values: [undefined], answered: 0 });
    }
  }

  run(): void {
    void this.#engine.open();
    for (let step = 0; step < STEPS; step++) this.#step(`${step}`, this.#random.below(100));
    for (const map of MAPS) this.#size(map);
    this.#world.clock.settle();
    for (const map of MAPS) for (const key of KEYS) this.#get(map, key);
    for (const map of MAPS) this.#clear(map);
    this.#world.clock.settle();
    assert.deepEqual([this.#openCount, this.#engine.operationCount], [0, 0]);
    this.#world.inside.invariants();
  }

  #step(value: string, choice: number): void {
    const map = MAPS[this.#random.below(MAPS.length)]!;
    const key = KEYS[this.#random.below(KEYS.length)]!;
    if (choice < 35) this.#set(map, key, value);
    else if (choice < 45) this.#delete(map, key);
    else if (choice < 50) this.#clear(map);
    else if (choice < 80) this.#get(map, key);
    else if (choice < 85) this.#size(map);
    else this.#world.clock.endTurn();
  }

  #set(map: string, key: string, value: string): void {
    const onResult = this.#change([map + key], value);
    const name = span(map);
    const at = span(key);
    const bytes = span(value);
    const none = span('');
    this.#engine.set(name, at, bytes, none, FOREVER, undefined, { onResult });
    for (const each of [name, at, bytes]) each.bytes.fill('?');
  }

  #delete(map: string, key: string): void {
    const onResult = this.#change([map + key], undefined);
    this.#engine.delete(span(map), span(key), undefined, { onResult });
  }

  #clear(map: string): void {
    const entries = KEYS.map((key) => map + key);
    this.#engine.clear(span(map), { onResult: this.#change(entries, undefined) });
  }

  #change(entries: string[], value: string | undefined): (answer: { outcome: number }) => void {
    const changed = entries.map((entry) => this.#histories.get(entry)!);
    const places = changed.map(({ values }) => values.push(value) - 1);
    this.#openCount++;
    return ({ outcome }) => {
      this.#openCount--;
      assert.equal(outcome, APPLIED);
      changed.forEach((history, index) => {
        history.answered = Math.max(history.answered, places[index]!);
      });
    };
  }

  #get(map: string, key: string): void {
    const { values, answered } = this.#histories.get(map + key)!;
    const called = values.length;
    this.#openCount++;
    this.#engine.get(span(map), span(key), {
      onResult: ({ outcome, value }) => {
        this.#openCount--;
        const seen = outcome === FOUND ? value.toBuffer().toString() : undefined;
        assert.equal(outcome, seen === undefined ? ABSENT : FOUND);
        const possible = this.#isOrdered
          ? values.slice(called - 1, called)
          : values.slice(answered, values.length);
        assert.ok(possible.includes(seen), `${seen} is not one of ${possible}`);
        if (seen !== values[answered]) this.aheadCount++;
      },
    });
  }

  /** Unordered reads are only required to be within the bounds. */
  #size(map: string): void {
    const present = KEYS.filter(
      (key) => this.#histories.get(map + key)!.values.at(-1) !== undefined,
    );
    this.#openCount++;
    this.#engine.size(span(map), {
      onResult: ({ count }) => {
        this.#openCount--;
        if (this.#isOrdered) assert.equal(count, present.length);
        else assert.ok(count <= KEYS.length);
      },
    });
  }
}
