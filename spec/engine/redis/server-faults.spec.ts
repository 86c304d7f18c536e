/** Faults of a server, on a fake one: src/engine/redis/dispatcher.ts, queue-takes.ts. */
import { startFaultyServer } from '../../world/world-engines.ts';
import { describeServerFaults } from './server-faults.case.ts';

describeServerFaults('on a fake server', startFaultyServer);
