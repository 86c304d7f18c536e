/**
 * A member: its parts (parts.ts), in the phases of their life (life.ts).
 * Tested by embedding/embedded-member.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { Cluster, Waiter } from '../cluster/cluster.ts';
import { configFault } from '../config/finding.ts';
import type { Cp } from '../cp/cp-part.ts';
import type { MapLifetimes } from '../data/map-lifetimes.ts';
import type { Engine } from '../engine/engine.ts';
import type { ResponseDelay, ResponseSender } from '../http/response-delay.ts';
import { backlogWarning } from '../servers/backlog-limit.ts';
import { type Audit, openAudit } from '../telemetry/audit.ts';
import type { Log } from '../telemetry/log.ts';
import type { Config } from './config.ts';
import { end, start } from './life.ts';
import type { LoadedConfig } from './load.ts';
import { makeParts } from './parts.ts';

export interface Member {
  /** Host that the listener is bound to. */
  readonly address: string;
  readonly port: number;
  /** Port of the health listener, if there is one. */
  readonly healthPort: number | undefined;
  /** Memory for stored data, in bytes. */
  readonly memoryBytesMax: number;
  /** A sentence about a limit of the system that lowers the servers' backlog, if there is one. */
  readonly backlogWarning: string | undefined;
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
  readonly clock: Clock;
  readonly cp: Cp;
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
  const parts = await makeParts(config, log, load, audit);
  const { all, cutOff, servers, clock, cp, engine, persistence, lifetimes, reloader } = parts;
  const { stopRequested } = parts;
  const { cluster, waiting } = parts.cluster;
  const onBound = () => {
    const { address, port } = servers.bound;
    const { dataDirectory: directory, engineUrl } = config;
    if (persistence !== undefined) {
      log.info({ directory, address, port }, 'opening the data directory');
    } else if (engineUrl !== undefined) {
      log.info({ engine: engineUrl, address, port }, 'joining the cluster');
    }
  };
  await start(all, { onBound, cutOff }, stopped);
  return {
    address: servers.bound.address,
    port: servers.bound.port,
    healthPort: servers.healthPort,
    memoryBytesMax: config.maxMemory,
    backlogWarning: backlogWarning(),
    async reload() {
      await reloader.reload();
    },
    stopRequested,
    inProcess: { engine, clock, cp, cluster, lifetimes, delay: persistence, waiting },
    withdraw: () => cluster.stop(),
    drain: () => end(all),
    abort: cutOff,
  };
}

/** The reload of a member that a program has configured. */
function readNothing(): Promise<never> {
  const problem =
    'Cannot read the configuration again: it was not read from a file, variable or flag';
  return Promise.reject(configFault(problem));
}
