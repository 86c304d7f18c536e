/**
 * A member: the one place where its parts are put together. Starts the engine and the HTTP server from
 * a configuration, and ends them: `drain` answers the requests received, `abort` cuts them off.
 */
import { SystemClock } from './base/clock.ts';
import { GridError } from './base/errors.ts';
import { publicAddress } from './cluster/address.ts';
import type { Cluster, Waiter } from './cluster/cluster.ts';
import { License } from './cluster/license.ts';
import { StandaloneCluster } from './cluster/standalone.ts';
import type { Config } from './config/config.ts';
import { configFault } from './config/config-fault.ts';
import { matchingAddress } from './config/interface-pattern.ts';
import type { LoadedConfig } from './config/load.ts';
import { memoryWarning } from './config/memory-defaults.ts';
import { queueCapacity } from './config/queue-capacity.ts';
import { EmbeddedEngine, RESERVED_BYTES } from './engine/embedded/embedded-engine.ts';
import type { Engine } from './engine/engine.ts';
import { methodName } from './http/methods.ts';
import type { Request } from './http/request.ts';
import type { AnswerSender, ResponseHold } from './http/response-hold.ts';
import { HttpServer, type HttpServerOptions } from './http/server.ts';
import type { TlsIdentity } from './http/tls.ts';
import type { TlsFiles } from './http/tls-files.ts';
import { listenAsConfigured } from './listening.ts';
import type { MemberPersistence } from './member-persistence.ts';
import {
  prepared,
  type Reload,
  type ReloadableConfig,
  Reloader,
  type Reloads,
} from './reloader.ts';
import { DIALECTS } from './rest/dialect.ts';
import { EndpointGroups } from './rest/endpoint-groups.ts';
import { HealthRouter } from './rest/health-router.ts';
import { MapLifetimes } from './rest/map-lifetimes.ts';
import { PercentDecoder } from './rest/percent.ts';
import { RestApplication } from './rest/rest-application.ts';
import { type RouteFinder, Router } from './rest/router.ts';
import type { Reconfiguration, RestServices } from './rest/services.ts';
import { SURFACES } from './rest/surface.ts';
import { MemberSecurity } from './security/member-security.ts';
import { type Audit, openAudit } from './telemetry/audit.ts';
import type { Log } from './telemetry/log.ts';
import { LogLevelControl } from './telemetry/log-level-control.ts';

/** Most connections of the health listener: probes are few, so more are a fault. */
const HEALTH_CONNECTIONS_MAX = 128;
/** Probes send no content. */
const HEALTH_BODY_BYTES_MAX = 1024;
/** Contents and answers under way of each of its connections, in bytes. */
const HEALTH_IN_FLIGHT_BYTES = 65536;
/** The time for probes to end when all else has ended, in milliseconds. */
const HEALTH_DRAIN_MS = 500;

export interface Member {
  /** Host that the listener is bound to. */
  readonly address: string;
  readonly port: number;
  /** Port of the health listener, where there is one. */
  readonly healthPort: number | undefined;
  /** Memory for stored data, in bytes. */
  readonly memoryBytesMax: number;
  /** Reads the configuration again and takes over what may change; the log has the result. */
  reload(): Promise<void>;
  /** Resolves with the request of a client that ends the member. */
  readonly stopRequested: Promise<string>;
  /** From now on `ready` is 503; all else is served as before. */
  withdraw(): void;
  /**
   * Stops accepting, answers the requests received and ends; resolves when every connection is closed.
   */
  drain(): Promise<void>;
  /** The parts for a program that embeds the member, without HTTP. */
  readonly inProcess: InProcess;
  /** Cuts off the rest; returns a description of it, or undefined if there was nothing. */
  abort(): string | undefined;
}

/** The parts of a member for a program that embeds it. */
interface InProcess {
  readonly engine: Engine;
  readonly cluster: Pick<Cluster, 'takesWrites'>;
  readonly lifetimes: Pick<MapLifetimes, 'of'>;
  /** Decides when answers may leave; undefined where all may leave at once. */
  readonly hold: ResponseHold | undefined;
  /** Notified when more answers may leave. */
  readonly senders: AnswerSender[];
  /** Polls that wait. */
  readonly waiting: Set<Waiter>;
}

/**
 * Resolves once the member serves. Rejects with the system's error when it cannot listen, with
 * GridError TLS_FILE_UNUSABLE when a TLS file cannot be used, DATA_* when the data cannot be used,
 * STOPPED_RECOVERING when `stopped` resolves while it recovers.
 */
