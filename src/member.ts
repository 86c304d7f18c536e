/**
 * A member: the one place where its parts are put together. Starts the engine and the HTTP server
 * from a configuration, and ends them: drain answers what was received, abort cuts off.
 */
import { SystemClock } from './base/clock.ts';
import { GridError } from './base/errors.ts';
import { publicAddress } from './cluster/address.ts';
import type { Cluster, Waiter } from './cluster/cluster.ts';
import { License } from './cluster/license.ts';
import { StandaloneCluster } from './cluster/standalone.ts';
import type { Config } from './config/config.ts';
import { ConfigFault } from './config/config-fault.ts';
import { matchingAddress } from './config/interface-pattern.ts';
import type { LoadedConfig } from './config/load.ts';
import { memoryWarning } from './config/memory-defaults.ts';
import { queueCapacity } from './config/queue-capacity.ts';
import { EmbeddedEngine, RESERVED_BYTES } from './engine/embedded/engine.ts';
import type { Engine } from './engine/engine.ts';
import type { AnswerSender, ResponseHold } from './http/application.ts';
import { methodName } from './http/methods.ts';
import type { Request } from './http/request.ts';
import { HttpServer, type HttpServerOptions } from './http/server.ts';
import type { TlsIdentity } from './http/tls.ts';
import type { TlsFiles } from './http/tls-files.ts';
import { listenAsConfigured } from './listening.ts';
import type { MemberPersistence } from './member-persistence.ts';
import { Reloader } from './reloader.ts';
import { DIALECTS } from './rest/dialect.ts';
import { EndpointGroups } from './rest/endpoint-groups.ts';
import { HealthRouter } from './rest/health-router.ts';
import { MapLifetimes } from './rest/map-lifetimes.ts';
import { PercentDecoder } from './rest/percent.ts';
import { RestApplication } from './rest/rest-application.ts';
import { Router } from './rest/router.ts';
import type { Reconfiguration, RestServices } from './rest/services.ts';
import { MemberSecurity } from './security/member-security.ts';
import { type Audit, openAudit } from './telemetry/audit.ts';
import type { Log } from './telemetry/log.ts';
import { LogLevelControl } from './telemetry/log-level-control.ts';

/** Probes are few; more connections than these are a fault. */
const HEALTH_CONNECTIONS_MAX = 128;
/** They have nothing to say. */
const HEALTH_BODY_BYTES_MAX = 1024;
/** Contents and answers under way, for each connection. */
const HEALTH_IN_FLIGHT_BYTES = 65536;
/** How long probes may take to end when all else has, in milliseconds. */
const HEALTH_DRAIN_MS = 500;

export interface Member {
  /** Host that is bound. */
  readonly address: string;
  readonly port: number;
  /** Port of the health listener, where there is one. */
  readonly healthPort: number | undefined;
  /** Memory for stored data, in bytes. */
  readonly memoryBytesMax: number;
  /** Reads the configuration again and takes over what may change; the log says what came of it. */
  reload(): Promise<void>;
  /** Resolves with what a client has asked for that ends the member. */
  readonly stopRequested: Promise<string>;
  /** From now on `ready` is 503; all else is served as before. */
  withdraw(): void;
  /** Stops accepting, answers what was received and ends; resolves when every connection is closed. */
  drain(): Promise<void>;
  /** What the program in whose process the member runs asks without HTTP. */
  readonly inProcess: InProcess;
  /** Cuts off what is left; returns what that was, or undefined if there was nothing. */
  abort(): string | undefined;
}

/** The parts of a member that answer in process. */
export interface InProcess {
  readonly engine: Engine;
  readonly cluster: Pick<Cluster, 'takesWrites'>;
  readonly lifetimes: Pick<MapLifetimes, 'of'>;
  /** Who holds answers back until they may leave, if anybody. */
  readonly hold: ResponseHold | undefined;
  /** Told when more answers may leave. */
  readonly senders: AnswerSender[];
  /** Polls that wait. */
  readonly waiting: Set<Waiter>;
}

/**
 * Resolves once the member serves. Rejects with the system's error when it cannot listen, with
 * GridError TLS_FILE_UNUSABLE when a TLS file is of no use, DATA_* when the data is not usable,
 * STOPPED_RECOVERING when `stopped` resolves while it recovers.
 */
