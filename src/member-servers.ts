/** The HTTP servers of a member: the one that all is served by, and one for probes alone. */
import type { Config } from './config/config.ts';
import { methodName } from './http/methods.ts';
import type { Request } from './http/request.ts';
import { HttpServer, type HttpServerOptions } from './http/server.ts';
import { HealthRouter } from './rest/health-router.ts';
import { RestApplication } from './rest/rest-application.ts';
import type { RouteFinder } from './rest/router.ts';
import type { RestServices } from './rest/services.ts';
import type { Log } from './telemetry/log.ts';

/** Most connections of the health listener: probes are few, so more are a fault. */
const HEALTH_CONNECTIONS_MAX = 128;
/** Probes send no content. */
const HEALTH_BODY_BYTES_MAX = 1024;
/** Contents and answers under way of each of its connections, in bytes. */
const HEALTH_IN_FLIGHT_BYTES = 65536;

/** The second listener, which answers when the first one accepts no more connections. */
export function healthServer(
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
export function observe(server: HttpServer, log: Log): void {
  server.observe = log.isLevelEnabled('debug')
    ? (status, request, { code, reason }) => {
        const why = code === '' ? {} : { code, reason };
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
