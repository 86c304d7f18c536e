/**
 * Covers src/engine/redis/redis-membership-store.ts and src/engine/redis/departed-members.ts.
 * Members on a fake server.
 */
import { startFaultyServer } from '../../world/world-engines.ts';
import { describeMembers } from './members.case.ts';

describeMembers('on a fake server', startFaultyServer);
