/**
 * Locks of members on a Redis Cluster while its primaries are killed and stopped, SOAK_ROUNDS rounds
 * of each kind. If a replica must confirm changes, no lock has two live holders, nothing is lost and
 * fences rise. If none must, locks may be lost with a killed primary, which the check must detect in three
 * rounds or more, and fences rise nevertheless. A round lasts until LOCKS_MIN locks were taken: the 30
 * rounds of the three kinds with a replica take 10,000 locks in all. The 60 rounds take 20 minutes.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { type EmbeddedMember, startMember } from '../../src/index.ts';
import { type GroupServer, NODE_TIMEOUT_MS } from '../peers/server-group.ts';
import { configuration, FaultCluster, HEARTBEAT_SECONDS } from './servers/fault-cluster.ts';
import { LockHistory } from './servers/lock-history.ts';
import { LockLoad, SESSION_SECONDS } from './servers/lock-load.ts';

const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 10);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const WARM_MS = 2000;
const BROKEN_MS = NODE_TIMEOUT_MS + 4000;
const HEALTHY_MS = 2000;
/** Number of locks that are taken in a round, at least. */
const LOCKS_MIN = 334;
/** Number of rounds in which locks are lost for certain if that is possible. */
const LOSING_ROUNDS = 3;
const CHECK_MS = 100;
const LAG_MS = 700;
/** More than the buffers of a socket have. */
const FILLERS = 32;
const FILLER_BYTES = 1_048_576;
const ROUND_MS_MAX = 180_000;
const NO_FAULTS = { 'two holders': 0, 'earlier fence': 0, 'lock lost': 0, 'session lost': 0 };

/** Injects a fault into the servers of a range, and returns its repair. */
type Break = (cluster: FaultCluster, range: number) => Promise<() => Promise<void> | void>;

const kill: Break = async (cluster, range) => {
  const { primary } = await cluster.pairOf(range);
  await primary.kill();
  return () => primary.start();
};

const stop: Break = async (cluster, range) => {
  const { primary } = await cluster.pairOf(range);
  primary.pause();
  return () => primary.resume();
};

const killAheadOfReplica: Break = async (cluster, range) => {
  const { primary, replica } = await cluster.pairOf(range);
  replica.pause();
  await fillBuffers(primary);
  await sleep(LAG_MS);
  await primary.kill();
  replica.resume();
  return () => primary.start();
};

/** Writes so much that the locks that follow are not in the buffers of the replica's socket. */
async function fillBuffers(primary: GroupServer): Promise<void> {
  const value = 'x'.repeat(FILLER_BYTES);
  for (let key = 0, count = 0; count < FILLERS; key++) {
    // Another primary may have the key.
    const reply = await primary.ask('SET', `filler-${key}`, value).catch(() => undefined);
    if (reply === 'OK') count++;
  }
}

lockRounds('a primary is killed', 1, kill);
lockRounds('a primary is stopped', 1, stop);
lockRounds('a replica is stopped, then its primary killed', 1, killAheadOfReplica);
lockRounds('a primary is killed, with changes that need no replica', 0, kill);
lockRounds('a primary is stopped, with changes that need no replica', 0, stop);
lockRounds(
  'a replica is stopped, then its primary killed, with changes that need no replica',
  0,
  killAheadOfReplica,
);

function lockRounds(name: string, backupCount: number, fault: Break): void {
  describe(`${name}: ${ROUNDS} rounds from seed ${SEED}`, () => {
    let cluster: FaultCluster;
    let embedded: EmbeddedMember;
    const history = new LockHistory();
    before(async () => {
      cluster = await FaultCluster.start({
        isOnNetwork: false,
        backupCount,
        sessionSeconds: SESSION_SECONDS,
      });
      const { url } = cluster.group;
      const text = configuration({
        clusterName: 'faults',
        url,
        heartbeatSeconds: HEARTBEAT_SECONDS,
        backupCount,
        sessionSeconds: SESSION_SECONDS,
      });
      embedded = await startMember({ port: 0, host: '127.0.0.1', config: JSON.parse(text) });
      cluster.addedMembers = 1;
    });
    after(async () => {
      await embedded?.drain();
      await cluster?.end();
      if (backupCount === 0 && fault === killAheadOfReplica && ROUNDS >= LOSING_ROUNDS)
        assertLost(history);
    });
    for (let round = 0; round < ROUNDS; round++) {
      it(`round ${round}`, { timeout: ROUND_MS_MAX }, async () => {
        await lockRound(cluster, embedded, history, SEED + round, fault);
        const { takenCount, faults } = history;
        console.log(JSON.stringify({ name, round, takenCount, faults }));
        const permitted = backupCount === 0 ? { ...faults, 'earlier fence': 0 } : NO_FAULTS;
        assert.deepEqual(faults, permitted);
      });
    }
  });
}

/** The faults of a history are those of all rounds. */
async function lockRound(
  cluster: FaultCluster,
  embedded: EmbeddedMember,
  history: LockHistory,
  seed: number,
  fault: Break,
): Promise<void> {
  await cluster.untilHealthy();
  const random = new Random(seed);
  const takenCount = history.takenCount + LOCKS_MIN;
  const load = new LockLoad({ members: cluster.members, embedded, history, seed });
  await sleep(WARM_MS + random.below(500));
  const range = random.below(3);
  const repair = await fault(cluster, range);
  await sleep(BROKEN_MS);
  await repair();
  await cluster.untilReplicated(range);
  await cluster.untilHealthy();
  await sleep(HEALTHY_MS);
  while (history.takenCount < takenCount) await sleep(CHECK_MS);
  await load.end();
}

function assertLost({ faults }: LockHistory): void {
  assert.ok(faults['lock lost'] + faults['session lost'] + faults['two holders'] > 0);
}
