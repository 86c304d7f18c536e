/**
 * Makes the parts of a member, each with the contracts of others that it needs. This is the only
 * file that knows all of them.
 */
import { administrationActions } from '../administration/administration-actions.ts';
import { type Clock, SystemClock } from '../base/clock.ts';
import { openFiles } from '../base/open-files.ts';
import type { Part } from '../base/part.ts';
import { VERSION } from '../base/program-version.ts';
import { publicAddress } from '../cluster/address.ts';
import { type ClusterPart, sharedCluster, standaloneCluster } from '../cluster/cluster-part.ts';
import { TcpIpMembers } from '../cluster/tcp-ip-members.ts';
import { matchingAddress } from '../config/interface-pattern.ts';
import { cpActions } from '../cp/cp-actions.ts';
import { SharedCpMembers, SingleCpMember } from '../cp/cp-members.ts';
import { Cp } from '../cp/cp-part.ts';
import { CpStore } from '../cp/cp-store.ts';
import { dataActions } from '../data/data-actions.ts';
import { MapLifetimes } from '../data/map-lifetimes.ts';
import { EmbeddedPart } from '../engine/embedded/embedded-part.ts';
import type { Engine } from '../engine/engine.ts';
import { healthActions } from '../health/health-actions.ts';
import { HEALTH_ROUTES } from '../health/health-routes.ts';
import { ServedHosts } from '../http/served-hosts.ts';
import { Monitoring, type MonitoringOptions } from '../monitoring/monitoring.ts';
import { monitoringActions } from '../monitoring/monitoring-actions.ts';
import { METRICS_ROUTES } from '../monitoring/monitoring-routes.ts';
import { persistenceActions } from '../persistence/persistence-actions.ts';
import type { PersistencePart } from '../persistence/persistence-part.ts';
import { MemberSecurity } from '../security/member-security.ts';
import { hashPassword } from '../security/password.ts';
import { HttpServers, type HttpServersOptions, readTls } from '../servers/http-servers.ts';
import type { Actions } from '../surface/action.ts';
import { CrossOriginPolicy } from '../surface/cross-origin-policy.ts';
import { DIALECTS } from '../surface/dialect.ts';
import { EndpointGroups } from '../surface/endpoint-groups.ts';
import { pathsOf, resourcesOf, rowsOf } from '../surface/resource.ts';
import { restApplication } from '../surface/rest-handler.ts';
import { Router } from '../surface/router.ts';
import { type Audit, CountingAudit } from '../telemetry/audit.ts';
import { HttpTraffic } from '../telemetry/http-traffic.ts';
import type { Log } from '../telemetry/log.ts';
import { LogLevelControl } from '../telemetry/log-level-control.ts';
import { reportLog } from '../telemetry/log-metrics.ts';
import { v1Actions } from '../v1/v1-actions.ts';
import { SharedWan } from '../wan/shared-wan.ts';
import { sharedWanConfig } from '../wan/shared-wan-config.ts';
import { wanActions } from '../wan/wan-actions.ts';
import { WanMaps } from '../wan/wan-maps.ts';
import { WanPart } from '../wan/wan-part.ts';
import type { Config } from './config.ts';
import { change } from './life.ts';
import type { LoadedConfig } from './load.ts';
import { memoryWarning } from './memory-defaults.ts';
import { Reloader } from './reloader.ts';
import { ROUTES } from './routes.ts';

/** The port of a member that does not listen. */
export const NO_PORT = 0;

interface MemberParts {
  /** In the order of a start. */
  readonly all: readonly Part<Config>[];
  /** Cuts off the connections. Returns a description of them, or undefined if there was nothing. */
  readonly cutOff: () => string | undefined;
  readonly servers: HttpServers;
  readonly clock: Clock;
  readonly cp: Cp;
  readonly monitoring: Monitoring;
  readonly engine: Engine;
  /** The engine, if it stores the data in this member. */
  readonly stored: EmbeddedPart['engine'] | undefined;
  readonly persistence: PersistencePart | undefined;
  readonly cluster: ClusterPart;
  readonly lifetimes: MapLifetimes;
  readonly reloader: Reloader;
  /** Resolves when a client requests the end of the member. */
  readonly stopRequested: Promise<string>;
}

/** Parts that are made after the data and its cluster, as these use them. */
interface Links {
  /** The address that the member reports as its own. */
  readonly addressOf: () => string;
  readonly instanceName: () => string;
  readonly onStop: (because: string) => void;
  readonly serversOf: () => HttpServers;
  readonly reloader: () => Reloader;
}

