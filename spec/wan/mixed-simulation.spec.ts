/**
 * Covers src/wan. Clusters of both kinds, in pairs, chains, rings and meshes, replicate over a network
 * that loses, delays, duplicates and reorders messages. Clients set, count, delete and clear, with
 * lifetimes, and at the same time in several clusters. Members are killed, stopped, paused and
 * replaced; servers refuse steps and lose replies, so that clears fail half-way. At the end all have
 * equal entries, and nothing is sent any more; no reader has seen an entry vanish, return to an earlier
 * value, or come back. `WAN_SEEDS` runs more seeds, from `WAN_SEED` on.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ABSENT, APPLIED, FOUND, type Outcome } from '../../src/engine/engine.ts';
import {
  EXPIRATION_TIME,
  LATEST_UPDATE,
  type MergePolicy,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../../src/engine/merge-policy.ts';
import { BATCH, openMessage } from '../../src/wan/message-format.ts';
import type { Asker, Seen } from '../engine/results.ts';
import { World } from '../world/world.ts';
import { endpoint, generator, OPTIONS, type Shape, targetsOf } from './members.ts';
import {
  addressOf,
  EmbeddedCluster,
  LEASE_MS,
  ServersCluster,
  type SimulatedCluster,
  WorldNetwork,
} from './mixed-clusters.ts';

const SEEDS = Number(process.env.WAN_SEEDS ?? 2);
const FIRST = Number(process.env.WAN_SEED ?? 1);
const STEPS = 60;
const KEYS = ['a', 'b', 'c', 'd'];
/** The map that all clusters write to. */
const SHARED = 'all';
const POLICIES: readonly MergePolicy[] = [
  LATEST_UPDATE,
  LATEST_UPDATE,
  PASS_THROUGH,
  PUT_IF_ABSENT,
  EXPIRATION_TIME,
];
/** Time in which the oldest member continues each clear, and lifetimes end by every clock, in ms. */
const ENDS_MS = 25_000;
const QUIET_MS = 3000;

describe('clusters of both kinds', () => {
  for (const [name, shape, count] of [
    ['pair', 'ring', 2],
    ['chain', 'chain', 3],
    ['ring', 'ring', 3],
    ['mesh', 'mesh', 3],
  ] as const) {
    it(`become equal in a ${name}, seeds from ${FIRST} on`, async (context) => {
      const failed: number[] = [];
      let first: unknown;
      for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
        const world = new World(seed);
        const round = new Round(world, shape, count, seed);
        await world.during(round.run()).catch((error: unknown) => {
          first ??= error;
          failed.push(seed);
          context.diagnostic(`seed ${seed}: ${(error as Error).message}`);
        });
      }
      if (failed.length > 0) throw new Error(`Seeds ${failed} failed`, { cause: first });
    });
  }
});

/** The history of a key's only writer; its operations are counted from 1. */
class Story {
  count = 0;
  lastRemoval = 0;
  isThere = false;
  /** Whether an operation is in progress. */
  isBusy = false;

  set(): string {
    this.count++;
    this.isThere = true;
    return String(this.count);
  }

  remove(): void {
    this.count++;
    this.lastRemoval = this.count;
    this.isThere = false;
  }
}

/** What a reader has seen of a key: the last value, and whether the entry was there the last time. */
interface Sight {
  readonly value: number;
  readonly isThere: boolean;
}

class Round {
  readonly #world: World;
  readonly #network: WorldNetwork;
  readonly #shape: Shape;
  readonly #policy: MergePolicy;
  readonly #context: string;
  readonly #below: (count: number) => number;
  readonly #clusters: readonly SimulatedCluster[];
  /** By map and key. */
  readonly #stories = new Map<string, Story>();
  /** By cluster, map and key. */
  readonly #seen = new Map<string, Sight>();
  readonly #changes: Promise<unknown>[] = [];

