/**
 * Servers and members that are killed under load, SOAK_ROUNDS rounds of each kind: what was answered is
 * there, what was refused is not, each item comes once. Where changes need no replica, and the replica is
 * behind, the check must see what a killed primary takes along.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultCluster } from './servers/fault-cluster.ts';
import { type Broken, faultRounds } from './servers/fault-round.ts';

const BEHIND_MS = 700;
/** So large that what the replica is behind with does not fit into the buffers of sockets. */
const LARGE = { valueBytes: 4096, thinkMs: 2, hasQueues: false };

faultRounds({
  name: 'a primary is killed',
  brokenMs: 5000,
  async break(cluster, range) {
    const { primary } = await cluster.pairOf(range);
    await primary.kill();
    return { range, mend: () => primary.start() };
  },
});

faultRounds({
  name: 'a member is killed',
  brokenMs: 3000,
  mayTakeAlong: true,
  isMemberKilled: true,
  async break({ members }, member) {
    await members[member]!.kill();
    return { member, mend: () => members[member]!.start() };
  },
});

faultRounds({
  name: 'a replica is stopped, then its primary killed',
  brokenMs: 5000,
  load: LARGE,
  break: killBehind,
});

faultRounds({
  name: 'the same, changes without a replica',
  brokenMs: 5000,
  backupCount: 0,
  load: LARGE,
  break: killBehind,
  expect(judgements) {
    const lost = judgements.map(({ faults }) => faults.filter(({ kind }) => kind === 'write lost'));
    assert.ok(
      lost.some(({ length }) => length > 0),
      'nothing was lost',
    );
  },
});

async function killBehind(cluster: FaultCluster, range: number): Promise<Broken> {
  const { primary, replica } = await cluster.pairOf(range);
  replica.stopInPlace();
  await sleep(BEHIND_MS);
  await primary.kill();
  replica.goOn();
  return { range, mend: () => primary.start() };
}
