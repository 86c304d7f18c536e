/** The metrics of the engine on servers. The data is that of all members, so it has none here. */
import { counter, type Figures, gauge } from '../../base/figures.ts';
import type { RedisEngine } from './redis-engine.ts';

const METRICS = {
  reachable: gauge('gridnode_engine_reachable', 'Whether a server of the data accepts operations'),
  operations: gauge(
    'gridnode_engine_operations_under_way',
    'Operations that wait for the servers of the data',
  ),
  reconnections: counter(
    'gridnode_engine_reconnections_total',
    'Lost connections to the servers of the data, which are established again',
  ),
  unknownOutcomes: counter(
    'gridnode_engine_unknown_outcomes_total',
    'Operations of which the servers did not report whether they were done',
  ),
};

export function reportSharedEngine(to: Figures, engine: RedisEngine): void {
  to.add(METRICS.reachable, engine.isReachable ? 1 : 0);
  to.add(METRICS.operations, engine.operationCount);
  to.add(METRICS.reconnections, engine.lostConnectionCount);
  to.add(METRICS.unknownOutcomes, engine.unknownOutcomeCount);
}