/** The parts that depend on where the data is stored. */
interface DataParts {
  readonly engine: Engine;
  /** The engine, if it stores the data in this member. */
  readonly stored: EmbeddedPart['engine'] | undefined;
  readonly persistence: PersistencePart | undefined;
  readonly cluster: ClusterPart;
  readonly wan: WanPart | SharedWan;
  /** Number of connections to servers that store the data. */
  readonly serverConnectionCount: () => number;
  /** The engine, persistence and the cluster, in this order. */
  readonly parts: readonly Part<Config>[];
}

/**
 * Makes the parts. Rejects with GridError TLS_FILE_UNUSABLE or DATA_DIRECTORY_UNUSABLE. `load`
 * reads the sources of the configuration again. `listens`: whether there are HTTP servers.
 */
export async function makeParts(
  config: Config,
  log: Log,
  load: () => Promise<LoadedConfig>,
  audit: Audit,
  listens = true,
): Promise<MemberParts> {
  const files = openFiles();
  warnOfMemory(config, log);
  const tls = await readTls(config);
  const clock = new SystemClock();
  const { stopRequested, onStop } = stopRequest();
  const links: Links = {
    addressOf: () => ownAddress(config, listens ? servers.bound : undefined),
    instanceName: () => config.instanceName || `gridnode-${servers.dataPort}`,
    onStop,
    serversOf: () => servers,
    reloader: () => reloader,
  };
  const data = await makeData(config, clock, log, links);
  const { engine, persistence, cluster, wan } = data;
  const prepare = (changed: Config, rereads: boolean) => change<Config>(all, changed, rereads);
  const { record } = cluster;
  const dropRemoved = async () => (wan instanceof SharedWan ? await wan.dropRemoved() : undefined);
  const parts = { change: prepare, log, load, record, hashPassword, dropRemoved };
  const reloader = new Reloader(config, parts);
  const security = new MemberSecurity({ ...config, clock, matchesAddress });
  const groups = new EndpointGroups(config.restEnabled, config.endpointGroups);
  const logLevel = new LogLevelControl(log, config.logLevel);
  const lifetimes = new MapLifetimes(config.mapTimeToLiveSeconds, config.mapMaxIdleSeconds);
  const counting = new CountingAudit(audit, clock, log.lineCounts);
  const crossOrigin = new CrossOriginPolicy(config.corsAllowedOrigins, config.corsMaxAgeSeconds);
  const traffic = new HttpTraffic(pathsOf(ROUTES));
  const cp = cpPart(config, clock, engine, cluster);
  const monitored = { clock, traffic, files, cp: () => cp.status, parts: () => all };
  const monitoring = makeMonitoring(config, data, links, monitored);
  const own = { clock, cp, groups, crossOrigin, security, logLevel, lifetimes };
  const servers = new HttpServers({
    config,
    clock,
    log,
    logLevel,
    tls,
    files,
    traffic,
    delay: persistence,
    servedHosts: new ServedHosts(ownNames(config), config.allowedHosts),
    fieldLines: crossOrigin.commonLines,
    ...applicationsOf(config, data, { ...own, audit: counting, reloader, monitoring, links }),
  });
  persistence?.addSender(servers.data);
  const all: Part<Config>[] = [
    telemetryPart(log, logLevel, counting),
    monitoring,
    security,
    surfacePart(groups, lifetimes),
  ];
  if (listens) all.push(servers);
  for (const part of data.parts) all.push(part);
  all.push(administrationPart(record, reloader), cp, wan);
  return {
    all,
    cutOff() {
      counting.end();
      return servers.cutOff();
    },
    servers,
    clock,
    cp,
    engine,
    persistence,
    cluster,
    lifetimes,
    reloader,
    monitoring,
    stored: data.stored,
    stopRequested,
  };
}

function warnOfMemory(config: Config, log: Log): void {
  const warning = memoryWarning(config);
  if (warning !== undefined) log.warn(warning);
}

/** Returns a promise for the reason to stop the member, and the function that resolves it. */
function stopRequest() {
  let onStop: (because: string) => void = () => {};
  const stopRequested = new Promise<string>((resolve) => {
    onStop = resolve;
  });
  return { stopRequested, onStop };
}

/** Returns the address that the member reports; `bound` is undefined if it does not listen. */
function ownAddress(
  { publicAddress: address, host }: Config,
  bound = { address: host, port: NO_PORT },
) {
  return publicAddress(address, bound);
}

