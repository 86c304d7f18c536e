/**
 * The HTTP servers of a member, as its part: the one of the data port, and one only for probes.
 * Tested by integration/tls.spec.ts.
 */
import type { AddressInfo } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { type Figures, gauge } from '../base/figures.ts';
import type { OpenFiles } from '../base/open-files.ts';
import type { Part } from '../base/part.ts';
import { RepeatedEvents } from '../base/repeated-events.ts';
import type { Application } from '../http/application.ts';
import { describeCutOff } from '../http/cut-off.ts';
import { methodName } from '../http/methods.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { ResponseDelay } from '../http/response-delay.ts';
import type { ServedHosts } from '../http/served-hosts.ts';
import { HttpServer } from '../http/server.ts';
import type { TlsIdentity } from '../http/tls.ts';
import { type TlsConfig, tlsFilesOf } from '../security/tls-settings.ts';
import type { HttpTraffic } from '../telemetry/http-traffic.ts';
import type { Log } from '../telemetry/log.ts';
import type { LogLevelControl } from '../telemetry/log-level-control.ts';
import { type DescriptorConfig, type DescriptorShares, descriptorShares } from './descriptors.ts';
import { listenAsConfigured } from './listening.ts';
import type { ServerConfig } from './server-settings.ts';
import { reportTls } from './tls-metrics.ts';

/** Interval for which refused connections share a log line, in ms. */
const REFUSED_MS = 60_000;
/** Time for probes to end after everything else has ended, in ms. */
const HEALTH_DRAIN_MS = 500;
/** Time limit for a probe's first request, in seconds. */
const HEALTH_FIRST_REQUEST_SECONDS = 5;
/** Maximum size of a probe's body, in bytes: probes send none. */
const HEALTH_BODY_BYTES_MAX = 1024;
/** Maximum size of the bodies and responses in flight per connection of probes, in bytes. */
const HEALTH_IN_FLIGHT_BYTES = 65536;

const METRICS = {
  connections: gauge('gridnode_http_connections', 'Open connections of clients'),
  inFlight: gauge('gridnode_http_in_flight_bytes', 'Bytes of requests and responses in progress'),
};

/** The settings of the part, and those of others that it names. */
type Config = ServerConfig & TlsConfig & DescriptorConfig;

export interface HttpServersOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly logLevel: LogLevelControl;
  /** Undefined if TLS is off. */
  readonly tls: TlsIdentity | undefined;
  readonly servedHosts: ServedHosts;
  /** Header field lines of every response. */
  readonly fieldLines: string;
  /** Decides when responses of the data port may be sent; undefined if all may be sent at once. */
  readonly delay: ResponseDelay | undefined;
  /** The applications of the data port and of the health port. */
  readonly application: Application;
  readonly healthApplication: Application;
  /** Open files of the process at its start. */
  readonly files: OpenFiles;
  /** Counts the traffic of both ports. */
  readonly traffic: HttpTraffic;
}

export class HttpServers implements Part<Config> {
  /** The server of the data port. */
  readonly data: HttpServer;
  /** The second listener, which responds when the first one accepts no more connections. */
  readonly #health: HttpServer | undefined;
  readonly #options: HttpServersOptions;
  /** The descriptors as shared at the start. */
  readonly #shares: DescriptorShares;
  /** Counts connections beyond `connections-max`; the detail is that limit. */
  readonly #refused: RepeatedEvents<number>;
  /** The identity for new handshakes; undefined if TLS is off. */
  #tls: TlsIdentity | undefined;
  #bound: AddressInfo | undefined;
  #healthPort: number | undefined;
  #drained: Promise<void> | undefined;
  #isCutOff = false;

