/**
 * Faults of a real server, its replies cut off at each byte, with and without a replica, and random
 * rounds of several engines.
 */
import { describeCutReplies } from '../engine/redis/cut-replies.case.ts';
import { describeQueueRounds } from '../engine/redis/queue-rounds.case.ts';
import { describeServerFaults } from '../engine/redis/server-faults.case.ts';
import { startFaultyServer } from './store-engines.ts';

describeServerFaults('on a real server', startFaultyServer);
describeCutReplies('on a real server', startFaultyServer);
describeQueueRounds('on a real server', startFaultyServer);
