/**
 * Covers src/engine/redis/dispatcher.ts and src/engine/redis/queue-*.ts. Faults of a server, on a
 * fake one.
 */
import { startFaultyServer } from '../../world/world-engines.ts';
import { describeServerFaults } from './server-faults.case.ts';

describeServerFaults('on a fake server', startFaultyServer);
