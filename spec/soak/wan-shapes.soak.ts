/**
 * Pairs, chains, rings, stars and meshes of up to four members with persistence, under each policy.
 * Each member writes keys of its own; under LatestUpdate, all members also write to the same keys.
 * Members are killed (kill -9) at random moments, SOAK_ROUNDS * 20 times in all for three and four
 * members, and SOAK_ROUNDS times for each kind of pair. After the kill of a member, all of its
 * acknowledged changes are present. Occasionally, and at the end, all members are equal, and no
 * reader has seen an entry vanish that no client had removed. SOAK_SEED repeats the choices of a
 * run. Under PutIfAbsent, HigherHits and LatestAccess, each key is written once: these policies may
 * keep an older value, for example one that was read more often.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { MERGE_POLICIES } from '../../src/wan/wan-settings.ts';
import { freePort } from '../free-port.ts';
import { RawClient } from '../integration/client.ts';
import { SHAPES, targetsOf } from '../wan/members.ts';
import { contentsOf, MapLoad, sameContents } from './wan/map-load.ts';
import { OwnKeys } from './wan/own-keys.ts';
import { replicating, WanProcess } from './wan/wan-process.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const ONCE = ['PutIfAbsent', 'HigherHits', 'LatestAccess'];
const PATIENCE_MS = 60_000;
/** Average number of kills between two comparisons. */
const COMPARED_AFTER = 4;

const FAST = { 'batch-max-delay-millis': 20, 'discovery-period-seconds': 1 };
const STATISTICS = { 'per-entry-stats-enabled': true };

/** Returns a configuration that sends the maps to each of these ports with a publisher of its own. */
function gridOf(ports: readonly number[], policy: string): Record<string, unknown> {
  if (ports.length === 0) return { map: { 'own-*': STATISTICS } };
  const targets = ports.map((port) => [port]);
  return replicating(targets, policy, FAST, STATISTICS);
}

class Group {
  readonly members: WanProcess[] = [];
  readonly owns: OwnKeys[] = [];
  /** By the number of the member. */
  readonly loads = new Map<number, MapLoad>();
  readonly #working = new Map<number, Promise<unknown>>();
  #reading: Promise<void>[] = [];
  #isOver = true;
  reads = 0;
  /** The first failure of a reader. */
  #failure: Error | undefined;