function cpPart(
  config: Config,
  clock: Clock,
  engine: Engine,
  { cluster, record }: ClusterPart,
): Cp {
  const store = new CpStore(engine, clock);
  const members = record.isShared
    ? new SharedCpMembers({ store, cluster, clock, config })
    : new SingleCpMember(cluster);
  return new Cp({ store, clock, members, config });
}

function telemetryPart(log: Log, logLevel: LogLevelControl, audit: CountingAudit): Part<Config> {
  return {
    change: async (changed) => () => logLevel.configure(changed.logLevel),
    figures: (to) => reportLog(to, log.lineCounts),
    close: async () => audit.end(),
  };
}

function surfacePart(groups: EndpointGroups, lifetimes: MapLifetimes): Part<Config> {
  return {
    change: async (changed) => () => {
      groups.set(changed.restEnabled, changed.endpointGroups);
      lifetimes.replace(changed.mapTimeToLiveSeconds, changed.mapMaxIdleSeconds);
    },
  };
}

/** A shared record is known once the member has joined. */
function administrationPart(record: ClusterPart['record'], reloader: Reloader): Part<Config> {
  return record.isShared ? {} : { restore: () => reloader.restore() };
}

async function makeData(config: Config, clock: Clock, log: Log, links: Links): Promise<DataParts> {
  const { compatibility, clusterName, liteMember, engineUrl } = config;
  const { memberVersion } = DIALECTS[compatibility];
  const { addressOf, instanceName, onStop, reloader } = links;
  const isLite = liteMember;
  const identity = { memberVersion, isLite, clusterName, addressOf, instanceName, onStop };
  if (engineUrl === undefined) return await storedData(config, clock, log, links, identity);
  const { makeSharedEngine } = await import('../engine/redis/shared-engine.ts');
  const shared = await makeSharedEngine(config, engineUrl, clock, log);
  const { engine } = shared;
  const cluster = await sharedCluster({
    ...identity,
    engine,
    clock,
    log,
    leaseMs: config.engineNoHeartbeatSeconds * 1000,
    commonConfig: sharedWanConfig(config),
    prepare: () => reloader().restore(cluster.cluster.members.length === 1),
  });
  const wan = new SharedWan({
    config,
    clock,
    log,
    engine,
    changedPartitions: engine.membershipStore,
    cluster: cluster.cluster,
    record: cluster.record,
    segment: segmentOf(config),
    addToConfig: (text) => reloader().addWan(text),
    removeFromConfig: (...publisher) => reloader().removeWan(...publisher),
  });
  return {
    engine,
    stored: undefined,
    persistence: undefined,
    cluster,
    wan,
    serverConnectionCount: () => engine.connectionCount,
    parts: [shared, cluster],
  };
}

/** Makes the parts of a member that stores its data itself. */
async function storedData(
  config: Config,
  clock: Clock,
  log: Log,
  { reloader }: Links,
  identity: Omit<Parameters<typeof standaloneCluster>[0], 'engine'>,
): Promise<DataParts> {
  const persistence = config.persistenceEnabled
    ? new (await import('../persistence/persistence-part.ts')).PersistencePart(config, clock, log)
    : undefined;
  const maps = new WanMaps(config);
  const sinks = persistence === undefined ? [] : [persistence.sink];
  const embedded = new EmbeddedPart(config, clock, log, sinks, maps.merging);
  const { engine } = embedded;
  const standalone = standaloneCluster({ ...identity, engine }, persistence);
  const { cluster } = standalone;
  const wan = new WanPart({
    config,
    clock,
    log,
    engine,
    maps,
    store: persistence,
    segment: segmentOf(config),
    uuidOf: () => cluster.uuid,
    acceptsWrites: () => cluster.acceptsWrites,
    addToConfig: (text) => reloader().addWan(text),
    removeFromConfig: (...publisher) => reloader().removeWan(...publisher),
  });
  persistence?.attach(engine, wan);
  return {
    engine,
    stored: engine,
    persistence,
    cluster: standalone,
    wan,
    serverConnectionCount: () => 0,
    parts: [embedded, ...(persistence === undefined ? [] : [persistence]), standalone],
  };
}

/** The rows that the health port serves. */
const HEALTH_PORT_ROUTES = { ...METRICS_ROUTES, ...HEALTH_ROUTES } as const;

