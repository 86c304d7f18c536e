/**
 * The engine on servers, src/engine/redis, on a fake server: the contract of engines, and the suites
 * that spec/peers also runs on real servers.
 */
import { startFaultyServer, worldSubject } from '../../world/world-engines.ts';
import { engineSuite } from '../engine.case.ts';
import { holdSuite } from '../holds.case.ts';
import { describeCutReplies } from './cut-replies.case.ts';
import { describeMembers } from './members.case.ts';
import { describeQueueRounds } from './queue-rounds.case.ts';
import { describeServerFaults } from './server-faults.case.ts';

const name = 'an engine on one fake server';
engineSuite(name, () => worldSubject());
holdSuite(name, () => worldSubject());

for (const suite of [
  describeCutReplies,
  describeMembers,
  describeQueueRounds,
  describeServerFaults,
]) {
  suite('on a fake server', startFaultyServer);
}
