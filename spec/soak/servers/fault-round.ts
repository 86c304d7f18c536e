/**
 * A round: the load runs, something breaks, it is mended, and all is well again; then the history is judged.
 * Rounds are seeded by SOAK_SEED; what happens at the same time is not.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../bench/harness.ts';
import { NODE_TIMEOUT_MS } from '../../peers/server-group.ts';
import { FaultCluster } from './fault-cluster.ts';
import { FaultLoad, type LoadSettings } from './fault-load.ts';
import { type Gaps, gapsOf } from './gaps.ts';
import { type Judgement, judge } from './history-check.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const WARM_MS = 2000;
/** The load goes on for so long once all is well. */
const WELL_MS = 3000;
const ROUND_MS_MAX = 180_000;
/** Reads: beside the time after which a server counts as failed. Changes: after the replica's return. */
const GAP_MS_MAX = 5000;
/** An old primary serves reads until it knows; and what the clocks and steps of a busy machine add. */
const STALE_MS_MAX = NODE_TIMEOUT_MS + 1000;
const USUAL: LoadSettings = { valueBytes: 100, thinkMs: 20, hasQueues: true };

/** What is broken, and how to mend it. */
export interface Broken {
  /** The range of slots that is hit. */
  readonly range?: number;
  /** The member that is hit. */
  readonly member?: number;
  mend(): Promise<void> | void;
}

export interface FaultKind {
  readonly name: string;
  readonly isOnNetwork?: boolean;
  readonly backupCount?: number;
  readonly load?: LoadSettings;
  /** How long it stays broken, in ms. */
  readonly brokenMs: number;
  /** What a member has polled is gone with the way to its client. */
  readonly mayTakeAlong?: boolean;
  /** What a killed member held comes late. */
  readonly isMemberKilled?: boolean;
  /** No other server can take over: reads wait until it is mended. */
  readonly isWithoutFailover?: boolean;
  /** `choice`: of what is hit, seeded. */
  break(cluster: FaultCluster, choice: number): Promise<Broken>;
  /** Instead of no fault in any round. */
  expect?(judgements: readonly Judgement[]): void;
}

/** Tests SOAK_ROUNDS rounds of the kind, on a cluster of their own. */
export function faultRounds(kind: FaultKind): void {
  describe(`${kind.name}: ${ROUNDS} rounds from seed ${SEED}`, () => {
    let cluster: FaultCluster;
    const judgements: Judgement[] = [];
    before(async () => {
      cluster = await FaultCluster.start({
        isOnNetwork: kind.isOnNetwork === true,
        ...(kind.backupCount !== undefined && { backupCount: kind.backupCount }),
      });
    });
    after(async () => {
      await cluster?.end();
      kind.expect?.(judgements);
    });
    for (let round = 0; round < ROUNDS; round++) {
      it(`round ${round}`, { timeout: ROUND_MS_MAX }, async () => {
        judgements.push(await faultRound(cluster, kind, round));
      });
    }
  });
}

async function faultRound(
  cluster: FaultCluster,
  kind: FaultKind,
  round: number,
): Promise<Judgement> {
  await cluster.untilWell();
  const seed = SEED + round;
  const random = new Random(seed);
  const { members } = cluster;
  const name = `round-${round}`;
  const load = new FaultLoad({ ...(kind.load ?? USUAL), members, seed, name });
  await sleep(WARM_MS + random.below(500));
  const brokenAt = performance.now();
  const broken = await kind.break(cluster, random.below(3));
  await sleep(kind.brokenMs);
  await broken.mend();
  const mendedAt = performance.now();
  await cluster.untilReplicated(broken.range);
  const replicatedAt = performance.now();
  await cluster.untilWell();
  const wellAt = performance.now();
  await sleep(WELL_MS);
  await load.end();
  const judgement = judge(await allRead(load), {
    staleMsMax: STALE_MS_MAX,
    mayTakeAlong: kind.mayTakeAlong === true,
  });
  const gaps = gapsOf(load.successes, {
    from: brokenAt,
    readsFrom: kind.isWithoutFailover === true ? mendedAt : brokenAt,
    replicatedAt,
    mendedAt,
    memberHit: broken.member,
    groupOf: ({ member, key }) => `${member} ${cluster.rangeOf(key)}`,
  });
  tell(kind, round, seed, load, judgement, {
    ...gaps,
    mended: mendedAt - brokenAt,
    well: wellAt - mendedAt,
  });
  const troubles = members.flatMap((member) => member.troubles.splice(0));
  assert.deepEqual([...troubles, ...load.strange.slice(0, 5)], []);
  if (kind.expect !== undefined) return judgement;
  const faults = judgement.faults.filter(
    (fault) => fault.kind !== 'order' || kind.isMemberKilled !== true,
  );
  assert.deepEqual(faults.slice(0, 10), []);
  assertGaps(gaps);
  return judgement;
}

async function allRead(load: FaultLoad): Promise<FaultLoad> {
  await load.readAll();
  return load;
}

function assertGaps({ reads, changesAfter }: Gaps): void {
  assert.ok(reads <= NODE_TIMEOUT_MS + GAP_MS_MAX, `reads paused for ${reads} ms`);
  assert.ok(changesAfter <= GAP_MS_MAX, `changes paused for ${changesAfter} ms`);
}

function tell(
  kind: FaultKind,
  round: number,
  seed: number,
  load: FaultLoad,
  judgement: Judgement,
  times: Readonly<Record<string, number>>,
): void {
  const counts: Record<string, number> = {};
  const count = (what: string, { outcome }: { readonly outcome: string }): void => {
    counts[`${what} ${outcome}`] = (counts[`${what} ${outcome}`] ?? 0) + 1;
  };
  for (const change of load.changes) count('changes', change);
  for (const offer of load.offers) count('offers', offer);
  for (const poll of load.polls) count('polls', poll);
  const { faults, ...others } = judgement;
  const byKind: Record<string, number> = {};
  for (const fault of faults) byKind[fault.kind] = (byKind[fault.kind] ?? 0) + 1;
  const ms = Object.fromEntries(
    Object.entries(times).map(([key, value]) => [key, Math.round(value)]),
  );
  console.log(
    JSON.stringify({
      ...{ kind: kind.name, round, seed, ms, ...others, faults: byKind },
      ...{ reads: load.reads.length, ...counts },
    }),
  );
}
