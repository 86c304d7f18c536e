/** A complete in-memory server: REST over the embedded engine, without a port, with a stopped clock. */
import assert from 'node:assert';
import { administrationActions } from '../../src/administration/administration-actions.ts';
import { GridError } from '../../src/base/errors.ts';
import { clusterVersion, type Waiter } from '../../src/cluster/cluster.ts';
import { License } from '../../src/cluster/license.ts';
import { LocalRecord } from '../../src/cluster/shared-record.ts';
import { StandaloneCluster } from '../../src/cluster/standalone.ts';
import type { Compatibility } from '../../src/config/compatibility.ts';
import { cpActions } from '../../src/cp/cp-actions.ts';
import { SingleCpMember } from '../../src/cp/cp-members.ts';
import { Cp } from '../../src/cp/cp-part.ts';
import { CpStore } from '../../src/cp/cp-store.ts';
import { dataActions } from '../../src/data/data-actions.ts';
import { MapLifetimes } from '../../src/data/map-lifetimes.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { MutationSink } from '../../src/engine/mutation-sink.ts';
import { queueCapacity } from '../../src/engine/queue-capacity.ts';
import { healthActions } from '../../src/health/health-actions.ts';
import type { HEALTH_ROUTES } from '../../src/health/health-routes.ts';
import type { Application } from '../../src/http/application.ts';
import { Connection } from '../../src/http/connection.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import type { RequestHead } from '../../src/http/request-head.ts';
import type { ResponseDelay } from '../../src/http/response-delay.ts';
import type { ServedHosts } from '../../src/http/served-hosts.ts';
import { HttpServer } from '../../src/http/server.ts';
import { SocketCarrier } from '../../src/http/socket-carrier.ts';
import type { TlsIdentity } from '../../src/http/tls.ts';
import type { TrafficMeter } from '../../src/http/traffic-meter.ts';
import { ROUTES } from '../../src/member/routes.ts';
import { monitoringActions } from '../../src/monitoring/monitoring-actions.ts';
import type { MemberStatus } from '../../src/monitoring/status-report.ts';
import type { Maintenance } from '../../src/persistence/maintenance.ts';
import { persistenceActions } from '../../src/persistence/persistence-actions.ts';
import { ClusterNameCredentials } from '../../src/security/credentials.ts';
import type { Actions } from '../../src/surface/action.ts';
import type { AdministrativeParts } from '../../src/surface/administrative-call.ts';
import { CrossOriginPolicy } from '../../src/surface/cross-origin-policy.ts';
import { DIALECTS } from '../../src/surface/dialect.ts';
import { EndpointGroups } from '../../src/surface/endpoint-groups.ts';
import { resourcesOf } from '../../src/surface/resource.ts';
import { restApplication } from '../../src/surface/rest-handler.ts';
import { statusesOf } from '../../src/surface/route.ts';
import { type RouteFinder, Router } from '../../src/surface/router.ts';
import type { Audit } from '../../src/telemetry/audit.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { LogLevelControl } from '../../src/telemetry/log-level-control.ts';
import { v1Actions } from '../../src/v1/v1-actions.ts';
import { type WanCalls, type WanMessages, wanActions } from '../../src/wan/wan-actions.ts';
import { FakeClock } from '../fake-clock.ts';
import { DEFAULT_LIMITS } from './default-limits.ts';
import type { FakeCarrier } from './fake-carrier.ts';

/** The carriers of plain connections: those on handles, and those on sockets. */
export const CARRIERS: readonly { readonly name: string; readonly parts: TestServerParts }[] = [
  { name: 'a handle', parts: {} },
  { name: 'a socket', parts: { carry: (socket, host) => new SocketCarrier(socket, host) } },
];

const QUEUE_CAPACITIES = new Map([
  ['two-items', 2],
  ['one-item', 1],
]);
const SERVED_GROUPS = ['DATA', 'HEALTH_CHECK', 'CLUSTER_READ'] as const;

