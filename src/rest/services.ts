/** What the REST interface stands on; one object for all connections. */
import type { Cluster } from '../cluster/cluster.ts';
import type { Engine } from '../engine/engine.ts';
import type { EndpointGroups } from './endpoint-groups.ts';
import type { PercentDecoder } from './percent.ts';
import type { RouteFinder } from './router.ts';

export interface RestServices {
  readonly engine: Engine;
  readonly cluster: Cluster;
  readonly groups: EndpointGroups;
  readonly router: RouteFinder;
  readonly decoder: PercentDecoder;
  /** What the first of an administrative request's credentials must be. */
  readonly clusterName: string;
  /** Open client connections. */
  connectionCount(): number;
  instanceName(): string;
}
