/**
 * Two members with persistence that replicate under load. One or the other is killed (kill -9) at a
 * random moment, SOAK_ROUNDS times in each mode (200 in all with SOAK_ROUNDS=50). After the kill of
 * a member, all of its acknowledged changes are present. Occasionally, and at the end, both members
 * are equal, including changes without a response. SOAK_SEED repeats the choices of a run,
 * SOAK_VICTIMS names the members to kill.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { freePort } from '../free-port.ts';
import { contentsOf, MapLoad, sameContents } from './wan/map-load.ts';
import { killAll, replicating, WanProcess } from './wan/wan-process.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const VICTIMS = (process.env.SOAK_VICTIMS ?? 'source,target').split(',');
/** Whether the files of the members are kept. */
const KEEPS = process.env.SOAK_KEEP === 'true';
const RUN_MS_MAX = 500;
const DOWN_MS_MAX = 400;
const PATIENCE_MS = 30_000;
/** Average number of rounds between two comparisons. */
const COMPARED_AFTER = 4;

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-kills-'));
after(() => {
  if (!KEEPS) rmSync(FOLDER, { recursive: true });
});

interface Side {
  readonly member: WanProcess;
  /** Undefined for a member that is only a target. */
  readonly load: MapLoad | undefined;
  /** Promise of the load while it runs. */
  working: Promise<void> | undefined;
}

class Pair {
  readonly #sides: readonly [Side, Side];
  #isOver = false;

  constructor(sides: readonly [Side, Side]) {
    this.#sides = sides;
  }

  /** Starts the loads that do not run. */
  begin(): void {
    this.#isOver = false;
    for (const side of this.#sides) {
      if (side.load === undefined || side.working !== undefined) continue;
      side.working = side.load.run(side.member.port, () => this.#isOver);
      // The promise is awaited later.
      side.working.catch(() => {});
    }
  }

  /**
   * Kills the member and starts it after `downMs`. Asserts that all acknowledged changes are
   * present.
   */
  async kill(side: Side, downMs: number): Promise<void> {
    await side.member.kill();
    await side.working;
    side.working = undefined;
    await sleep(downMs);
    await side.member.start();
    const { load, member } = side;
    if (load !== undefined) load.check(await contentsOf(member.port, load.maps));
  }

  /** Ends the loads, and asserts that both members become equal. */
  async compare(): Promise<void> {
    this.#isOver = true;
    for (const side of this.#sides) {
      await side.working;
      side.working = undefined;
    }
    const [one, other] = this.#sides;
    // A change that reaches one member may be forwarded to the other.
    for (const { member } of [one, other, one]) await member.awaitDrained(PATIENCE_MS);
    const ports = [one.member.port, other.member.port] as const;
    const loads = this.#sides.flatMap(({ load }) => load ?? []);
    for (const load of loads) load.check(await sameContents(ports, load.maps, loads));
    for (const { member } of this.#sides) {
      for (const { eventsDropped, eventsRejected } of await member.publishers()) {
        assert.deepEqual([eventsDropped, eventsRejected], [0, 0], member.name);
      }
    }
  }
}

for (const sync of ['interval', 'always'] as const) {
  for (const [policy, isBoth] of [
    ['PassThrough', false],
    ['LatestUpdate', false],
    ['LatestUpdate', true],
  ] as const) {
    const ways = isBoth ? 'both ways' : 'one way';
    const rounds = policy === 'PassThrough' ? ROUNDS : Math.ceil(ROUNDS / 2);
    const name = `${policy}, ${ways}, sync ${sync}: ${rounds} kills of ${VICTIMS.join(' or ')}`;
    describe(`${name}, seed ${SEED}`, () => {
      const members: WanProcess[] = [];
      after(() => killAll(members));

      it('makes both members equal and loses no acknowledged change', async (context) => {
        const folder = mkdtempSync(join(FOLDER, 'pair-'));
        const ports = [await freePort(), await freePort()] as const;
        const random = new Random(SEED);
        const sides: Side[] = [];
        for (const [index, name] of (['source', 'target'] as const).entries()) {
          const isSending = index === 0 || isBoth;
          const grid = isSending ? replicating([ports[1 - index] ?? 0], policy, FAST) : {};
          const port = ports[index] ?? 0;
          const member = await WanProcess.started({ folder, name, port, sync, grid });
          members.push(member);
          const seed = random.next();
          const load = isSending
            ? new MapLoad({ name, seed, ...LOAD, isShared: isBoth })
            : undefined;
          sides.push({ member, load, working: undefined });
        }
        const pair = new Pair(sides as [Side, Side]);
        let compared = 0;
        for (let round = 1; round <= rounds; round++) {
          pair.begin();
          await sleep(random.below(RUN_MS_MAX));
          const victim = VICTIMS[random.below(VICTIMS.length)];
          const side = sides[victim === 'source' ? 0 : 1] as Side;
          const downMs = random.below(DOWN_MS_MAX);
          const step = `round ${round}, ${victim} killed`;
          await pair.kill(side, downMs).catch((error: unknown) => failed(step, error));
          if (round < rounds && random.below(COMPARED_AFTER) > 0) continue;
          await pair.compare().catch((error: unknown) => failed(step, error));
          compared++;
        }
        const acknowledged = sides.reduce((sum, { load }) => sum + (load?.acknowledged ?? 0), 0);
        context.diagnostic(`${acknowledged} changes acknowledged, ${compared} comparisons`);
      });
    });
  }
}

const FAST = { 'batch-max-delay-millis': 20, 'discovery-period-seconds': 1 };
const LOAD = { clients: 16, depth: 4 };

function failed(step: string, cause: unknown): never {
  const place = KEEPS ? `, files in ${FOLDER}` : '';
  throw new Error(`${step}${place}: ${(cause as Error).message}`, { cause });
}
