/**
 * A member: the one place where its parts are put together. Starts the engine and the HTTP server
 * from a configuration, and ends them: drain answers what was received, abort cuts off.
 */
import { SystemClock } from './base/clock.ts';
import { machineMemoryBytes } from './base/machine-memory.ts';
import { VERSION } from './base/version.ts';
import { formatAddress, publicHost } from './cluster/address.ts';
import { StandaloneCluster } from './cluster/standalone.ts';
import type { Config } from './config/config.ts';
import { queueCapacity } from './config/queue-capacity.ts';
import { MEMORY_SHARE } from './config/settings.ts';
import { EmbeddedEngine } from './engine/embedded/engine.ts';
import { methodName } from './http/methods.ts';
import type { Request } from './http/request.ts';
import { HttpServer, type HttpServerOptions } from './http/server.ts';
import { readTlsFiles, type TlsFiles } from './http/tls-files.ts';
import { EndpointGroups } from './rest/endpoint-groups.ts';
import { HealthRouter } from './rest/health-router.ts';
import { PercentDecoder } from './rest/percent.ts';
import { RestApplication } from './rest/rest-application.ts';
import { Router } from './rest/router.ts';
import type { RestServices } from './rest/services.ts';
import type { Log } from './telemetry/log.ts';

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
  /** Reads the TLS files again: connections that begin from now on get what is in them. */
  reload(): Promise<void>;
  /** Stops accepting, answers what was received and ends; resolves when every connection is closed. */
  drain(): Promise<void>;
  /** Cuts off what is left; returns a sentence that says what that was. */
  abort(): string;
}

/**
 * Resolves once the member serves. Rejects with the system's error when it cannot listen, with
 * GridError TLS_FILE_UNUSABLE when a TLS file is of no use.
 */
export async function startMember(config: Config, log: Log): Promise<Member> {
  const tlsFiles = tlsFilesOf(config);
  const tls = tlsFiles && (await readTlsFiles(tlsFiles));
  const clock = new SystemClock();
  const cluster = new StandaloneCluster();
  const engine = new EmbeddedEngine({
    partitionCount: config.partitionCount,
    clock,
    queueCapacity: queueCapacity(config.queueMaxSizes),
    memoryBytesMax: config.maxMemory ?? Math.floor(machineMemoryBytes() * MEMORY_SHARE),
  });
  let instanceName = config.instanceName ?? '';
  const router = new Router(config.pathSegment);
  const services: RestServices = {
    engine,
    cluster,
    groups: new EndpointGroups(true, config.endpointGroups),
    router,
    decoder: new PercentDecoder(config.targetBytesMax),
    clusterName: config.clusterName,
    connectionCount: () => server.connectionCount + (health?.connectionCount ?? 0),
    instanceName: () => instanceName,
  };
  const common = {
    clock,
    onFailure: (error: unknown) => log.error({ err: error }, 'a request failed'),
  };
  const application = new RestApplication(services);
  const server = new HttpServer({ ...common, application, limits: config, tls });
  const health = healthServer(config, services, common);
  if (log.isLevelEnabled('debug')) {
    server.observe = (status, request) => log.debug({ status, ...describe(request) }, 'answered');
  }
  const bound = await server.listen(config.host, config.port);
  const healthBound = await health?.listen(config.host, config.healthPort ?? 0).catch((error) => {
    server.drain();
    throw error;
  });
  instanceName ||= `gridnode-${bound.port}`;
  cluster.start(formatAddress(publicHost(bound.address), bound.port), VERSION);
  return {
    address: bound.address,
    port: bound.port,
    healthPort: healthBound?.port,
    async reload() {
      if (tlsFiles !== undefined) server.renewTls(await readTlsFiles(tlsFiles));
    },
    async drain() {
      cluster.stop();
      await server.drain();
      engine.close();
      if (health === undefined) return;
      clock.after(HEALTH_DRAIN_MS, () => health.abort());
      await health.drain();
    },
    abort() {
      health?.abort();
      return `${server.abort()} connections`;
    },
  };
}

function tlsFilesOf({ tlsCertificate, tlsKey, tlsClientCa }: Config): TlsFiles | undefined {
  if (tlsCertificate === undefined || tlsKey === undefined) return undefined;
  return { certificate: tlsCertificate, key: tlsKey, clientCa: tlsClientCa };
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

/** What the log says of a request: the path as sent, without the query. */
function describe(request: Request | undefined): object {
  if (request === undefined) return {};
  const { target, pathEnd } = request;
  const path = target.bytes.toString('latin1', target.start, pathEnd);
  return { method: methodName(request.method), path };
}
