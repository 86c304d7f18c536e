/** Faults of a real server, and its replies cut off at each byte, with and without a replica. */
import { describeCutReplies } from '../engine/redis/cut-replies.case.ts';
import { describeServerFaults } from '../engine/redis/server-faults.case.ts';
import { startFaultyServer } from './store-engines.ts';

describeServerFaults('on a real server', startFaultyServer);
describeCutReplies('on a real server', startFaultyServer);
