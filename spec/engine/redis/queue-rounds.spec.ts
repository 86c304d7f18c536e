/** Covers src/engine/redis/queue-*.ts. Random rounds of queues on a fake server. */
import { startFaultyServer } from '../../world/world-engines.ts';
import { describeQueueRounds } from './queue-rounds.case.ts';

describeQueueRounds('on a fake server', startFaultyServer);
