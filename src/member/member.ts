/**
 * A member. This file is the only one that assembles its parts. The start has phases: configure,
 * create the engine, create the cluster, serve, recover, enter. `drain` responds to the requests
 * received, `abort` cuts them off. Tested by embedding/embedded-member.spec.ts.
 */
import type { AddressInfo } from 'node:net';
import { GridError } from '../base/errors.ts';
import { publicAddress } from '../cluster/address.ts';
import type { Cluster, Waiter } from '../cluster/cluster.ts';
import { type ClusterParts, makeCluster } from '../cluster/cluster-part.ts';
import { TcpIpMembers } from '../cluster/tcp-ip-members.ts';
import type { Config } from '../config/config.ts';
import { configFault } from '../config/config-fault.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { DurableQueue } from '../engine/durable-queues.ts';
import type { Engine } from '../engine/engine.ts';
import { type MemberEngine, makeEngine } from '../engine/engine-part.ts';
import { describeCutOff } from '../http/cut-off.ts';
import type { ResponseDelay, ResponseSender } from '../http/response-delay.ts';
import { HttpServer, type HttpServerOptions } from '../http/server.ts';
import { DIALECTS } from '../rest/dialect.ts';
import type { MapLifetimes } from '../rest/map-lifetimes.ts';
import { PathPart } from '../rest/percent-decoding.ts';
import { RestApplication } from '../rest/rest-application.ts';
import { Router } from '../rest/router.ts';
import type { RestServices } from '../rest/services.ts';
import { SURFACES } from '../rest/surface.ts';
import { badTypeWarning, healthServer, observe } from '../servers/http-servers.ts';
import { listenAsConfigured } from '../servers/listening.ts';
import { type Audit, openAudit } from '../telemetry/audit.ts';
import type { Log } from '../telemetry/log.ts';
import { WanPart, type WanParts } from '../wan/wan-part.ts';
import { type ConfiguredParts, configure } from './configuration.ts';
import { descriptorShares } from './descriptors.ts';
import type { Reloader } from './reloader.ts';
import { reloaderOf } from './reloads.ts';

/** Time for probes to end after everything else has ended, in ms. */
const HEALTH_DRAIN_MS = 500;

export interface Member {
  /** Host that the listener is bound to. */
  readonly address: string;
  readonly port: number;
  /** Port of the health listener, if there is one. */
  readonly healthPort: number | undefined;
  /** Memory for stored data, in bytes. */
  readonly memoryBytesMax: number;
  /** Reads the configuration again and applies the reloadable settings. The result is logged. */
  reload(): Promise<void>;
  /** Resolves when a client requests the end of the member. */
  readonly stopRequested: Promise<string>;
  /** From now on `ready` is 503; everything else is served as before. */
  withdraw(): void;
  /**
   * Stops accepting, responds to the requests received, and ends. Resolves when every connection is
   * closed.
   */
  drain(): Promise<void>;
  /** The parts for a program that embeds the member, without HTTP. */
  readonly inProcess: InProcess;
  /** Cuts off the rest. Returns a description of it, or undefined if there was nothing. */
  abort(): string | undefined;
}

/** The parts of a member for a program that embeds it. */
interface InProcess {
  readonly engine: Engine;
  readonly cluster: Pick<Cluster, 'acceptsWrites' | 'isCutOff'>;
  readonly lifetimes: Pick<MapLifetimes, 'of'>;
  /** Decides when results may be returned; undefined if all may be returned at once. */
  readonly delay: (ResponseDelay & { addSender(sender: ResponseSender): void }) | undefined;
  /** Waiting polls. */
  readonly waiting: Set<Waiter>;
}

/**
 * Resolves once the member serves. Rejects with the system's error when it cannot listen, with
 * GridError TLS_FILE_UNUSABLE when a TLS file cannot be used, DATA_* when the data cannot be used,
 * STOPPED_RECOVERING when `stopped` resolves during the recovery or while the member joins its
 * cluster, and CLUSTER_VERSION when the cluster has another version.
 */
export async function startMember(
  config: Config,
  log: Log,
  load: () => Promise<LoadedConfig> = readNothing,
  stopped?: Promise<unknown>,
  audit: Audit = openAudit(process.stdout),
): Promise<Member> {
  const parts = await configure(config, log, audit);
  const store = await makeEngine(config, parts.clock, log);
  const { clock, requestStop: onStop } = parts;
  const { memberVersion } = DIALECTS[config.compatibility];
  const settings = {
    memberVersion,
    isLite: config.liteMember,
    clock,
    log,
    onStop,
    leaseMs: config.engineNoHeartbeatSeconds * 1000,
  };
  const cluster = await makeCluster(settings, store);
  const served = await serve(parts, store, cluster, load).catch(async (error: unknown) => {
    // Close the engine if the member cannot start.
    await store.engine.close();
    throw error;
  });
  await recover(parts, store, cluster, served, stopped);
  await enter(parts, store, cluster, served, stopped);
  return memberOf(parts, store, cluster, served);
}

