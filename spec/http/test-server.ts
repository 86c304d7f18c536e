/** A whole server in memory: REST over the embedded engine, without a port; time stands still. */
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import { queueCapacity } from '../../src/config/queue-capacity.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/engine.ts';
import type { Application } from '../../src/http/application.ts';
import { Connection } from '../../src/http/connection.ts';
import { DEFAULT_LIMITS, type HttpLimits } from '../../src/http/limits.ts';
import { HttpServer } from '../../src/http/server.ts';
import type { TlsIdentity } from '../../src/http/tls.ts';
import { EndpointGroups } from '../../src/rest/endpoint-groups.ts';
import { PercentDecoder } from '../../src/rest/percent.ts';
import { RestApplication } from '../../src/rest/rest-application.ts';
import { type RouteFinder, Router } from '../../src/rest/router.ts';
import { FakeClock } from '../fake-clock.ts';
import type { FakeSocket } from './fake-socket.ts';

const SERVED_GROUPS = ['DATA', 'HEALTH_CHECK', 'CLUSTER_READ'] as const;

export interface TestServer {
  readonly clock: FakeClock;
  readonly engine: EmbeddedEngine;
  readonly server: HttpServer;
  readonly groups: EndpointGroups;
  /** What handlers threw. */
  readonly failures: unknown[];
  connect(socket: FakeSocket): Connection;
}

export interface TestServerParts {
  /** Puts something between the server and what it serves. */
  readonly wrap?: (application: Application) => Application;
  readonly router?: RouteFinder;
  readonly tls?: TlsIdentity;
}

/**
 * Groups as spec/vectors/README.md has them; `queues/two-items` holds two.
 */
export function createTestServer(
  limits: Partial<HttpLimits> = {},
  { wrap = (application) => application, router = new Router('grid'), tls }: TestServerParts = {},
): TestServer {
  const clock = new FakeClock();
  const failures: unknown[] = [];
  const cluster = new StandaloneCluster();
  const engine = new EmbeddedEngine({
    partitionCount: 7,
    clock,
    queueCapacity: queueCapacity(new Map([['two-items', 2]])),
  });
  const groups = new EndpointGroups(true, new Map(SERVED_GROUPS.map((group) => [group, true])));
  const application = new RestApplication({
    engine,
    cluster,
    groups,
    router,
    decoder: new PercentDecoder(DEFAULT_LIMITS.targetBytesMax),
    clusterName: 'dev',
    connectionCount: () => 1,
    instanceName: () => 'vectors',
  });
  const server = new HttpServer({
    application: wrap(application),
    tls,
    limits: { ...DEFAULT_LIMITS, bodyBytesMax: 1000, ...limits },
    clock,
    onFailure: (error) => failures.push(error),
  });
  cluster.start('127.0.0.1:5701', '1.2.3');
  return {
    clock,
    engine,
    server,
    groups,
    failures,
    connect: (socket) => new Connection(server, socket.socket),
  };
}
