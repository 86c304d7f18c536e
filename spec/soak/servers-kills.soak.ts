/**
 * Servers and members that are killed under load, SOAK_ROUNDS rounds of each kind: acknowledged
 * changes are present, refused ones are not, and each item is delivered once. If changes need no
 * replica and the replica lags, the check must detect the changes that are lost with a killed
 * primary.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultCluster } from './servers/fault-cluster.ts';
import { type Broken, faultRounds } from './servers/fault-round.ts';

const LAG_MS = 700;
/** Values so large that the replica's backlog does not fit into the buffers of sockets. */
const LARGE = { valueBytes: 4096, thinkMs: 2, hasQueues: false };

faultRounds({
  name: 'a primary is killed',
  brokenMs: 5000,
  async break(cluster, range) {
    const { primary } = await cluster.pairOf(range);
    await primary.kill();
    return { range, repair: () => primary.start() };
  },
});

faultRounds({
  name: 'a member is killed',
  brokenMs: 3000,
  mayLosePolled: true,
  isMemberKilled: true,
  async break({ members }, member) {
    await members[member]!.kill();
    return { member, repair: () => members[member]!.start() };
  },
});

faultRounds({
  name: 'a replica is stopped, then its primary killed',
  brokenMs: 5000,
  load: LARGE,
  break: killAheadOfReplica,
});

faultRounds({
  name: 'a replica is stopped, then its primary killed, with changes that need no replica',
  brokenMs: 5000,
  backupCount: 0,
  load: LARGE,
  break: killAheadOfReplica,
  expect(verdicts) {
    const lost = verdicts.map(({ faults }) => faults.filter(({ kind }) => kind === 'write lost'));
    assert.ok(
      lost.some(({ length }) => length > 0),
      'no write was lost',
    );
  },
});

async function killAheadOfReplica(cluster: FaultCluster, range: number): Promise<Broken> {
  const { primary, replica } = await cluster.pairOf(range);
  replica.pause();
  await sleep(LAG_MS);
  await primary.kill();
  replica.resume();
  return { range, repair: () => primary.start() };
}
