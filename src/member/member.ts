/**
 * A member: its parts (parts.ts), in the phases of their life (life.ts).
 * Tested by embedding/embedded-member.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Cluster, Waiter } from '../cluster/cluster.ts';
import type { SharedRecord } from '../cluster/shared-record.ts';
import { configFault } from '../config/finding.ts';
import { pathOf } from '../config/setting.ts';
import type { Cp } from '../cp/cp-part.ts';
import type { MapLifetimes } from '../data/map-lifetimes.ts';
import type { EmbeddedPart } from '../engine/embedded/embedded-part.ts';
import type { Engine } from '../engine/engine.ts';
import { ENGINE_SETTINGS } from '../engine/engine-settings.ts';
import type { ResponseDelay, ResponseSender } from '../http/response-delay.ts';
import type { Monitoring } from '../monitoring/monitoring.ts';
import type { BackupMade } from '../persistence/maintenance.ts';
import { PERSISTENCE_SETTINGS } from '../persistence/persistence-settings.ts';
import { backlogWarning } from '../servers/backlog-limit.ts';
import { type Audit, openAudit } from '../telemetry/audit.ts';
import type { Log } from '../telemetry/log.ts';
import type { Config } from './config.ts';
import { end, start } from './life.ts';
import type { LoadedConfig } from './load.ts';
import { makeParts, NO_PORT } from './parts.ts';

export interface Member {
  /** Host that the listener is bound to; empty without one. */
  readonly address: string;
  /** Port of the listener; 0 without one. */
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
  /** The engine, if it stores the data in this member. */
  readonly stored: EmbeddedPart['engine'] | undefined;
  readonly clock: Clock;
  readonly cp: Cp;
  readonly cluster: Cluster;
  readonly record: Pick<SharedRecord, 'onChange' | 'values'>;
  readonly lifetimes: Pick<MapLifetimes, 'of'>;
  /** Decides when results may be returned; undefined if all may be returned at once. */
  readonly delay: (ResponseDelay & { addSender(sender: ResponseSender): void }) | undefined;
  /** Waiting polls and offers. */
  readonly waiting: Set<Waiter>;
  readonly monitoring: Pick<Monitoring, 'status'>;
  /** Creates a backup; see Maintenance. */
  backUp(): Promise<BackupMade>;
}

/** Address and ports of a member. */
export interface BoundPorts {
  readonly address: string;
  readonly port: number;
  readonly healthPort: number | undefined;
}

/** The decisions of a program that embeds the member. */
interface Hosting {
  /** Whether the member listens; default true. */
  readonly listens?: boolean;
  /** Called when the ports are bound, before the data is recovered. */
  onListening?(ports: BoundPorts): void;
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
  { listens = true, onListening }: Hosting = {},
): Promise<Member> {
  const parts = await makeParts(config, log, load, audit, listens);
  const { all, cutOff, servers, clock, cp, engine, persistence, lifetimes, reloader } = parts;
  const { stopRequested, monitoring, stored } = parts;
  const { cluster, waiting, record } = parts.cluster;
  const portsOf = (): BoundPorts => {
    const { address, port } = listens ? servers.bound : { address: '', port: NO_PORT };
    return { address, port, healthPort: servers.healthPort };
  };
  const onBound = () => {
    const { address, port } = portsOf();
    if (listens) onListening?.(portsOf());
    const { dataDirectory: directory, engineUrl } = config;
    if (persistence !== undefined) {
      log.info({ directory, address, port }, 'opening the data directory');
    } else if (engineUrl !== undefined) {
      log.info({ engine: engineUrl, address, port }, 'joining the cluster');
    }
  };
  await start(all, { onBound, cutOff }, stopped);
  return {
    ...portsOf(),
    memoryBytesMax: config.maxMemory,
    backlogWarning: backlogWarning(),
    async reload() {
      await reloader.reload();
    },
    stopRequested,
    inProcess: {
      engine,
      stored,
      clock,
      cp,
      cluster,
      record,
      lifetimes,
      waiting,
      monitoring,
      delay: persistence,
      backUp: async () => {
        if (persistence === undefined) throw noBackup(config);
        return await persistence.backUp();
      },
    },
    withdraw: () => cluster.stop(),
    drain: () => end(all),
    abort: cutOff,
  };
}

/** Returns the error of a backup on a member that stores no data on its disk. */
function noBackup({ engineUrl }: Config): GridError {
  const action = 'back up';
  if (engineUrl !== undefined) {
    return new GridError('DATA_ELSEWHERE', { action, setting: pathOf(ENGINE_SETTINGS.engineUrl) });
  }
  const setting = pathOf(PERSISTENCE_SETTINGS.persistenceEnabled);
  return new GridError('PERSISTENCE_OFF', { action, setting });
}

/** The reload of a member that a program has configured. */
function readNothing(): Promise<never> {
  const problem =
    'Cannot read the configuration again: it was not read from a file, variable or flag';
  return Promise.reject(configFault(problem));
}
