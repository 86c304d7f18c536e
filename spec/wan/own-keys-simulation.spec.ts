/**
 * Covers src/wan. Members of chains, rings, stars and meshes, each of which writes separate keys,
 * under one policy, over a network that loses, delays, duplicates and reorders messages. Sources and
 * targets are killed and restarted: then a source sends everything again, and a target has lost its
 * record of applied events. At the end all have equal entries, and no reader has ever seen an entry
 * vanish that its writer did not remove. `WAN_SEEDS` runs more seeds.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  LATEST_UPDATE,
  type MergePolicy,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../../src/engine/merge-policy.ts';
import { CLEAR, DELETE, SET } from '../../src/engine/mutation.ts';
import { MERGE_POLICIES } from '../../src/wan/wan-settings.ts';
import {
  generator,
  type Member,
  Network,
  OPTIONS,
  SHAPES,
  type Shape,
  shaped,
  untilIdle,
} from './members.ts';
import type { SimulatedEngine } from './simulated-engine.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 0);
const FIRST = Number(process.env.WAN_SEED ?? 1);
const STEPS = 120;
const KEYS = 5;

describe('WanReplications whose members write separate keys, and are killed', () => {
  it('never removes an entry because of an older delete that arrives on another path: seeds that have failed', async () => {
    await new Round('mesh', 3, PASS_THROUGH, 110).run();
    await new Round('mesh', 4, PASS_THROUGH, 105).run();
  });

  for (const [number, name] of MERGE_POLICIES.entries()) {
    const policy = number as MergePolicy;
    it(`makes all members equal under ${name}, and with ${SEEDS} seeds from ${FIRST} on`, async () => {
      await new Round(SHAPES[policy % SHAPES.length]!, 3, policy, policy).run(30);
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        for (const shape of SHAPES) {
          for (const count of [3, 4]) await new Round(shape, count, policy, seed).run();
        }
      }
    });
  }
});

/** The history of a key's only writer; its operations are counted from 1. */
interface Story {
  count: number;
  lastRemoval: number;
  isThere: boolean;
}

class Round {
  readonly #context: string;
  readonly #shape: Shape;
  readonly #policy: MergePolicy;
  readonly #network = new Network();
  readonly #members: readonly Member[];
  readonly #below: (count: number) => number;
  /** Histories by map and key. */
  readonly #stories = new Map<string, Story>();
  /** The last operation that a reader has seen, by member, map and key. */
  readonly #seen = new Map<string, number>();
  /** Number of changes of each engine at the last read. */
  readonly #readCounts = new WeakMap<SimulatedEngine, number>();

  constructor(shape: Shape, count: number, policy: MergePolicy, seed: number) {
    this.#context = `${shape} of ${count}, policy ${policy}, seed ${seed}`;
    this.#shape = shape;
    this.#policy = policy;
    const random = generator(seed * 11 + 5);
    const below = (most: number) => Math.floor(random() * most);
    this.#below = below;
    const network = this.#network;
    network.random = random;
    network.disturb(below, { twiceMs: 900, delayMs: 150, answerMs: 100 });
    const options = {
      ...OPTIONS,
      batchSize: 1 + below(8),
      batchMaxDelayMs: 1 + below(50),
      snapshotEnabled: below(3) === 0,
    };
    const clocks = below(2) === 0 ? [0, 10_000, -10_000, 500] : [0, 0, 0, 0];
    this.#members = shaped(network, shape, clocks.slice(0, count), options);
    for (const member of this.#members) member.policy = policy;
  }

  async run(steps = STEPS): Promise<void> {
    for (let step = 0; step < steps; step++) {
      for (let count = this.#below(4); count > 0; count--) this.#write();
      this.#sync();
      const kind = this.#below(15);
      if (kind === 0) this.#members[this.#below(this.#members.length)]!.restart();
      for (let count = this.#below(6); count >= 0; count--) {
        await this.#network.pass(this.#below(30));
        this.#read();
      }
    }
    this.#network.calm();
    await untilIdle(this.#network, this.#members, this.#context, () => this.#read());
    this.#compare();
    for (const { engine, replications } of this.#members) {
      await replications.close(0);
      void engine.close();
    }
  }

  #write(): void {
    const number = this.#below(this.#members.length);
    const { engine } = this.#members[number]!;
    // Under LatestUpdate, also writes keys of others, which are not checked.
    if (this.#policy === LATEST_UPDATE && this.#below(3) === 0) {
      const operation = ([SET, SET, SET, DELETE, CLEAR] as const)[this.#below(5)]!;
      if (this.#shape !== 'chain') {
        engine.change(operation, 'all', `k${this.#below(KEYS)}`, `by ${number} ${this.#below(9)}`);
      }
      return;
    }
    const map = `map${number}`;
    const key = `k${this.#below(KEYS)}`;
    const kind = this.#below(20);
    if (kind === 0) {
      engine.change(CLEAR, map, '');
      for (let each = 0; each < KEYS; each++) this.#remove(this.#storyOf(`${map}/k${each}`));
      return;
    }
    const story = this.#storyOf(`${map}/${key}`);
    if (kind < 7) {
      engine.change(DELETE, map, key);
      return this.#remove(story);
    }
    if (this.#policy === PUT_IF_ABSENT && story.count > 0) return;
    story.count++;
    story.isThere = true;
    engine.change(SET, map, key, String(story.count));
  }

  #remove(story: Story): void {
    story.count++;
    story.lastRemoval = story.count;
    story.isThere = false;
  }

  #storyOf(place: string): Story {
    const known = this.#stories.get(place);
    const story = known ?? { count: 0, lastRemoval: 0, isThere: false };
    if (known === undefined) this.#stories.set(place, story);
    return story;
  }

  /** Writes every change to the log, so that a kill loses none. */
  #sync(): void {
    for (const member of this.#members) member.sync();
  }

  /** Reads at each member that has recorded changes since the last time. */
  #read(): void {
    for (const { name, engine } of this.#members) {
      const { length } = engine.log;
      if (this.#readCounts.get(engine) === length) continue;
      this.#readCounts.set(engine, length);
      const there = valuesOf(engine);
      for (const [place, { lastRemoval }] of this.#stories) {
        const value = there.get(place);
        const seen = this.#seen.get(`${name} ${place}`) ?? 0;
        if (value === undefined) {
          const text = `${place} vanished at ${name} after its change ${seen}`;
          assert.ok(seen === 0 || lastRemoval > seen, `${this.#context}: ${text}`);
        } else this.#seen.set(`${name} ${place}`, Math.max(seen, Number(value)));
      }
    }
  }

  #compare(): void {
    for (const [number, { name, engine }] of this.#members.entries()) {
      const there = valuesOf(engine);
      for (const [place, { count, isThere }] of this.#stories) {
        const writer = Number(place.slice('map'.length, place.indexOf('/')));
        if (this.#shape === 'chain' && writer > number) continue;
        const text = `${this.#context}: ${place} at ${name}`;
        assert.equal(there.get(place), isThere ? String(count) : undefined, text);
      }
      const shared = (each: SimulatedEngine) =>
        [...valuesOf(each)].filter(([place]) => place.startsWith('all/'));
      assert.deepEqual(shared(engine), shared(this.#members[0]!.engine), this.#context);
    }
  }
}

/** Returns the values by map and key. */
function valuesOf(engine: SimulatedEngine): Map<string, string> {
  return new Map(
    engine.contents().map((text) => {
      const [place = '', rest = ''] = text.split(' = ');
      return [place, rest.slice(0, rest.indexOf(' at '))];
    }),
  );
}