export async function startMember(
  config: Config,
  log: Log,
  load: () => Promise<LoadedConfig> = readNothing,
  stopped: Promise<unknown> = NEVER,
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
  /** Takes over what may change while the member runs; rejects before anything is changed. */
  const apply = async (changed: Config): Promise<void> => {
    const files = tlsFilesOf(changed);
    let identity: TlsIdentity | undefined;
    if (tlsFiles !== undefined && files !== undefined) {
      // Whether clients must show a certificate is not changed by this: only whose they may be.
      const clientCa = tlsFiles.clientCa && (files.clientCa ?? tlsFiles.clientCa);
      identity = await readTls({ ...files, clientCa });
    }
    await security.replace(changed.security);
    if (identity !== undefined) server.renewTls(identity);
    groups.set(changed.restEnabled, changed.endpointGroups);
    logLevel.configure(changed.logLevel);
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
  const router = new Router(config.pathSegment ?? dialect.pathSegment, dialect);
  const services: RestServices = {
    engine,
    cluster,
    groups,
    router,
    dialect,
    decoder: new PercentDecoder(config.targetBytesMax),
    access: security.access,
    credentials: security.credentials,
    audit,
    logLevel,
    license,
    waiting,
    lifetimes,
    reconfiguration,
    upkeep: persistence,
    connectionCount: () => server.connectionCount + (health?.connectionCount ?? 0),
    instanceName: () => instanceName,
    stop: requestStop,
    onFailure,
  };
  const common = { clock, onFailure };
  const application = new RestApplication(services);
  const server = new HttpServer({ ...common, application, limits: config, tls });
  const senders: AnswerSender[] = [server];
  const health = healthServer(config, services, common);
  logLevel.onChange = () => observe(server, log);
  logLevel.onChange();
  const bound = await listenAsConfigured(server, config);
  const healthBound = await health?.listen(bound.address, config.healthPort ?? 0).catch((error) => {
    server.drain();
    throw error;
  });
  instanceName ||= `gridnode-${bound.port}`;
  /** Queues that are recovered ask for their capacities, so what was added to them comes first. */
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
      throw error;
    });
    await Promise.race([recovering, stopping(stopped)]).catch((error: unknown) => {
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
      clock.after(HEALTH_DRAIN_MS, () => health.abort());
      await health.drain();
    },
    abort() {
      health?.abort();
      const count = server.abort();
      return count === 0 ? undefined : `${count} connections`;
    },
  };
}

const NEVER = new Promise<never>(() => {});

/** What is not recovered yet cannot be lost: nobody has to wait for it. */
async function stopping(stopped: Promise<unknown>): Promise<never> {
  await stopped;
  throw new GridError('STOPPED_RECOVERING', {});
}

/** A member that somebody else configures. */
function readNothing(): Promise<never> {
  const problem = 'Cannot read the configuration again: it came from no file, variable or flag';
  return Promise.reject(new ConfigFault([problem]));
}

function tlsFilesOf(config: Config): TlsFiles | undefined {
  const { tlsCertificate, tlsKey, tlsKeyPassword, tlsKeyStore, tlsKeyStorePassword } = config;
  const clientCa = config.tlsClientCa;
  if (tlsCertificate !== undefined && tlsKey !== undefined) {
    const own = { certificate: tlsCertificate, key: tlsKey, passphrase: tlsKeyPassword };
    return { own, clientCa };
  }
  if (tlsKeyStore === undefined) return undefined;
  return { own: { keyStore: tlsKeyStore, passphrase: tlsKeyStorePassword }, clientCa };
}

/** What reads them is loaded only for them. */
async function readTls(files: TlsFiles): Promise<TlsIdentity> {
  return (await import('./http/tls-files.ts')).readTlsFiles(files);
}

/** The second listener, which answers when the first one takes nobody any more. */
function healthServer(
  config: Config,
  services: RestServices,
  common: Pick<HttpServerOptions, 'clock' | 'onFailure'>,
): HttpServer | undefined {
  if (config.healthPort === undefined) return undefined;
  const router = new HealthRouter(services.router);
  const application = new RestApplication({ ...services, router });
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

/** What the log says of a request: the path as sent, without the query. */
function describe(request: Request | undefined): object {
  if (request === undefined) return {};
  const { target, pathEnd } = request;
  const path = target.bytes.toString('latin1', target.start, pathEnd);
  return { method: methodName(request.method), path };
}
