/**
 * A member: the one place where its parts are put together. Starts the engine and the HTTP server
 * from a configuration, and ends them: drain answers what was received, abort cuts off.
 */
import { SystemClock } from './base/clock.ts';
import { VERSION } from './base/version.ts';
import { formatAddress, publicHost } from './cluster/address.ts';
import { StandaloneCluster } from './cluster/standalone.ts';
import type { Config } from './config/config.ts';
import { queueCapacity } from './config/queue-capacity.ts';
import { EmbeddedEngine } from './engine/embedded/engine.ts';
import { methodName } from './http/methods.ts';
import type { Request } from './http/request.ts';
import { HttpServer } from './http/server.ts';
import { EndpointGroups } from './rest/endpoint-groups.ts';
import { PercentDecoder } from './rest/percent.ts';
import { RestApplication } from './rest/rest-application.ts';
import { Router } from './rest/router.ts';
import type { Log } from './telemetry/log.ts';

export interface Member {
  /** Host that is bound. */
  readonly address: string;
  readonly port: number;
  /** Stops accepting, answers what was received and ends; resolves when every connection is closed. */
  drain(): Promise<void>;
  /** Cuts off what is left; returns a sentence that says what that was. */
  abort(): string;
}

/** Resolves once the member serves. Rejects with the system's error when it cannot listen. */
export async function startMember(config: Config, log: Log): Promise<Member> {
  const clock = new SystemClock();
  const cluster = new StandaloneCluster();
  const engine = new EmbeddedEngine({
    partitionCount: config.partitionCount,
    clock,
    queueCapacity: queueCapacity(config.queueMaxSizes),
  });
  let instanceName = config.instanceName ?? '';
  const application = new RestApplication({
    engine,
    cluster,
    groups: new EndpointGroups(true, config.endpointGroups),
    router: new Router(config.pathSegment),
    decoder: new PercentDecoder(config.targetBytesMax),
    clusterName: config.clusterName,
    connectionCount: () => server.connectionCount,
    instanceName: () => instanceName,
  });
  const server = new HttpServer({
    application,
    limits: config,
    clock,
    onFailure: (error) => log.error({ err: error }, 'a request failed'),
  });
  if (log.isLevelEnabled('debug')) {
    server.observe = (status, request) => log.debug({ status, ...describe(request) }, 'answered');
  }
  const bound = await server.listen(config.host, config.port);
  instanceName ||= `gridnode-${bound.port}`;
  cluster.start(formatAddress(publicHost(bound.address), bound.port), VERSION);
  return {
    address: bound.address,
    port: bound.port,
    async drain() {
      cluster.stop();
      await server.drain();
      engine.close();
    },
    abort: () => `${server.abort()} connections`,
  };
}

/** What the log says of a request: the path as sent, without the query. */
function describe(request: Request | undefined): object {
  if (request === undefined) return {};
  const { target, pathEnd } = request;
  const path = target.bytes.toString('latin1', target.start, pathEnd);
  return { method: methodName(request.method), path };
}