export interface TestServer {
  readonly clock: FakeClock;
  /** The engine that stores the data. */
  readonly engine: EmbeddedEngine;
  /** The engine that requests use. */
  readonly served: Engine;
  readonly cluster: StandaloneCluster;
  readonly server: HttpServer;
  readonly groups: EndpointGroups;
  /** Errors that handlers threw. */
  readonly failures: unknown[];
  /** Lines of the audit log. */
  readonly audited: Parameters<Audit['write']>[0][];
  /** Requests to shut the member down. */
  readonly stops: string[];
  connect(carrier: FakeCarrier): Connection;
}

/** Parts of the member that the actions and the checks use. */
export type ServiceParts = Partial<
  Parameters<typeof restApplication>[1] &
    AdministrativeParts &
    Parameters<typeof dataActions>[0] &
    Parameters<typeof administrationActions>[0] &
    Parameters<typeof monitoringActions>[0] & {
      wan: WanCalls & WanMessages;
      maintenance: Maintenance;
    }
>;

export interface TestServerParts {
  /** Wraps the server's router. */
  readonly route?: ((router: RouteFinder) => RouteFinder) | undefined;
  /** The rows of the server, instead of all. */
  readonly table?: typeof HEALTH_ROUTES;
  /** Wraps the server's application. */
  readonly wrap?: (application: Application) => Application;
  readonly clock?: FakeClock;
  /** Sinks of mutations. */
  readonly sinks?: readonly MutationSink[];
  /** Replace the server's services. */
  readonly services?: ServiceParts;
  readonly tls?: TlsIdentity;
  readonly delay?: ResponseDelay;
  /** The served hosts; undefined for all. */
  readonly servedHosts?: ServedHosts;
  readonly onBadType?: () => void;
  readonly closesIdle?: boolean;
  /** Makes the carriers of accepted sockets. */
  readonly carry?: ConstructorParameters<typeof HttpServer>[0]['carry'];
  /** Called with the reason why plain connections have sockets. */
  readonly onNoHandles?: (reason: string) => void;
  readonly meter?: TrafficMeter;
  readonly compatibility?: Compatibility | undefined;
  /** The engine that stores the data, instead of a new one. */
  readonly engine?: EmbeddedEngine;
  /** Wraps the embedded engine, every take of which must then be acknowledged. */
  readonly engineOn?: (engine: EmbeddedEngine, clock: FakeClock) => Engine;
}

/**
 * Returns a server. Groups are as in spec/vectors/README.md; the queue `one-item` has one item,
 * `two-items` two.
 */