/** The listening servers, and the parts that process requests. */
interface ServedParts {
  readonly server: HttpServer;
  readonly health: HttpServer | undefined;
  readonly bound: AddressInfo;
  readonly healthBound: AddressInfo | undefined;
  readonly reloader: Reloader;
  /** Undefined if servers store the data. */
  readonly wan: WanPart | undefined;
  /** Applies additions to the configuration. */
  extend(config: Config): void;
}

async function serve(
  parts: ConfiguredParts,
  store: MemberEngine,
  { cluster, record, license, waiting }: ClusterParts,
  load: () => Promise<LoadedConfig>,
): Promise<ServedParts> {
  const { config, log, audit, clock, logLevel, lifetimes } = parts;
  const { crossOrigin, servedHosts } = parts;
  const { engine, persistence } = store;
  const dialect = DIALECTS[config.compatibility];
  const extend = (extended: Config): void => {
    store.extend(extended);
    wan?.extend(extended);
    lifetimes.replace(extended.mapTimeToLiveSeconds, extended.mapMaxIdleSeconds);
    shareDescriptors(parts, extended, server);
  };
  const reloader = reloaderOf(
    parts,
    record,
    load,
    (identity) => server.setTlsIdentity(identity),
    async () => (await wan?.readTlsAgain()) ?? (() => {}),
  );
  const name = new PathPart(config.targetBytesMax);
  const key = new PathPart(config.targetBytesMax);
  const connectionCount = () => server.connectionCount + (health?.connectionCount ?? 0);
  const segment = config.pathSegment ?? dialect.pathSegment;
  const acceptsWrites = () => cluster.acceptsWrites;
  const wan = makeWan(parts, store, { segment, acceptsWrites, ...wanChanges(reloader, extend) });
  const services: RestServices = {
    dialect,
    data: { engine, isShared: store.shared !== undefined, lifetimes, waiting, name, key },
    access: accessOf(parts),
    cluster,
    administration: {
      license,
      logLevel,
      reconfiguration: {
        tcpIpMembers: config.tcpIpEnabled
          ? new TcpIpMembers(record, config.tcpIpMembers)
          : undefined,
        reload: () => reloader.reload(),
        add: (text) => reloader.add(text, extend),
      },
      maintenance: persistence,
      instanceName: () => config.instanceName || `gridnode-${server.port}`,
      stop: parts.requestStop,
      stopAll: (because) => cluster.stopAll(because),
    },
    telemetry: {
      audit,
      connectionCount,
      allConnectionCount: () =>
        connectionCount() + (store.shared?.connectionCount() ?? 0) + (wan?.connectionCount ?? 0),
    },
    wan,
  };
  const onFailure = (error: unknown) => log.error({ err: error }, 'a request failed');
  const { healthConnectionsMax, refusedConnectionsMax } = parts.descriptors;
  const common = { clock, onFailure, refusedConnectionsMax, fieldLines: crossOrigin.commonLines };
  const router = new Router(segment, SURFACES[config.compatibility]);
  const application = new RestApplication(router, services);
  const onBadType = badTypeWarning(log);
  const server = dataServer(parts, { ...common, application, onBadType, delay: persistence });
  persistence?.addSender(server);
  if (wan !== undefined) persistence?.addSender(wan);
  const health = healthServer(config, router, services, common, healthConnectionsMax);
  logLevel.listen(() => observe(server, log));
  const bound = await listenAsConfigured(server, config);
  servedHosts.bind(bound.address);
  const healthBound = await health?.listen(bound.address, config.healthPort ?? 0).catch((error) => {
    void server.drain();
    throw error;
  });
  return { server, health, bound, healthBound, reloader, wan, extend };
}

/** Returns the parts that decide whether a request is allowed. */
function accessOf({ groups, crossOrigin, security }: ConfiguredParts): RestServices['access'] {
  const { access: login, memberAccess: memberLogin, credentials } = security;
  return { groups, crossOrigin, login, memberLogin, credentials };
}

/** Creates the server of the data port. */
function dataServer(
  { config, descriptors, refused, tls, servedHosts }: ConfiguredParts,
  options: Omit<HttpServerOptions, 'limits' | 'tls' | 'onRefused' | 'servedHosts'>,
): HttpServer {
  return new HttpServer({
    ...options,
    limits: { ...config, connectionsMax: descriptors.connectionsMax },
    tls,
    onRefused: (connectionsMax) => refused.add('', connectionsMax),
    servedHosts,
  });
}

/** Lowers `connections-max` by the connections of added publishers. */
function shareDescriptors(
  { descriptors, filesAtStart, log }: ConfiguredParts,
  extended: Config,
  server: HttpServer,
): void {
  const { connectionsMax, warning } = descriptorShares(extended, filesAtStart, descriptors);
  if (connectionsMax === server.connectionsMax) return;
  server.connectionsMax = connectionsMax;
  if (warning !== undefined) log.warn(warning);
}

/** Returns the functions that change the configured publishers. */
function wanChanges(
  reloader: Reloader,
  extend: (config: Config) => void,
): Pick<WanParts, 'addToConfig' | 'removeFromConfig'> {
  return {
    addToConfig: (text) => reloader.addWan(text, extend),
    removeFromConfig: (replication, publisherId) =>
      reloader.removeWan(replication, publisherId, extend),
  };
}

