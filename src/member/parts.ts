/**
 * Makes the parts of a member, each with the contracts of others that it needs. This is the only file
 * that knows all of them.
 */
import { type Clock, SystemClock } from '../base/clock.ts';
import { openFiles } from '../base/open-files.ts';
import type { Part } from '../base/part.ts';
import { publicAddress } from '../cluster/address.ts';
import { type ClusterPart, sharedCluster, standaloneCluster } from '../cluster/cluster-part.ts';
import { TcpIpMembers } from '../cluster/tcp-ip-members.ts';
import type { Config } from '../config/config.ts';
import { matchingAddress } from '../config/interface-pattern.ts';
import type { LoadedConfig } from '../config/load.ts';
import { memoryWarning } from '../config/memory-defaults.ts';
import { MapLifetimes } from '../data/map-lifetimes.ts';
import { EmbeddedPart } from '../engine/embedded/embedded-part.ts';
import type { Engine } from '../engine/engine.ts';
import { ServedHosts } from '../http/served-hosts.ts';
import type { PersistencePart } from '../persistence/persistence-part.ts';
import { MemberSecurity } from '../security/member-security.ts';
import { hashPassword } from '../security/password.ts';
import { HttpServers, readTls } from '../servers/http-servers.ts';
import { CrossOriginPolicy } from '../surface/cross-origin-policy.ts';
import { DIALECTS } from '../surface/dialect.ts';
import { EndpointGroups } from '../surface/endpoint-groups.ts';
import { HealthRouter } from '../surface/health-router.ts';
import { PathPart } from '../surface/percent-decoding.ts';
import { RestApplication } from '../surface/rest-application.ts';
import { Router } from '../surface/router.ts';
import type { RestServices } from '../surface/services.ts';
import { type Audit, CountingAudit } from '../telemetry/audit.ts';
import type { Log } from '../telemetry/log.ts';
import { LogLevelControl } from '../telemetry/log-level-control.ts';
import { WanMaps } from '../wan/wan-maps.ts';
import { WanPart } from '../wan/wan-part.ts';
import { change } from './life.ts';
import { Reloader } from './reloader.ts';
import { SURFACES } from './surfaces.ts';

interface MemberParts {
  /** In the order of a start. */
  readonly all: readonly Part<Config>[];
  /** Cuts off the connections. Returns a description of them, or undefined if there was nothing. */
  readonly cutOff: () => string | undefined;
  readonly servers: HttpServers;
  readonly engine: Engine;
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
  readonly onStop: (because: string) => void;
  readonly reloader: () => Reloader;
}

/** The parts that depend on where the data is stored. */
interface DataParts {
  readonly engine: Engine;
  readonly persistence: PersistencePart | undefined;
  readonly cluster: ClusterPart;
  /** Undefined if servers store the data. */
  readonly wan: WanPart | undefined;
  /** Number of connections to servers that store the data. */
  readonly serverConnectionCount: () => number;
  /** The engine, persistence and the cluster, in this order. */
  readonly parts: readonly Part<Config>[];
}

/**
 * Makes the parts. Rejects with GridError TLS_FILE_UNUSABLE or DATA_DIRECTORY_UNUSABLE. `load` reads
 * the sources of the configuration again.
 */
export async function makeParts(
  config: Config,
  log: Log,
  load: () => Promise<LoadedConfig>,
  audit: Audit,
): Promise<MemberParts> {
  const files = openFiles();
  const warning = memoryWarning(config);
  if (warning !== undefined) log.warn(warning);
  const tls = await readTls(config);
  const clock = new SystemClock();
  let onStop: (because: string) => void = () => {};
  const stopRequested = new Promise<string>((resolve) => {
    onStop = resolve;
  });
  const links: Links = {
    addressOf: () => publicAddress(config.publicAddress, servers.bound),
    onStop,
    reloader: () => reloader,
  };
  const data = await makeData(config, clock, log, links);
  const { engine, persistence, cluster, wan } = data;
  const prepare = (changed: Config, rereads: boolean) => change(all, changed, rereads);
  const { record } = cluster;
  const reloader = new Reloader(config, { change: prepare, log, load, record, hashPassword });
  const security = new MemberSecurity({ ...config, clock, matchesAddress });
  const groups = new EndpointGroups(config.restEnabled, config.endpointGroups);
  const logLevel = new LogLevelControl(log, config.logLevel);
  const lifetimes = new MapLifetimes(config.mapTimeToLiveSeconds, config.mapMaxIdleSeconds);
  const counting = new CountingAudit(audit, clock);
  const crossOrigin = new CrossOriginPolicy(config.corsAllowedOrigins, config.corsMaxAgeSeconds);
  const services = servicesOf(config, data, {
    ...{ groups, crossOrigin, security, logLevel, lifetimes, audit: counting, reloader, onStop },
    serversOf: () => servers,
  });
  const { compatibility, pathSegment = DIALECTS[compatibility].pathSegment } = config;
  const router = new Router(pathSegment, SURFACES[compatibility]);
  const servers = new HttpServers({
    ...{ config, clock, log, logLevel, tls, files, delay: persistence },
    servedHosts: new ServedHosts(ownNames(config), config.allowedHosts),
    fieldLines: crossOrigin.commonLines,
    application: new RestApplication(router, services),
    healthApplication: new RestApplication(new HealthRouter(router), services),
  });
  persistence?.addSender(servers.data);
  const telemetry: Part<Config> = {
    change: async (changed) => () => logLevel.configure(changed.logLevel),
    close: async () => counting.end(),
  };
  const surface: Part<Config> = {
    change: async (changed) => () => {
      groups.set(changed.restEnabled, changed.endpointGroups);
      lifetimes.replace(changed.mapTimeToLiveSeconds, changed.mapMaxIdleSeconds);
    },
  };
  // A shared record is known once the member has joined.
  const administration: Part<Config> = record.isShared ? {} : { restore: () => reloader.restore() };
  const all = [
    ...[telemetry, security, surface, servers, ...data.parts, administration],
    ...(wan === undefined ? [] : [wan]),
  ];
  const cutOff = () => {
    counting.end();
    return servers.cutOff();
  };
  return { all, cutOff, servers, engine, persistence, cluster, lifetimes, reloader, stopRequested };
}

