/** Random rounds of queues, on a fake server: src/engine/redis/redis-queues.ts, queue-takes.ts. */
import { startFaultyServer } from '../../world/world-engines.ts';
import { describeQueueRounds } from './queue-rounds.case.ts';

describeQueueRounds('on a fake server', startFaultyServer);
