/**
 * Servers and members that are stopped under load for longer than the others wait for them, and
 * then resume. SOAK_ROUNDS rounds of each kind.
 */
import { NODE_TIMEOUT_MS } from '../peers/server-group.ts';
import { HEARTBEAT_SECONDS } from './servers/fault-cluster.ts';
import { faultRounds } from './servers/fault-round.ts';

faultRounds({
  name: 'a primary is stopped',
  brokenMs: NODE_TIMEOUT_MS + 4000,
  async break(cluster, range) {
    const { primary } = await cluster.pairOf(range);
    primary.pause();
    return { range, repair: () => primary.resume() };
  },
});

faultRounds({
  name: 'a member is stopped',
  brokenMs: HEARTBEAT_SECONDS * 1000 + 3000,
  async break({ members }, member) {
    members[member]!.pause();
    return { member, repair: () => members[member]!.resume() };
  },
});
