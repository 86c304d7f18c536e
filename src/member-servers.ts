/** The HTTP servers of a member: the one that all is served by, and one for probes alone. */
import type { Clock } from './base/clock.ts';
import { RepeatedEvents } from './base/repeated-events.ts';
import type { Config } from './config/config.ts';
import { methodName } from './http/methods.ts';
import type { Request } from './http/request.ts';
import { HttpServer, type HttpServerOptions } from './http/server.ts';
import { HealthRouter } from './rest/health-router.ts';
import { RestApplication } from './rest/rest-application.ts';
import type { RouteFinder } from './rest/router.ts';
import type { RestServices } from './rest/services.ts';
import type { Log } from './telemetry/log.ts';

/** Time in which refused connections share a line of the log, in ms. */
const REFUSED_MS = 60_000;
/** Time that a probe has for its first request. */
const HEALTH_FIRST_REQUEST_SECONDS = 5;
/** Probes send no content. */
const HEALTH_BODY_BYTES_MAX = 1024;
/** Contents and answers under way of each of its connections, in bytes. */
const HEALTH_IN_FLIGHT_BYTES = 65536;

/** The second listener, which answers when the first one accepts no more connections. */
export function healthServer(
  config: Config,
  router: RouteFinder,
  services: RestServices,
  common: Pick<HttpServerOptions, 'clock' | 'onFailure' | 'fieldLines' | 'refusedConnectionsMax'>,
  connectionsMax: number,
): HttpServer | undefined {
  if (config.healthPort === undefined) return undefined;
  const application = new RestApplication(new HealthRouter(router), services);
  const limits = {
    ...config,
    connectionsMax,
    firstRequestTimeoutSeconds: HEALTH_FIRST_REQUEST_SECONDS,
    headerTimeoutSeconds: Math.min(config.headerTimeoutSeconds, HEALTH_FIRST_REQUEST_SECONDS),
    bodyBytesMax: HEALTH_BODY_BYTES_MAX,
    inFlightBytesMax: connectionsMax * HEALTH_IN_FLIGHT_BYTES,
  };
  return new HttpServer({ ...common, application, limits, closesIdle: true });
}

/**
 * Logs connections beyond `connections-max`: the first one at once, then those of each minute together.
 */
export function refusedConnections(clock: Clock, log: Log): RepeatedEvents<number> {
  return new RepeatedEvents({
    ...{ clock, intervalMs: REFUSED_MS, keysMax: 1 },
    report: (connectionsMax, count) => log.warn({ count, connectionsMax }, 'connections refused'),
  });
}

/** Warns of the first response without the stored content type. */
export function badTypeWarning(log: Log): () => void {
  let hasWarned = false;
  return () => {
    if (hasWarned) return;
    hasWarned = true;
    const text =
      'values are served without their content types: a stored one has a control character, or is ' +
      'longer than header-bytes-max; write such entries again';
    log.warn({}, text);
  };
}

/** Logs a line for each request, where the log's level asks for that. */
export function observe(server: HttpServer, log: Log): void {
  server.observe = log.isLevelEnabled('debug')
    ? (status, request, { code, reason }) => {
        const why = code === '' ? {} : { code, reason };
        log.debug({ status, ...describe(request), ...why }, 'answered');
      }
    : undefined;
}

/** The fields of a request in the log: the path without the query, in ASCII. */
function describe(request: Request | undefined): object {
  if (request === undefined) return {};
  const { method, target, pathEnd } = request;
  return { method: methodName(method), path: request.targetText(pathEnd - target.start) };
}