export function createTestServer(
  limits: Partial<HttpLimits> = {},
  {
    wrap = (application) => application,
    tls,
    delay,
    onBadType,
    closesIdle = false,
    carry,
    onNoHandles,
    meter,
    services = {},
    clock = new FakeClock(),
    sinks = [],
    engineOn,
    engine = new EmbeddedEngine({
      acknowledgesAll: engineOn !== undefined,
      partitionCount: 7,
      clock,
      sinks,
      queueCapacity: queueCapacity(QUEUE_CAPACITIES),
    }),
    compatibility: stated,
    route = (router) => router,
    table = ROUTES,
    servedHosts,
  }: TestServerParts = {},
): TestServer {
  const dialect =
    stated === undefined ? { ...DIALECTS.none, memberVersion: '1.2.3' } : DIALECTS[stated];
  const failures: unknown[] = [];
  const audited: Parameters<Audit['write']>[0][] = [];
  const stops: string[] = [];
  const record = new LocalRecord(clusterVersion(dialect.memberVersion));
  const cluster = new StandaloneCluster(dialect.memberVersion, record);
  const onFailure = (error: unknown) => failures.push(error);
  const waiting = new Set<Waiter>();
  cluster.onPassive = () => {
    for (const waiter of waiting) waiter.endWait();
  };
  const served = engineOn?.(engine, clock) ?? engine;
  const groups = new EndpointGroups(true, new Map(SERVED_GROUPS.map((group) => [group, true])));
  const crossOrigin = services.crossOrigin ?? new CrossOriginPolicy([], 600);
  const isShared = services.isShared ?? false;
  const audit = { write: (entry: Parameters<Audit['write']>[0]) => audited.push(entry) };
  const checks = {
    ...{ dialect, cluster, engine: served, isShared, groups, crossOrigin, audit },
    login: undefined,
    memberLogin: undefined,
    credentials: new ClusterNameCredentials('dev'),
    ...services,
  };
  const lifetimes = new MapLifetimes(new Map([['two-seconds', 2]]), new Map([['two-idle', 2]]));
  const cp = new Cp({
    ...{ store: new CpStore(served, clock), clock, members: new SingleCpMember(cluster) },
    config: { cpSessionSeconds: 300 },
  });
  const actions: Actions<typeof ROUTES> = {
    ...dataActions({ ...checks, engine: served, lifetimes, waiting }),
    ...v1Actions({ engine: served, lifetimes, clock }),
    ...healthActions(services.cluster ?? cluster, served),
    ...administrationActions({
      dialect,
      cluster,
      logLevel: new LogLevelControl(createLog('OFF', { write: () => {} }), 'OFF'),
      license: new License(record),
      reconfiguration: {
        tcpIpMembers: undefined,
        reload: async () => ({ applied: [], unapplied: [], faults: [] }),
        add: async () => ({ added: [], ignored: [] }),
      },
      instanceName: () => 'vectors',
      stop: (because) => stops.push(because),
      stopAll: async (because) => {
        stops.push(because);
      },
      connectionCount: () => 1,
      allConnectionCount: () => 1,
      ...services,
    }),
    ...persistenceActions(services.maintenance, dialect, isShared),
    ...wanActions({
      ...checks,
      wan: services.wan ?? NO_PUBLISHERS,
      hasMemberLogin: checks.memberLogin !== undefined,
    }),
    ...cpActions({ ...checks, cp, clock, waiting }),
    ...monitoringActions({
      monitoring: { scrape: () => '', status: () => ({}) as MemberStatus },
      document: async () => '{}',
      ...services,
    }),
  };
  const resources = resourcesOf(table, actions, stated ?? 'none', checks);
  const router = route(new Router(dialect.pathSegment, resources));
  const application = restApplication(router, checks);
  const server = new HttpServer({
    application: wrap(application),
    tls,
    limits: { ...DEFAULT_LIMITS, bodyBytesMax: 1000, ...limits },
    clock,
    onFailure,
    onBadType,
    delay,
    servedHosts,
    closesIdle,
    carry,
    onNoHandles,
    meter,
    fieldLines: crossOrigin.commonLines,
  });
  server.observe = statusCheck(router);
  cluster.start('127.0.0.1:5701');
  return {
    clock,
    engine,
    served,
    cluster,
    server,
    groups,
    failures,
    audited,
    stops,
    connect(carrier) {
      carrier.clock = clock;
      return new Connection(server, carrier);
    },
  };
}

function unknownPublisher(replication: string, publisherId: string): never {
  throw new GridError('WAN_UNKNOWN', { replication, publisherId });
}

/** WAN calls of a member that has no publishers, and to which none can be added. */
const NO_PUBLISHERS: WanCalls & WanMessages = {
  running: undefined,
  receive: async () => ({
    error: new GridError('WAN_MESSAGE_INVALID', { reason: 'nothing is taken' }),
  }),
  runningOf: unknownPublisher,
  add: async () => ({ faults: ['no WAN replication'] }),
  clear: unknownPublisher,
  remove: unknownPublisher,
};

/**
 * Asserts that every response has a status that the table of routes lists for its operation, and
 * that every refusal has a code. Probes may get 503 without one.
 */
function statusCheck(router: RouteFinder): NonNullable<HttpServer['observe']> {
  return (status, head, { code }) => {
    if (status >= 400 !== (code !== '') && !isProbe(head)) {
      process.nextTick(() => assert.fail(`response ${status} has the code "${code}"`));
    }
    if (head === undefined) return;
    const match = router.match(head, { nameStart: 0, nameEnd: 0, keyStart: 0, keyEnd: 0 });
    const row = match?.endpoints[head.method];
    if (row === undefined || statusesOf(row).has(status)) return;
    const { summary } = row;
    process.nextTick(() => assert.fail(`the operation "${summary}" has the status ${status}`));
  };
}

function isProbe(head: RequestHead | undefined): boolean {
  return head?.target.bytes.toString('latin1', head.target.start).includes('/health/') === true;
}