  constructor(options: HttpServersOptions) {
    const { config, clock, log, logLevel, fieldLines, servedHosts, tls, delay } = options;
    const { application, healthApplication, traffic: meter } = options;
    this.#options = options;
    this.#tls = tls;
    this.#refused = new RepeatedEvents({
      clock,
      intervalMs: REFUSED_MS,
      keysMax: 1,
      report: (connectionsMax, count) => log.warn({ count, connectionsMax }, 'connections refused'),
    });
    this.#shares = descriptorShares(config, options.files);
    const { connectionsMax, healthConnectionsMax, refusedConnectionsMax, warning } = this.#shares;
    if (warning !== undefined) log.warn(warning);
    const onFailure = (error: unknown) => log.error({ err: error }, 'a request failed');
    const onNoHandles = slowerConnectionsWarning(log);
    const common = { clock, onFailure, onNoHandles, refusedConnectionsMax, fieldLines, meter };
    const data = new HttpServer({
      ...common,
      application,
      limits: { ...config, connectionsMax },
      tls,
      delay,
      servedHosts,
      onRefused: (max) => this.#refused.add('', max),
      onBadType: badTypeWarning(log),
    });
    this.data = data;
    if (config.healthPort !== undefined) {
      const limits = healthLimits(config, healthConnectionsMax);
      this.#health = new HttpServer({
        ...common,
        application: healthApplication,
        limits,
        closesIdle: true,
      });
    }
    logLevel.listen(() => observe(data, log));
  }

  /** Address and port of the data port. */
  get bound(): AddressInfo {
    if (this.#bound === undefined) throw new Error('the member does not listen yet');
    return this.#bound;
  }

  /** The port of the data port, also after it was closed; 0 until it is bound. */
  get dataPort(): number {
    return this.#bound?.port ?? 0;
  }

  get healthPort(): number | undefined {
    return this.#healthPort;
  }

  /** Number of open client connections. */
  get connectionCount(): number {
    return this.data.connectionCount + (this.#health?.connectionCount ?? 0);
  }

  /** Bytes of requests and responses in progress. */
  get inFlightBytes(): number {
    return this.data.inFlight.usedBytes + (this.#health?.inFlight.usedBytes ?? 0);
  }

  figures(to: Figures): void {
    this.#options.traffic.figures(to);
    to.add(METRICS.connections, this.connectionCount);
    to.add(METRICS.inFlight, this.inFlightBytes);
    reportTls(to, this.#tls);
  }

  async change(config: Config, rereads: boolean): Promise<() => void> {
    const tls = rereads ? await readTls(config) : undefined;
    const { files, log } = this.#options;
    const { connectionsMax, warning } = descriptorShares(config, files, this.#shares);
    return () => {
      if (tls !== undefined) {
        this.data.setTlsIdentity(tls);
        this.#tls = tls;
      }
      if (connectionsMax === this.data.connectionsMax) return;
      this.data.connectionsMax = connectionsMax;
      if (warning !== undefined) log.warn(warning);
    };
  }

  /** Rejects with the system's error, ADDRESS_NOT_HERE or ADDRESS_IN_USE. */
  async listen(): Promise<void> {
    const { config, servedHosts } = this.#options;
    this.#bound = await listenAsConfigured(this.data, config);
    servedHosts.bind(this.#bound.address);
    const { address } = this.#bound;
    this.#healthPort = (await this.#health?.listen(address, config.healthPort ?? 0))?.port;
  }

  /** Responds to the requests received. Resolves when every connection of the data port is closed. */
  drain(): Promise<void> {
    this.#drained = this.data.drain();
    return this.#drained;
  }

  async close(): Promise<void> {
    this.#refused.end();
    await this.#drained;
    const health = this.#health;
    if (health === undefined || this.#isCutOff) return;
    const end = this.#options.clock.after(HEALTH_DRAIN_MS, () => health.abort());
    await health.drain();
    end.cancel();
  }

  /** Cuts off the connections. Returns a description of them, or undefined if there was nothing. */
  cutOff(): string | undefined {
    this.#isCutOff = true;
    this.#refused.end();
    this.#health?.abort();
    return describeCutOff(this.data.abort());
  }
}

/** Reads the TLS files. Rejects with GridError TLS_FILE_UNUSABLE. */
export async function readTls(config: TlsConfig): Promise<TlsIdentity | undefined> {
  const files = tlsFilesOf(config);
  if ((files.certificate ?? files.keyStore) === undefined) return undefined;
  // The code is only loaded if TLS is on.
  return (await import('../http/tls-files.ts')).readTlsFiles(files);
}

function healthLimits(config: Config, connectionsMax: number) {
  return {
    ...config,
    connectionsMax,
    firstRequestTimeoutSeconds: HEALTH_FIRST_REQUEST_SECONDS,
    headerTimeoutSeconds: Math.min(config.headerTimeoutSeconds, HEALTH_FIRST_REQUEST_SECONDS),
    bodyBytesMax: HEALTH_BODY_BYTES_MAX,
    inFlightBytesMax: connectionsMax * HEALTH_IN_FLIGHT_BYTES,
  };
}

/** Returns a function that logs once, for both servers, why connections have sockets. */
function slowerConnectionsWarning(log: Log): (reason: string) => void {
  let hasWarned = false;
  return (reason) => {
    if (hasWarned) return;
    hasWarned = true;
    log.warn(`connections are served through Node's sockets, which is slower: ${reason}`);
  };
}

/** Returns a function that logs a warning at the first response without the stored content type. */
function badTypeWarning(log: Log): () => void {
  let hasWarned = false;
  return () => {
    if (hasWarned) return;
    hasWarned = true;
    const text =
      'values are served without their content types: a stored type has a control character, or is ' +
      'longer than header-bytes-max; write such entries again';
    log.warn({}, text);
  };
}

/** Logs a line for each request if the log level is debug. */
function observe(server: HttpServer, log: Log): void {
  server.observe = log.isLevelEnabled('debug')
    ? (status, head, { code, reason }) => {
        const why = code === '' ? {} : { code, reason };
        log.debug({ status, ...describe(head), ...why }, 'answered');
      }
    : undefined;
}

/** Returns the log fields of a request: the path without the query, in ASCII. */
function describe(head: RequestHead | undefined): object {
  if (head === undefined) return {};
  const { method, target, pathEnd } = head;
  return { method: methodName(method), path: head.targetText(pathEnd - target.start) };
}
