/** Changes that are made one after the other while the servers of an engine change. */
import assert from 'node:assert/strict';
import {
  ABSENT,
  APPLIED,
  CLOSED,
  type Engine,
  FOUND,
  type Outcome,
  UNKNOWN,
} from '../../../src/engine/engine.ts';
import { Asker } from '../results.ts';

type Sleep = (ms: number) => Promise<unknown>;

const WRITERS = 16;
const OFFERS = 3;
const PAUSE_MS = 2;

/**
 * Sets of new keys until `end` is called or the engine is closed. Each writer has one set under
 * way.
 */
export class Writes {
  readonly #asker: Asker;
  readonly #map: string;
  readonly #sleep: Sleep;
  readonly #outcomes = new Map<string, Outcome>();
  readonly #writers: readonly Promise<void>[];
  #isEnding = false;

  constructor(engine: Engine, map: string, sleep: Sleep) {
    this.#asker = new Asker(engine);
    this.#map = map;
    this.#sleep = sleep;
    this.#writers = Array.from({ length: WRITERS }, (_, index) => this.#write(index));
  }

  /** The number of sets with this outcome. */
  count(outcome: Outcome): number {
    return [...this.#outcomes.values()].filter((each) => each === outcome).length;
  }

  outcomes(): Outcome[] {
    return [...new Set(this.#outcomes.values())].sort();
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#writers);
  }

  /** Fails unless all APPLIED entries exist, and of the others at most those that are UNKNOWN. */
  async check(): Promise<void> {
    await this.end();
    const missing: string[] = [];
    const unexpected: string[] = [];
    for (const [key, outcome] of this.#outcomes) {
      const found = (await this.#asker.get(this.#map, key)).outcome;
      if (outcome === APPLIED && found !== FOUND) missing.push(key);
      if (outcome !== APPLIED && outcome !== UNKNOWN && found === FOUND) unexpected.push(key);
    }
    assert.deepEqual({ missing, unexpected }, { missing: [], unexpected: [] });
    assert.ok(this.count(APPLIED) > 0);
  }

  async #write(index: number): Promise<void> {
    for (let number = 0; !this.#isEnding; number++) {
      const key = `${index}-${number}`;
      const { outcome, reason } = await this.#asker.set(this.#map, key, key);
      this.#isEnding ||= reason === CLOSED;
      this.#outcomes.set(key, outcome);
      await this.#sleep(PAUSE_MS);
    }
  }
}

/** Offers until `check` is called or the engine is closed, three at a time. */
export class Offers {
  readonly #asker: Asker;
  readonly #queue: string;
  readonly #sleep: Sleep;
  readonly #outcomes: Outcome[] = [];
  readonly #done: Promise<void>;
  #isEnding = false;

  constructor(engine: Engine, queue: string, sleep: Sleep) {
    this.#asker = new Asker(engine);
    this.#queue = queue;
    this.#sleep = sleep;
    this.#done = this.#offer();
  }

  /** Ends the offers; fails unless each item is in the queue once, in order. */
  async check(): Promise<void> {
    this.#isEnding = true;
    await this.#done;
    assert.deepEqual([...new Set(this.#outcomes)], [APPLIED]);
    const items: number[] = [];
    for (;;) {
      const { outcome, value } = await this.#asker.poll(this.#queue);
      if (outcome === ABSENT) break;
      items.push(Number(value));
    }
    assert.deepEqual(items, [...this.#outcomes.keys()]);
  }

  async #offer(): Promise<void> {
    for (let number = 0; !this.#isEnding; ) {
      const round = Array.from({ length: OFFERS }, () =>
        this.#asker.offer(this.#queue, `${number++}`),
      );
      for (const { outcome, reason } of await Promise.all(round)) {
        this.#isEnding ||= reason === CLOSED;
        this.#outcomes.push(outcome);
      }
      await this.#sleep(PAUSE_MS);
    }
  }
}
