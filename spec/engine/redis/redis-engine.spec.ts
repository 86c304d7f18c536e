/**
 * The engine on servers, src/engine/redis, on a fake server: the contract of engines, and the suites
 * that spec/peers also runs on real servers.
 */
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { startFaultyServer, subjectOf } from '../../world/world-engines.ts';
import { engineSuite } from '../engine.case.ts';
import { holdSuite } from '../holds.case.ts';
import { withMarks } from '../marked.ts';
import { describeCutReplies } from './cut-replies.case.ts';
import { describeMembers } from './members.case.ts';
import { describeQueueRounds } from './queue-rounds.case.ts';
import { describeServerFaults } from './server-faults.case.ts';

/** Opens an engine on a server in a world of its own. */
function open() {
  const world = new World();
  return subjectOf(world, new FakeServer(world).url);
}

engineSuite('an engine on one fake server', open);
holdSuite('an engine on one fake server', open);
engineSuite('an engine on one fake server that marks all changes', () => withMarks(open()));

for (const suite of [
  describeCutReplies,
  describeMembers,
  describeQueueRounds,
  describeServerFaults,
]) {
  suite('on a fake server', startFaultyServer);
}