  constructor(world: World, shape: Shape, count: number, seed: number) {
    const random = generator(seed * 1_000_003);
    const below = (most: number) => Math.floor(random() * most);
    this.#world = world;
    this.#shape = shape;
    this.#below = below;
    this.#policy = POLICIES[below(POLICIES.length)]!;
    const network = new WorldNetwork(world);
    network.random = random;
    network.disturb(below, { twiceMs: 900, delayMs: 150, answerMs: 100 });
    this.#network = network;
    // Members of each cluster; 0: it stores its own data. One cluster at least is on servers.
    const sizes = Array.from({ length: count }, () => below(3));
    sizes[below(count)] = 1 + below(2);
    const options = { ...OPTIONS, batchSize: 1 + below(8), batchMaxDelayMs: 1 + below(50) };
    const addresses = sizes.map((size, number) =>
      Array.from({ length: Math.max(1, size) }, (_, index) => addressOf(`c${number}`, index)),
    );
    this.#clusters = sizes.map((size, number) => {
      const publishers = targetsOf(shape, count, number).map((target) => ({
        ...options,
        publisherId: `p${target}`,
        targetEndpoints: addresses[target]!.map(endpoint),
      }));
      const parts = { network, below, name: `c${number}`, publishers, policy: this.#policy };
      return size === 0 ? new EmbeddedCluster(parts) : new ServersCluster(parts, size);
    });
    this.#context = `seed ${seed}, ${shape} of ${sizes}, policy ${this.#policy}`;
  }

  async run(): Promise<void> {
    for (const cluster of this.#clusters) await cluster.start();
    for (let step = 0; step < STEPS; step++) {
      for (let count = this.#below(4); count > 0; count--) this.#write();
      if (this.#below(8) === 0) this.#clusters[this.#below(this.#clusters.length)]!.disturb();
      await this.#pass(this.#below(20) === 0 ? this.#below(2 * LEASE_MS) : this.#below(100));
    }
    this.#network.calm();
    for (const cluster of this.#clusters) await cluster.calm();
    await Promise.all(this.#changes);
    await this.#pass(ENDS_MS);
    await this.#untilIdle();
    await this.#compare();
    for (const cluster of this.#clusters) await cluster.close();
  }

  /** Lets time pass, with reads. */
  async #pass(ms: number): Promise<void> {
    const step = Math.max(30, ms / 8);
    for (let passed = 0; passed < ms; passed += step) {
      for (const cluster of this.#clusters) cluster.sync();
      await this.#network.pass(Math.min(step, ms - passed));
      await this.#read();
    }
  }

  #write(): void {
    const number = this.#below(this.#clusters.length);
    if (this.#policy === LATEST_UPDATE && this.#below(2) === 0) return this.#writeShared(number);
    const map = `of${number}`;
    const key = KEYS[this.#below(KEYS.length)]!;
    const kind = this.#below(20);
    const cluster = this.#clusters[number]!;
    if (kind === 0) {
      const stories = KEYS.map((each) => this.#storyOf(`${map}/${each}`));
      if (stories.some(({ isBusy }) => isBusy)) return;
      for (const story of stories) story.remove();
      return this.#begin(cluster, stories, (asker) => asker.clear(map));
    }
    const story = this.#storyOf(`${map}/${key}`);
    if (story.isBusy) return;
    if (kind < 6) {
      story.remove();
      return this.#begin(cluster, [story], (asker) => asker.delete(map, key));
    }
    if (this.#policy === PUT_IF_ABSENT && story.isThere) return;
    const value = story.set();
    this.#begin(cluster, [story], (asker) => asker.set(map, key, value));
  }

  /** Makes the change, again until it is known to be made. */
  #begin(
    cluster: SimulatedCluster,
    stories: readonly Story[],
    run: (asker: Asker) => Promise<Seen>,
  ): void {
    for (const story of stories) story.isBusy = true;
    const change = async (): Promise<void> => {
      while ((await cluster.change(run)) !== APPLIED) await this.#world.sleep(50);
      for (const story of stories) story.isBusy = false;
    };
    this.#changes.push(change());
  }

  /** Writes to the map of all, sometimes at the same time in all clusters. */
  #writeShared(number: number): void {
    const isChain = this.#shape === 'chain';
    const all = isChain ? this.#clusters.slice(0, 1) : this.#clusters;
    const writers = this.#below(4) === 0 ? all : [all[isChain ? 0 : number]!];
    const key = KEYS[this.#below(KEYS.length)]!;
    const kind = this.#below(20);
    for (const cluster of writers) {
      const value = `${this.#below(1000)}`;
      const lifetime = { timeToLiveMs: 1 + this.#below(2000), maxIdleSeconds: 0 };
      const run = (asker: Asker): Promise<Seen> => {
        if (kind === 0) return asker.clear(SHARED);
        if (kind < 5) return asker.delete(SHARED, key);
        if (kind < 8) return asker.set(SHARED, key, value, 'a/type', lifetime);
        if (kind === 8) return asker.setIf(SHARED, key, value, { isPresent: false });
        if (kind === 9) return asker.add(SHARED, key, 7n);
        return asker.set(SHARED, key, value);
      };
      this.#changes.push(cluster.change(run));
    }
  }

  #storyOf(place: string): Story {
    const known = this.#stories.get(place) ?? new Story();
    this.#stories.set(place, known);
    return known;
  }

  async #read(): Promise<void> {
    for (const { name, reader } of this.#clusters) {
      const reads = [...this.#stories].map(async ([place, story]) => {
        const [map = '', key = ''] = place.split('/');
        const { outcome, value } = await reader.get(map, key);
        if (outcome === FOUND || outcome === ABSENT) this.#see(name, place, story, outcome, value);
      });
      await Promise.all(reads);
    }
  }

  #see(name: string, place: string, story: Story, outcome: Outcome, text: string): void {
    const at = `${name} ${place}`;
    const before = this.#seen.get(at) ?? { value: 0, isThere: false };
    const context = `${this.#context}: ${place} at ${name}`;
    if (outcome === FOUND) {
      const value = Number(text);
      const isNew = before.isThere ? value >= before.value : value > before.value;
      assert.ok(isNew, `${context} returned to ${value} after ${before.value}`);
      this.#seen.set(at, { value, isThere: true });
    } else {
      const isRemoved = !before.isThere || story.lastRemoval > before.value;
      assert.ok(isRemoved, `${context} vanished after ${before.value}`);
      this.#seen.set(at, { ...before, isThere: false });
    }
  }

  /** Lets the time pass until nothing waits any more, and asserts that then nothing is sent. */
  async #untilIdle(): Promise<void> {
    let quietMs = 0;
    for (let left = 600; quietMs < QUIET_MS; left--) {
      const counts = await Promise.all(this.#clusters.map((cluster) => cluster.waitingCount()));
      assert.ok(left > 0, `${this.#context}: ${counts} wait`);
      quietMs = counts.every((count) => count === 0) ? quietMs + 100 : 0;
      await this.#pass(100);
    }
    const { sent } = this.#network;
    const { length } = sent;
    await this.#pass(QUIET_MS);
    for (const { message } of sent.slice(length)) {
      const { kind } = await openMessage(message, 2 ** 24);
      assert.notEqual(kind, BATCH, `${this.#context}: events circulate`);
    }
    assert.deepEqual(this.#network.invalid, [], this.#context);
    for (const { name, lostCount } of this.#clusters) {
      assert.equal(lostCount, 0, `${this.#context}: ${name}`);
    }
  }

  async #compare(): Promise<void> {
    for (const [number, { name, reader }] of this.#clusters.entries()) {
      for (const [place, { count, isThere }] of this.#stories) {
        const [map = '', key = ''] = place.split('/');
        if (this.#shape === 'chain' && Number(map.slice('of'.length)) > number) continue;
        const { outcome, value } = await reader.get(map, key);
        const found = outcome === FOUND ? value : undefined;
        const text = `${this.#context}: ${place} at ${name}`;
        assert.equal(found, isThere ? String(count) : undefined, text);
      }
      for (const key of KEYS) {
        const [own, first] = await Promise.all([
          reader.get(SHARED, key),
          this.#clusters[0]!.reader.get(SHARED, key),
        ]);
        assert.equal(textOf(own), textOf(first), `${this.#context}: ${key} at ${name}`);
      }
    }
  }
}

function textOf({ outcome, value, contentType, version, timeToLiveMs }: Seen): string {
  return [outcome, value, contentType, version.high, version.low, timeToLiveMs > 0].join();
}
