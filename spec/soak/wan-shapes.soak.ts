/**
 * Chains, rings, stars and meshes of three and four members with persistence, under each policy.
 * Each member writes keys of its own; under LatestUpdate, all members also write to the same keys.
 * Members are killed (kill -9) at random moments, SOAK_ROUNDS * 20 times in all (200 by default).
 * At the end all members are equal, and no reader has seen an entry vanish that no client had
 * removed. SOAK_SEED repeats the choices of a run. Under PutIfAbsent, HigherHits and LatestAccess,
 * each key is written once: these policies may keep an older value, for example one that was read
 * more often.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { freePort } from '../free-port.ts';
import { RawClient } from '../integration/client.ts';
import { SHAPES, targetsOf } from '../wan/own-keys-simulation.ts';
import { MapLoad, sameContents } from './wan/map-load.ts';
import { OwnKeys } from './wan/own-keys.ts';
import { killAll, WanProcess } from './wan/wan-process.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const POLICIES = [
  'PassThrough',
  'PutIfAbsent',
  'LatestUpdate',
  'HigherHits',
  'LatestAccess',
  'ExpirationTime',
];
const ONCE = ['PutIfAbsent', 'HigherHits', 'LatestAccess'];
const PATIENCE_MS = 60_000;
const FOLDER = mkdtempSync(join(tmpdir(), 'wan-shapes-'));
after(() => rmSync(FOLDER, { recursive: true }));

/**
 * Returns a configuration that sends the maps `own-*` and `both-*` to each of these ports with a
 * publisher of its own.
 */
function gridOf(ports: readonly number[], policy: string): Record<string, unknown> {
  if (ports.length === 0) return { map: { 'own-*': STATISTICS } };
  const publishers = ports.map((port, index) => [
    `p${index}`,
    {
      'cluster-name': 'dev',
      'target-endpoints': `127.0.0.1:${port}`,
      'queue-capacity': 1_000_000,
      'batch-max-delay-millis': 20,
      'discovery-period-seconds': 1,
    },
  ]);
  const ref = { w: { 'merge-policy-class-name': policy } };
  const map = { 'wan-replication-ref': ref, ...STATISTICS };
  return {
    'wan-replication': { w: { 'batch-publisher': Object.fromEntries(publishers) } },
    map: { 'own-*': map, 'both-*': map },
  };
}

const STATISTICS = { 'per-entry-stats-enabled': true };

class Group {
  readonly members: WanProcess[] = [];
  readonly owns: OwnKeys[] = [];
  readonly loads: MapLoad[] = [];
  readonly #working = new Map<number, Promise<unknown>>();
  readonly #reading: Promise<void>[] = [];
  #isOver = false;
  reads = 0;
  /** The first failure of a reader. */
  #failure: Error | undefined;

  begin(): void {
    for (const number of this.members.keys()) this.work(number);
    for (const number of this.members.keys()) this.#reading.push(this.#read(number));
  }

  /** Starts clients that write to the member until it ends. */
  work(number: number): void {
    const { port } = this.members[number]!;
    const isOver = () => this.#isOver;
    const clients = [this.owns[number]!.write(port, isOver)];
    if (this.loads.length > 0) clients.push(this.loads[number]!.run(port, isOver));
    const work = Promise.all(clients);
    work.catch(() => {});
    this.#working.set(number, work);
  }

  async kill(number: number, downMs: number): Promise<void> {
    const member = this.members[number]!;
    await member.kill();
    await this.#working.get(number);
    await sleep(downMs);
    await member.start();
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

const combinations = SHAPES.flatMap((shape, row) =>
  [3, 4].flatMap((count) =>
    (['interval', 'always'] as const).map((sync, column) => {
      // The seed shifts the policies of the combinations.
      const policy = POLICIES[(row * 4 + count + column * 3 + SEED) % POLICIES.length]!;
      return { shape, count, sync, policy };
    }),
  ),
);
// Each shape of four members also runs with PassThrough.
const all = [
  ...combinations,
  ...SHAPES.map((shape) => ({ shape, count: 4, sync: 'interval' as const, policy: 'PassThrough' })),
];
const KILLS = Math.ceil((ROUNDS * 20) / all.length);

for (const { shape, count, sync, policy } of all) {
  const name = `${shape} of ${count}, ${policy}, sync ${sync}: ${KILLS} kills`;
  describe(`${name}, seed ${SEED}`, () => {
    const group = new Group();
    after(() => killAll(group.members));

    it('makes all members equal, and no entry vanishes', async (context) => {
      const folder = mkdtempSync(join(FOLDER, 'group-'));
      const random = new Random(SEED);
      const ports: number[] = [];
      for (let number = 0; number < count; number++) ports.push(await freePort());
      const isShared = policy === 'LatestUpdate' && shape !== 'chain';
      for (let number = 0; number < count; number++) {
        const targets = targetsOf(shape, count, number).map((target) => ports[target]!);
        const parts = { folder, sync, port: ports[number]!, grid: gridOf(targets, policy) };
        group.members.push(await WanProcess.started({ ...parts, name: `m${number}` }));
        const own = new OwnKeys(`own-k${number}`, random, ONCE.includes(policy));
        group.owns.push(own);
        const load = { name: `m${number}`, seed: random.next(), clients: 2, depth: 2 };
        if (isShared) group.loads.push(new MapLoad({ ...load, isShared }));
      }
      group.begin();
      for (let kill = 0; kill < KILLS; kill++) {
        await sleep(random.below(400));
        await group.kill(random.below(count), random.below(300));
      }
      await sleep(300);
      await group.end();
      // A change that reaches one member may be forwarded to others.
      for (let round = 0; round < count; round++) {
        for (const member of group.members) await member.awaitDrained(PATIENCE_MS);
      }
      await compare(group, shape);
      const acknowledged = group.owns.reduce((sum, own) => sum + own.acknowledged, 0);
      context.diagnostic(`${acknowledged} changes acknowledged, ${group.reads} reads of all keys`);
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
  for (const load of loads) {
    for (const { port } of others) await sameContents([first!.port, port], load.maps, loads);
  }
}
