/** Members on a fake server: src/engine/redis/redis-membership-store.ts, departed-members.ts. */
import { startFaultyServer } from '../../world/world-engines.ts';
import { describeMembers } from './members.case.ts';

describeMembers('on a fake server', startFaultyServer);