  /** Starts the clients and readers, unless they run. */
  begin(): void {
    if (!this.#isOver) return;
    this.#isOver = false;
    for (const number of this.members.keys()) this.work(number);
    this.#reading = [...this.members.keys()].map((number) => this.#read(number));
  }

  /** Starts clients that write to the member until it ends. */
  work(number: number): void {
    const { port } = this.members[number]!;
    const isOver = () => this.#isOver;
    const own = this.owns[number]!.write(port, isOver);
    const work = Promise.all([own, this.loads.get(number)?.run(port, isOver)]);
    work.catch(() => {});
    this.#working.set(number, work);
  }

  /** Kills the member and starts it after `downMs`. */
  async kill(number: number, downMs: number): Promise<void> {
    const member = this.members[number]!;
    await member.kill();
    await this.#working.get(number);
    await sleep(downMs);
    await member.start();
    const load = this.loads.get(number);
    load?.check(await contentsOf(member.port, load.maps));
    this.work(number);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#working.values(), ...this.#reading]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #read(number: number): Promise<void> {
    const { port, name } = this.members[number]!;
    while (!this.#isOver && this.#failure === undefined) {
      const client = new RawClient(port);
      try {
        while (!this.#isOver) {
          for (const own of this.owns) await own.read(client, name);
          this.reads++;
          await sleep(5);
        }
      } catch (error) {
        if (error instanceof assert.AssertionError) this.#failure ??= error;
      } finally {
        client.destroy();
      }
      await sleep(20);
    }
  }
}

const SYNCS = ['interval', 'always'] as const;
const combinations = SHAPES.flatMap((shape, row) =>
  [3, 4].flatMap((count) =>
    SYNCS.map((sync, column) => {
      // The seed shifts the policies of the combinations.
      const policy = MERGE_POLICIES[(row * 4 + count + column * 3 + SEED) % MERGE_POLICIES.length]!;
      return { shape, count, sync, policy };
    }),
  ),
);
// Each shape of four members also runs with PassThrough.
const groups = [
  ...combinations,
  ...SHAPES.map((shape) => ({ shape, count: 4, sync: 'interval' as const, policy: 'PassThrough' })),
];
const pairs = SYNCS.flatMap((sync) => [
  { shape: 'chain' as const, count: 2, sync, policy: 'PassThrough' },
  { shape: 'chain' as const, count: 2, sync, policy: 'LatestUpdate' },
  { shape: 'ring' as const, count: 2, sync, policy: 'LatestUpdate' },
]);

for (const { shape, count, sync, policy } of [...pairs, ...groups]) {
  const kills = count === 2 ? ROUNDS : Math.ceil((ROUNDS * 20) / groups.length);
  const name = `${shape} of ${count}, ${policy}, sync ${sync}: ${kills} kills`;
  describe(`${name}, seed ${SEED}`, () => {
    it('makes all members equal, loses no change, and no entry vanishes', async (context) => {
      const group = new Group();
      const random = new Random(SEED);
      const ports: number[] = [];
      for (let number = 0; number < count; number++) ports.push(await freePort());
      const isShared = policy === 'LatestUpdate' && shape !== 'chain';
      const clients = count === 2 ? { clients: 16, depth: 4 } : { clients: 2, depth: 2 };
      for (let number = 0; number < count; number++) {
        const targets = targetsOf(shape, count, number).map((target) => ports[target]!);
        const parts = { sync, port: ports[number]!, grid: gridOf(targets, policy) };
        group.members.push(await WanProcess.started({ ...parts, name: `m${number}` }));
        const own = new OwnKeys(`own-k${number}`, random, ONCE.includes(policy));
        group.owns.push(own);
        const load = { name: `m${number}`, seed: random.next(), isShared, ...clients };
        const isLoaded = isShared || (count === 2 && targets.length > 0);
        if (isLoaded) group.loads.set(number, new MapLoad(load));
      }
      let compared = 0;
      for (let kill = 1; kill <= kills; kill++) {
        group.begin();
        await sleep(random.below(500));
        await group.kill(random.below(count), random.below(400));
        if (kill < kills && random.below(COMPARED_AFTER) > 0) continue;
        await sleep(300);
        await group.end();
        // A change that reaches one member may be forwarded to others.
        for (let round = 0; round < count; round++) {
          for (const member of group.members) await member.awaitDrained(PATIENCE_MS);
        }
        await compare(group, shape);
        compared++;
      }
      const written = [...group.owns, ...group.loads.values()];
      const acknowledged = written.reduce((sum, each) => sum + each.acknowledged, 0);
      context.diagnostic(
        `${acknowledged} changes acknowledged, ${group.reads} reads of all keys, ${compared} comparisons`,
      );
    });
  });
}

async function compare({ members, owns, loads }: Group, shape: string): Promise<void> {
  for (const [writer, own] of owns.entries()) {
    const expected = await own.all(members[writer]!.port);
    for (const [number, { port, name }] of members.entries()) {
      if (shape === 'chain' && number < writer) continue;
      const found = await own.all(port);
      const wrong = expected.flatMap((value, key) =>
        found[key] === value
          ? []
          : [`k${key}: ${value?.slice(0, 20)}, ${found[key]?.slice(0, 20)}`],
      );
      assert.deepEqual(wrong.slice(0, 5), [], `${own.map} at ${name}: ${wrong.length} differ`);
    }
  }
  const [first, ...others] = members;
  const all = [...loads.values()];
  for (const load of all) {
    for (const { port } of others) {
      load.check(await sameContents([first!.port, port], load.maps, all));
    }
  }
  if (members.length > 2) return;
  for (const member of members) {
    for (const { eventsDropped, eventsRejected } of await member.publishers()) {
      assert.deepEqual([eventsDropped, eventsRejected], [0, 0], member.name);
    }
  }
}
