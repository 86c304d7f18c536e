/**
 * The HTTP servers of a member: the main one, and one only for probes.
 * Tested by integration/tls.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { RepeatedEvents } from '../base/repeated-events.ts';
import type { Config } from '../config/config.ts';
import { methodName } from '../http/methods.ts';
import type { Request } from '../http/request.ts';
import { HttpServer, type HttpServerOptions } from '../http/server.ts';
import { HealthRouter } from '../rest/health-router.ts';
import { RestApplication } from '../rest/rest-application.ts';
import type { RouteFinder } from '../rest/router.ts';
import type { RestServices } from '../rest/services.ts';
import type { Log } from '../telemetry/log.ts';

/** Interval for which refused connections share a log line, in ms. */
const REFUSED_MS = 60_000;
/** Time limit for a probe's first request, in seconds. */
const HEALTH_FIRST_REQUEST_SECONDS = 5;
/** Maximum size of a probe's body, in bytes: probes send none. */
const HEALTH_BODY_BYTES_MAX = 1024;
/** Maximum size of the bodies and responses in flight per connection of probes, in bytes. */
const HEALTH_IN_FLIGHT_BYTES = 65536;

/** Creates the second listener, which responds when the first one accepts no more connections. */
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
 * Logs connections beyond `connections-max`: the first one at once, later ones once a
 * minute.
 */
export function refusedConnections(clock: Clock, log: Log): RepeatedEvents<number> {
  return new RepeatedEvents({
    clock,
    intervalMs: REFUSED_MS,
    keysMax: 1,
    report: (connectionsMax, count) => log.warn({ count, connectionsMax }, 'connections refused'),
  });
}

/** Returns a function that logs a warning at the first response without the stored content type. */
export function badTypeWarning(log: Log): () => void {
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
export function observe(server: HttpServer, log: Log): void {
  server.observe = log.isLevelEnabled('debug')
    ? (status, request, { code, reason }) => {
        const why = code === '' ? {} : { code, reason };
        log.debug({ status, ...describe(request), ...why }, 'answered');
      }
    : undefined;
}

/** Returns the log fields of a request: the path without the query, in ASCII. */
function describe(request: Request | undefined): object {
  if (request === undefined) return {};
  const { method, target, pathEnd } = request;
  return { method: methodName(method), path: request.targetText(pathEnd - target.start) };
}