function makeWan(
  { config, clock, log }: ConfiguredParts,
  { stored: engine, wanMaps: maps, persistence }: MemberEngine,
  others: Pick<WanParts, 'segment' | 'acceptsWrites' | 'addToConfig' | 'removeFromConfig'>,
): WanPart | undefined {
  if (engine === undefined || maps === undefined) return undefined;
  const keepQueues = persistence && (() => persistence.keepQueues());
  const clearQueue = persistence && ((queue: DurableQueue) => persistence.clearQueue(queue));
  const delaysAll = () => persistence?.delaysAll ?? false;
  const own = { config, clock, log, engine, maps, keepQueues, clearQueue, delaysAll };
  return new WanPart({ ...own, ...others });
}

/**
 * Recovers the data if it is persisted; requests are refused meanwhile. Added configuration is
 * restored first, because recovered queues need their capacities and the queues of WAN publishers
 * are recovered too. The publishers begin to send before anything is written.
 */
async function recover(
  { config, log }: ConfiguredParts,
  { stored, persistence }: MemberEngine,
  { standalone }: ClusterParts,
  { server, health, bound, reloader, wan, extend }: ServedParts,
  stopped: Promise<unknown> | undefined,
): Promise<void> {
  if (stored === undefined || standalone === undefined) return;
  const { cluster, record } = standalone;
  const { address, port } = bound;
  const work = async (): Promise<void> => {
    if (persistence !== undefined) {
      log.info({ directory: config.dataDirectory, address, port }, 'opening the data directory');
      const restored = await persistence.begin({ uuid: cluster.uuid, values: record.values });
      cluster.restore(restored.uuid);
      record.restore(restored.values);
      await reloader.restore(extend);
    }
    await wan?.open(cluster.uuid);
    await persistence?.open(stored, wan);
    wan?.begin();
  };
  const recovering = work().catch(async (error: unknown) => {
    await persistence?.abandon();
    await stored.close();
    throw error;
  });
  const recovered =
    stopped === undefined ? recovering : Promise.race([recovering, stopping(stopped)]);
  await recovered.catch((error: unknown) => {
    endServers(server, health);
    // A stopped recovery ends at its next slice.
    void persistence?.abandon();
    throw error;
  });
}

/**
 * Opens the engine and enters the cluster. If several members share an engine, both are retried
 * until they succeed or `stopped` resolves.
 */
async function enter(
  { config, log }: ConfiguredParts,
  { engine }: MemberEngine,
  { cluster, standalone }: ClusterParts,
  { server, health, bound, reloader, extend }: ServedParts,
  stopped: Promise<unknown> | undefined,
): Promise<void> {
  const address = publicAddress(config.publicAddress, bound);
  const work = async (): Promise<void> => {
    await engine.open();
    await cluster.start(address, () => reloader.restore(extend));
  };
  if (standalone !== undefined) return await work();
  const { address: host, port } = bound;
  log.info({ engine: config.engineUrl, address: host, port }, 'joining the cluster');
  const entered = stopped === undefined ? work() : Promise.race([work(), stopping(stopped)]);
  await entered.catch(async (error: unknown) => {
    endServers(server, health);
    await cluster.leave();
    await engine.close();
    throw error;
  });
}

/** Cuts off the connections of a member whose start failed. */
function endServers(...servers: readonly (HttpServer | undefined)[]): void {
  for (const each of servers) {
    void each?.drain();
    each?.abort();
  }
}

function memberOf(
  { config, audit, refused, clock, lifetimes, stopRequested }: ConfiguredParts,
  { engine, persistence }: MemberEngine,
  { cluster, waiting }: ClusterParts,
  { server, health, bound, healthBound, reloader, wan }: ServedParts,
): Member {
  return {
    address: bound.address,
    port: bound.port,
    healthPort: healthBound?.port,
    memoryBytesMax: config.maxMemory,
    async reload() {
      await reloader.reload();
    },
    stopRequested,
    inProcess: { engine, cluster, lifetimes, delay: persistence, waiting },
    withdraw: () => cluster.stop(),
    async drain() {
      cluster.stop();
      const beginMs = clock.now();
      const drained = server.drain();
      await persistence?.drain();
      await drained;
      await wan?.drain(beginMs);
      await persistence?.close();
      await cluster.leave();
      await engine.close();
      audit.end();
      refused.end();
      if (health === undefined) return;
      const end = clock.after(HEALTH_DRAIN_MS, () => health.abort());
      await health.drain();
      end.cancel();
    },
    abort() {
      audit.end();
      refused.end();
      health?.abort();
      return describeCutOff(server.abort());
    },
  };
}

/** Data that is not recovered yet cannot be lost, so a stop need not wait for it. */
async function stopping(stopped: Promise<unknown>): Promise<never> {
  await stopped;
  throw new GridError('STOPPED_RECOVERING', {});
}

/** The reload of a member that a program has configured. */
function readNothing(): Promise<never> {
  const problem =
    'Cannot read the configuration again: it was not read from a file, variable or flag';
  return Promise.reject(configFault(problem));
}