function makeMonitoring(
  config: Config,
  { cluster: { cluster }, stored, persistence, wan }: DataParts,
  { instanceName, serversOf }: Links,
  monitored: Pick<MonitoringOptions, 'clock' | 'traffic' | 'files' | 'cp' | 'parts'>,
): Monitoring {
  return new Monitoring({
    ...monitored,
    stored,
    cluster,
    dialect: DIALECTS[config.compatibility],
    clusterName: config.clusterName,
    instanceName,
    connectionCount: () => serversOf().connectionCount,
    inFlightBytes: () => serversOf().inFlightBytes,
    persistence: () => persistence?.status,
    publishers: () => wan.running?.publishers() ?? [],
  });
}

interface Served {
  readonly clock: Clock;
  readonly cp: Cp;
  readonly groups: EndpointGroups;
  readonly crossOrigin: CrossOriginPolicy;
  readonly security: MemberSecurity;
  readonly logLevel: LogLevelControl;
  readonly lifetimes: MapLifetimes;
  readonly audit: CountingAudit;
  readonly reloader: Reloader;
  readonly monitoring: Monitoring;
  readonly links: Links;
}

/** Makes the HTTP interface, and that of the health port: the actions of all rows, and the checks. */
function applicationsOf(
  config: Config,
  { engine, persistence, wan, serverConnectionCount, cluster: clusterPart }: DataParts,
  served: Served,
): Pick<HttpServersOptions, 'application' | 'healthApplication'> {
  const { cluster, record, license, waiting } = clusterPart;
  const { instanceName, serversOf, onStop } = served.links;
  const { clock, cp, groups, crossOrigin, security, logLevel, lifetimes } = served;
  const { audit, reloader, monitoring } = served;
  const { compatibility } = config;
  const dialect = DIALECTS[compatibility];
  const segment = segmentOf(config);
  const { isShared } = record;
  const { access: login, memberAccess: memberLogin, credentials } = security;
  const connectionCount = () => serversOf().connectionCount;
  const actions: Actions<typeof ROUTES> = {
    ...dataActions({ engine, lifetimes, waiting, dialect }),
    ...v1Actions({ engine, lifetimes, clock }),
    ...administrationActions({
      dialect,
      cluster,
      license,
      logLevel,
      connectionCount,
      reconfiguration: {
        tcpIpMembers: config.tcpIpEnabled
          ? new TcpIpMembers(record, config.tcpIpMembers)
          : undefined,
        reload: () => reloader.reload(),
        add: (text) => reloader.add(text),
      },
      instanceName: instanceName,
      allConnectionCount: () => connectionCount() + serverConnectionCount() + wan.connectionCount,
      stop: onStop,
      stopAll: (because) => cluster.stopAll(because),
    }),
    ...persistenceActions(persistence, dialect, isShared),
    ...wanActions({
      wan,
      cluster,
      dialect,
      audit,
      hasMemberLogin: memberLogin !== undefined,
    }),
    ...cpActions({ cp, cluster, dialect, waiting, clock }),
    ...monitoringActions({
      monitoring,
      async document() {
        // The code is only loaded if a client requests the document.
        const { openApiDocument } = await import('../surface/openapi/openapi-document.ts');
        const options = { segment, version: VERSION, dialect, login, memberLogin };
        return openApiDocument(rowsOf(ROUTES, compatibility), options);
      },
    }),
    ...healthActions(cluster, engine),
  };
  const checks = {
    dialect,
    cluster,
    engine,
    isShared,
    groups,
    crossOrigin,
    login,
    memberLogin,
    audit,
  };
  const parts = { ...checks, credentials };
  const paths = pathsOf(ROUTES);
  const applicationOf = (rows: typeof HEALTH_PORT_ROUTES) => {
    const resources = resourcesOf(rows, actions, compatibility, parts, paths);
    return restApplication(new Router(segment, resources), checks);
  };
  return {
    application: applicationOf(ROUTES),
    healthApplication: applicationOf(HEALTH_PORT_ROUTES),
  };
}

function segmentOf({ pathSegment, compatibility }: Config): string {
  return pathSegment ?? DIALECTS[compatibility].pathSegment;
}

/** Returns this machine's names in the configuration. */
function ownNames({ host, publicAddress: address }: Config): string[] {
  return address === undefined ? [host] : [host, address.replace(/:\d+$/, '')];
}

function matchesAddress(patterns: readonly string[], address: string): boolean {
  return matchingAddress(patterns, [address]) !== undefined;
}