export async function startMember(
  config: Config,
  log: Log,
  load: () => Promise<LoadedConfig> = readNothing,
  stopped?: Promise<unknown>,
  audit: Audit = openAudit(),
): Promise<Member> {
  const warning = memoryWarning(config);
  if (warning !== undefined) log.warn(warning);
  const tlsFiles = tlsFilesOf(config);
  const tls = tlsFiles && (await readTls(tlsFiles));
  const clock = new SystemClock();
  const dialect = DIALECTS[config.compatibility];
  const cluster = new StandaloneCluster(dialect.memberVersion, {
    saveState: async (state) => await persistence?.saveState(state),
  });
  const persistence = config.persistenceEnabled
    ? new (await import('./member-persistence.ts')).MemberPersistence(config, clock, cluster, log)
    : undefined;
  let capacityOf = queueCapacity(config.queueMaxSizes);
  const engine = new EmbeddedEngine({
    sinks: persistence === undefined ? [] : [persistence.sink],
    partitionCount: config.partitionCount,
    clock,
    queueCapacity: (queue) => capacityOf(queue),
    memoryBytesMax: config.maxMemory,
    reservedBytes: RESERVED_BYTES,
  });
  const groups = new EndpointGroups(config.restEnabled, config.endpointGroups);
  const security = new MemberSecurity({
    ...config,
    clock,
    matchesAddress: (patterns, address) => matchingAddress(patterns, [address]) !== undefined,
  });
  const waiting = new Set<Waiter>();
  cluster.onPassive = () => {
    for (const waiter of waiting) waiter.endWait();
  };
  const logLevel = new LogLevelControl(log, config.logLevel);
  const onFailure = (error: unknown) => log.error({ err: error }, 'a request failed');
  let requestStop: (because: string) => void = () => {};
  const stopRequested = new Promise<string>((resolve) => {
    requestStop = resolve;
  });
  const lifetimes = new MapLifetimes(config.mapTimeToLiveSeconds, config.mapMaxIdleSeconds);
  const renewTls = (identity: TlsIdentity) => server.renewTls(identity);
  const reloads = reloadsOf({ tlsFiles, renewTls, groups, logLevel });
  /** Applies the settings that may change while the member runs; rejects before any change. */
  const apply = async (changed: Config): Promise<void> => {
    const change = await prepared(reloads, changed);
    await security.replace(changed.security);
    change();
  };
  const reloader = new Reloader(config, apply, log, load, async (added) =>
    persistence?.saveAddedConfigs(added),
  );
  const extend = ({ queueMaxSizes, mapTimeToLiveSeconds, mapMaxIdleSeconds }: Config): void => {
    capacityOf = queueCapacity(queueMaxSizes);
    lifetimes.replace(mapTimeToLiveSeconds, mapMaxIdleSeconds);
  };
  const license = new License(async (keyHash) => persistence?.saveLicense(keyHash));
  const reconfiguration: Reconfiguration = {
    tcpIpMembers: config.tcpIpEnabled ? config.tcpIpMembers : undefined,
    reload: () => reloader.reload(),
    add: (text) => reloader.add(text, extend),
  };
  let instanceName = config.instanceName ?? '';
  const segment = config.pathSegment ?? dialect.pathSegment;
  const router = new Router(segment, SURFACES[config.compatibility]);
  const decoder = new PercentDecoder(config.targetBytesMax);
  const services: RestServices = {
    dialect,
    data: { engine, lifetimes, waiting, decoder },
    access: { groups, login: security.access, credentials: security.credentials },
    cluster,
    administration: {
      license,
      logLevel,
      reconfiguration,
      upkeep: persistence,
      instanceName: () => instanceName,
      stop: requestStop,
      stopAll: requestStop,
    },
    telemetry: {
      audit,
      connectionCount: () => server.connectionCount + (health?.connectionCount ?? 0),
    },
  };
  const common = { clock, onFailure };
  const application = new RestApplication(router, services);
  const server = new HttpServer({ ...common, application, limits: config, tls });
  const senders: AnswerSender[] = [server];
  const health = healthServer(config, router, services, common);
  logLevel.onChange = () => observe(server, log);
  logLevel.onChange();
  /** The engine of a member that cannot start makes nothing ready any more. */
  const giveUp = async (error: unknown): Promise<never> => {
    await engine.close();
    throw error;
  };
  const bound = await listenAsConfigured(server, config).catch(giveUp);
  const healthBound = await health?.listen(bound.address, config.healthPort ?? 0).catch((error) => {
    server.drain();
    return giveUp(error);
  });
  instanceName ||= `gridnode-${bound.port}`;
  /**
   * Recovered queues ask for their capacities, so queues that were added to the configuration come
   * first.
   */
  const recover = async (kept: MemberPersistence): Promise<void> => {
    await kept.begin(license);
    await reloader.restore(kept.addedConfigs, extend);
    await kept.open(engine, senders);
  };
  if (persistence !== undefined) {
    const { address, port } = bound;
    log.info({ directory: config.dataDirectory, address, port }, 'opening the data directory');
    const recovering = recover(persistence).catch(async (error: unknown) => {
      await persistence.abandon();
      return giveUp(error);
    });
    const recovered =
      stopped === undefined ? recovering : Promise.race([recovering, stopping(stopped)]);
    await recovered.catch((error: unknown) => {
      for (const each of [server, health]) {
        void each?.drain();
        each?.abort();
      }
      throw error;
    });
  }
  await engine.open();
  cluster.start(publicAddress(config.publicAddress, bound));
  return {
    address: bound.address,
    port: bound.port,
    healthPort: healthBound?.port,
    memoryBytesMax: config.maxMemory,
    async reload() {
      await reloader.reload();
    },
    stopRequested,
    inProcess: { engine, cluster, lifetimes, hold: persistence, senders, waiting },
    withdraw: () => cluster.stop(),
    async drain() {
      cluster.stop();
      const drained = server.drain();
      await persistence?.drain();
      await drained;
      await persistence?.close();
      await engine.close();
      if (health === undefined) return;
      const end = clock.after(HEALTH_DRAIN_MS, () => health.abort());
      await health.drain();
      end.cancel();
    },
    abort() {
      health?.abort();
      const count = server.abort();
      return count === 0 ? undefined : `${count} connections`;
    },
  };
}

