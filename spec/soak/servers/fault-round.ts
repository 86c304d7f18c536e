/**
 * A round: the load runs, a fault is injected and repaired, and the cluster becomes healthy again;
 * then the history is checked. SOAK_SEED seeds the choices of a round, but not the order of
 * concurrent events.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../bench/harness.ts';
import { NODE_TIMEOUT_MS } from '../../peers/server-group.ts';
import { FaultCluster } from './fault-cluster.ts';
import { FaultLoad, type LoadSettings } from './fault-load.ts';
import { type Gaps, gapsOf } from './gaps.ts';
import { checkHistory, type Verdict } from './history-check.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const WARM_MS = 2000;
/** Time for which the load continues once the cluster is healthy, in ms. */
const HEALTHY_MS = 3000;
const ROUND_MS_MAX = 180_000;
/**
 * Maximum gap, in ms: of reads, in addition to the time after which a server counts as failed; of
 * changes, after the return of the replica.
 */
const GAP_MS_MAX = 5000;
/**
 * Maximum age of a stale read, in ms: an old primary serves reads until it detects its failover;
 * plus a margin for a busy machine.
 */
const STALE_MS_MAX = NODE_TIMEOUT_MS + 1000;
const DEFAULT_LOAD: LoadSettings = { valueBytes: 100, thinkMs: 20, hasQueues: true };

/** An injected fault, and its repair. */
export interface Broken {
  /** Index of the affected slot range. */
  readonly range?: number;
  /** Index of the affected member. */
  readonly member?: number;
  repair(): Promise<void> | void;
}

export interface FaultKind {
  readonly name: string;
  readonly isOnNetwork?: boolean;
  readonly backupCount?: number;
  readonly load?: LoadSettings;
  /** Duration of the fault, in ms. */
  readonly brokenMs: number;
  /** Whether an item that a member has polled may be lost on the way to its client. */
  readonly mayLosePolled?: boolean;
  /** Whether items that a killed member held may be delivered late. */
  readonly isMemberKilled?: boolean;
  /** Whether no other server can take over, so that reads wait for the repair. */
  readonly isWithoutFailover?: boolean;
  /** Injects the fault. `choice`: seeded choice of the affected range or member. */
  break(cluster: FaultCluster, choice: number): Promise<Broken>;
  /** Replaces the check that no round has faults. */
  expect?(verdicts: readonly Verdict[]): void;
}

/** Tests SOAK_ROUNDS rounds of the kind on a cluster of their own. */
export function faultRounds(kind: FaultKind): void {
  describe(`${kind.name}: ${ROUNDS} rounds from seed ${SEED}`, () => {
    let cluster: FaultCluster;
    const verdicts: Verdict[] = [];
    before(async () => {
      cluster = await FaultCluster.start({
        isOnNetwork: kind.isOnNetwork === true,
        ...(kind.backupCount !== undefined && { backupCount: kind.backupCount }),
      });
    });
    after(async () => {
      await cluster?.end();
      kind.expect?.(verdicts);
    });
    for (let round = 0; round < ROUNDS; round++) {
      it(`round ${round}`, { timeout: ROUND_MS_MAX }, async () => {
        verdicts.push(await faultRound(cluster, kind, round));
      });
    }
  });
}

async function faultRound(cluster: FaultCluster, kind: FaultKind, round: number): Promise<Verdict> {
  await cluster.untilHealthy();
  const seed = SEED + round;
  const random = new Random(seed);
  const { members } = cluster;
  const name = `round-${round}`;
  const load = new FaultLoad({ ...(kind.load ?? DEFAULT_LOAD), members, seed, name });
  await sleep(WARM_MS + random.below(500));
  const brokenAt = performance.now();
  const broken = await kind.break(cluster, random.below(3));
  await sleep(kind.brokenMs);
  await broken.repair();
  const repairedAt = performance.now();
  await cluster.untilReplicated(broken.range);
  const replicatedAt = performance.now();
  await cluster.untilHealthy();
  const healthyAt = performance.now();
  await sleep(HEALTHY_MS);
  await load.end();
  await load.readAll();
  const verdict = checkHistory(load, {
    staleMsMax: STALE_MS_MAX,
    mayLosePolled: kind.mayLosePolled === true,
  });
  const gaps = gapsOf(load.successes, {
    from: brokenAt,
    readsFrom: kind.isWithoutFailover === true ? repairedAt : brokenAt,
    replicatedAt,
    repairedAt,
    affectedMember: broken.member,
    groupOf: ({ member, key }) => `${member} ${cluster.rangeOf(key)}`,
  });
  printRound(kind, round, seed, load, verdict, {
    ...gaps,
    repaired: repairedAt - brokenAt,
    healthy: healthyAt - repairedAt,
  });
  const problems = members.flatMap((member) => member.problems.splice(0));
  assert.deepEqual([...problems, ...load.unexpected.slice(0, 5)], []);
  if (kind.expect !== undefined) return verdict;
  const faults = verdict.faults.filter(
    (fault) => fault.kind !== 'order' || kind.isMemberKilled !== true,
  );
  assert.deepEqual(faults.slice(0, 10), []);
  assertGaps(gaps);
  return verdict;
}

function assertGaps({ reads, changesAfter }: Gaps): void {
  assert.ok(reads <= NODE_TIMEOUT_MS + GAP_MS_MAX, `no read succeeded for ${reads} ms`);
  assert.ok(changesAfter <= GAP_MS_MAX, `no change succeeded for ${changesAfter} ms`);
}

function printRound(
  kind: FaultKind,
  round: number,
  seed: number,
  load: FaultLoad,
  verdict: Verdict,
  times: Readonly<Record<string, number>>,
): void {
  const counts: Record<string, number> = {};
  const count = (what: string, { outcome }: { readonly outcome: string }): void => {
    counts[`${what} ${outcome}`] = (counts[`${what} ${outcome}`] ?? 0) + 1;
  };
  for (const change of load.changes) count('changes', change);
  for (const offer of load.offers) count('offers', offer);
  for (const poll of load.polls) count('polls', poll);
  const { faults, ...others } = verdict;
  const byKind: Record<string, number> = {};
  for (const fault of faults) byKind[fault.kind] = (byKind[fault.kind] ?? 0) + 1;
  const ms = Object.fromEntries(
    Object.entries(times).map(([key, value]) => [key, Math.round(value)]),
  );
  console.log(
    JSON.stringify({
      kind: kind.name,
      round,
      seed,
      ms,
      ...others,
      faults: byKind,
      reads: load.reads.length,
      ...counts,
    }),
  );
}