async function makeData(config: Config, clock: Clock, log: Log, links: Links): Promise<DataParts> {
  const { compatibility, liteMember, engineUrl } = config;
  const { memberVersion } = DIALECTS[compatibility];
  const { addressOf, onStop, reloader } = links;
  const identity = { memberVersion, isLite: liteMember, addressOf, onStop };
  if (engineUrl === undefined) return await storedData(config, clock, log, links, identity);
  const { makeSharedEngine } = await import('../engine/redis/shared-engine.ts');
  const shared = await makeSharedEngine(config, engineUrl, clock, log);
  const { engine } = shared;
  const cluster = await sharedCluster({
    ...{ ...identity, engine, clock, log },
    leaseMs: config.engineNoHeartbeatSeconds * 1000,
    prepare: () => reloader().restore(),
  });
  return {
    ...{ engine, persistence: undefined, cluster, wan: undefined },
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
  identity: Parameters<typeof standaloneCluster>[0],
): Promise<DataParts> {
  const persistence = config.persistenceEnabled
    ? new (await import('../persistence/persistence-part.ts')).PersistencePart(config, clock, log)
    : undefined;
  const maps = new WanMaps(config);
  const sinks = persistence === undefined ? [] : [persistence.sink];
  const embedded = new EmbeddedPart(config, clock, log, sinks, maps.merging);
  const { engine } = embedded;
  const standalone = standaloneCluster(identity, persistence);
  const { cluster } = standalone;
  const wan = new WanPart({
    ...{ config, clock, log, engine, maps, store: persistence },
    segment: config.pathSegment ?? DIALECTS[config.compatibility].pathSegment,
    uuidOf: () => cluster.uuid,
    acceptsWrites: () => cluster.acceptsWrites,
    addToConfig: (text) => reloader().addWan(text),
    removeFromConfig: (...publisher) => reloader().removeWan(...publisher),
  });
  persistence?.attach(engine, wan);
  persistence?.addSender(wan);
  return {
    ...{ engine, persistence, cluster: standalone, wan },
    serverConnectionCount: () => 0,
    parts: [embedded, ...(persistence === undefined ? [] : [persistence]), standalone],
  };
}

interface Served {
  readonly groups: EndpointGroups;
  readonly crossOrigin: CrossOriginPolicy;
  readonly security: MemberSecurity;
  readonly logLevel: LogLevelControl;
  readonly lifetimes: MapLifetimes;
  readonly audit: CountingAudit;
  readonly reloader: Reloader;
  readonly onStop: (because: string) => void;
  readonly serversOf: () => HttpServers;
}

function servicesOf(config: Config, data: DataParts, served: Served): RestServices {
  const { engine, persistence, wan } = data;
  const { cluster, record, license, waiting } = data.cluster;
  const { groups, crossOrigin, security, logLevel, lifetimes, audit, reloader } = served;
  const connectionCount = () => served.serversOf().connectionCount;
  const { access: login, memberAccess: memberLogin, credentials } = security;
  return {
    dialect: DIALECTS[config.compatibility],
    data: {
      ...{ engine, isShared: record.isShared, lifetimes, waiting },
      name: new PathPart(config.targetBytesMax),
      key: new PathPart(config.targetBytesMax),
    },
    access: { groups, crossOrigin, login, memberLogin, credentials },
    cluster,
    administration: {
      license,
      logLevel,
      reconfiguration: {
        tcpIpMembers: config.tcpIpEnabled
          ? new TcpIpMembers(record, config.tcpIpMembers)
          : undefined,
        reload: () => reloader.reload(),
        add: (text) => reloader.add(text),
      },
      maintenance: persistence,
      instanceName: () => config.instanceName || `gridnode-${served.serversOf().data.port}`,
      stop: served.onStop,
      stopAll: (because) => cluster.stopAll(because),
    },
    telemetry: {
      audit,
      connectionCount,
      allConnectionCount: () =>
        connectionCount() + data.serverConnectionCount() + (wan?.connectionCount ?? 0),
    },
    wan,
  };
}

/** Returns this machine's names in the configuration. */
function ownNames({ host, publicAddress: address }: Config): string[] {
  return address === undefined ? [host] : [host, address.replace(/:\d+$/, '')];
}

function matchesAddress(patterns: readonly string[], address: string): boolean {
  return matchingAddress(patterns, [address]) !== undefined;
}