/** Data that is not recovered yet cannot be lost, so a stop need not wait for it. */
async function stopping(stopped: Promise<unknown>): Promise<never> {
  await stopped;
  throw new GridError('STOPPED_RECOVERING', {});
}

/** The reload of a member that was configured by a program. */
function readNothing(): Promise<never> {
  const problem = 'Cannot read the configuration again: it came from no file, variable or flag';
  return Promise.reject(configFault(problem));
}

interface ReloadedParts {
  /** The files of TLS at the start; undefined where TLS is off. */
  readonly tlsFiles: TlsFiles | undefined;
  readonly renewTls: (identity: TlsIdentity) => void;
  readonly groups: EndpointGroups;
  readonly logLevel: LogLevelControl;
}

function reloadsOf({ tlsFiles, renewTls, groups, logLevel }: ReloadedParts): Reloads {
  const serve: Reload = (changed) => () => groups.set(changed.restEnabled, changed.endpointGroups);
  const readTlsAgain: Reload = async (changed) => {
    const files = tlsFilesOf(changed);
    if (tlsFiles === undefined || files === undefined) return () => {};
    // A reload does not change whether clients must show a certificate, only whose they may be.
    const clientCa = tlsFiles.clientCa && (files.clientCa ?? tlsFiles.clientCa);
    const identity = await readTls({ ...files, clientCa });
    return () => renewTls(identity);
  };
  return {
    logLevel: (changed) => () => logLevel.configure(changed.logLevel),
    restEnabled: serve,
    endpointGroups: serve,
    tlsCertificate: readTlsAgain,
    tlsKey: readTlsAgain,
    tlsKeyPassword: readTlsAgain,
    tlsKeyStore: readTlsAgain,
    tlsKeyStorePassword: readTlsAgain,
    tlsClientCa: readTlsAgain,
  };
}

function tlsFilesOf(config: ReloadableConfig): TlsFiles | undefined {
  const { tlsCertificate, tlsKey, tlsKeyPassword, tlsKeyStore, tlsKeyStorePassword } = config;
  const clientCa = config.tlsClientCa;
  if (tlsCertificate !== undefined && tlsKey !== undefined) {
    const own = { certificate: tlsCertificate, key: tlsKey, passphrase: tlsKeyPassword };
    return { own, clientCa };
  }
  if (tlsKeyStore === undefined) return undefined;
  return { own: { keyStore: tlsKeyStore, passphrase: tlsKeyStorePassword }, clientCa };
}

/** Its code is loaded only where TLS is on. */
async function readTls(files: TlsFiles): Promise<TlsIdentity> {
  return (await import('./http/tls-files.ts')).readTlsFiles(files);
}

/** The second listener, which answers when the first one accepts no more connections. */
function healthServer(
  config: Config,
  router: RouteFinder,
  services: RestServices,
  common: Pick<HttpServerOptions, 'clock' | 'onFailure'>,
): HttpServer | undefined {
  if (config.healthPort === undefined) return undefined;
  const application = new RestApplication(new HealthRouter(router), services);
  const limits = {
    ...config,
    connectionsMax: HEALTH_CONNECTIONS_MAX,
    bodyBytesMax: HEALTH_BODY_BYTES_MAX,
    inFlightBytesMax: HEALTH_CONNECTIONS_MAX * HEALTH_IN_FLIGHT_BYTES,
  };
  return new HttpServer({ ...common, application, limits });
}

/** Logs a line for each request, where the log's level asks for that. */
function observe(server: HttpServer, log: Log): void {
  server.observe = log.isLevelEnabled('debug')
    ? (status, request, reason) => {
        const why = reason === '' ? {} : { reason };
        log.debug({ status, ...describe(request), ...why }, 'answered');
      }
    : undefined;
}

/** The fields of a request in the log: the path as sent, without the query. */
function describe(request: Request | undefined): object {
  if (request === undefined) return {};
  const { target, pathEnd } = request;
  const path = target.bytes.toString('latin1', target.start, pathEnd);
  return { method: methodName(request.method), path };
}
