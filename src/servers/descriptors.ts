/**
 * Divides the file descriptors of the process between connections and everything else. If
 * connections could use the last descriptor, files of the write-ahead log could not be opened and
 * writes would be refused; and libuv closes a connection that it cannot accept without any event,
 * so its client would get no response. Therefore `connections-max` is lowered until there is room
 * for the rest, also when WAN publishers are added at run time.
 */
import { type OpenFiles, openFiles } from '../base/open-files.ts';
import { pathOf } from '../config/setting.ts';
import type { EngineConfig } from '../engine/engine-settings.ts';
import type { PersistenceConfig } from '../persistence/persistence-settings.ts';
import { batchesPerEndpoint } from '../wan/batch-limits.ts';
import type { WanConfig } from '../wan/wan-config.ts';
import { LIMIT_SETTINGS, type ServerConfig } from './server-settings.ts';

/** Listeners, a reload's thread and files, and the program that notifies the service manager. */
const OTHER_COUNT = 16;
/** Segments of the log, prepared segments, torn ends, snapshots, recovery and backups. */
const PERSISTENCE_COUNT = 16;
/** Connections to the servers that store the data. */
const ENGINE_COUNT = 64;
/**
 * Maximum number of refused connections read at a time, and of connections to the health listener.
 */
const REFUSED_MAX = 128;
const REFUSED_MIN = 1;
const HEALTH_MAX = 128;
const HEALTH_MIN = 4;
/** Share of each of these if there are fewer descriptors than all of them need. */
const SHARE = 1 / 8;

/** The settings that need descriptors. */
export type DescriptorConfig = Pick<ServerConfig, 'healthPort' | 'connectionsMax'> &
  Pick<PersistenceConfig, 'persistenceEnabled'> &
  Pick<EngineConfig, 'engineUrl'> &
  Pick<WanConfig, 'wanReplications'>;

interface ListenerShares {
  readonly healthConnectionsMax: number;
  /** Maximum number of refused connections that each listener reads at a time. */
  readonly refusedConnectionsMax: number;
}

export interface DescriptorShares extends ListenerShares {
  readonly connectionsMax: number;
  /** Undefined if `connections-max` is as configured. */
  readonly warning: string | undefined;
}

/**
 * Returns the shares. `files`: the open files of the process at its start. `listeners` are the
 * shares at the start, which stay valid for an extended configuration.
 */
export function descriptorShares(
  config: DescriptorConfig,
  files: OpenFiles = openFiles(),
  listeners: ListenerShares = listenerShares(config, files),
): DescriptorShares {
  const { healthConnectionsMax, refusedConnectionsMax } = listeners;
  const { limit } = files;
  const listenerCount = config.healthPort === undefined ? 1 : 2;
  const taken = healthConnectionsMax + refusedConnectionsMax * listenerCount;
  const others = otherCount(config, files) + taken;
  const connectionsMax = Math.max(1, Math.min(config.connectionsMax, limit - others));
  const warning =
    connectionsMax === config.connectionsMax
      ? undefined
      : `${pathOf(LIMIT_SETTINGS.connectionsMax)} is ${connectionsMax} instead of ${config.connectionsMax}: ` +
        `the process may have ${limit} files open (ulimit -n, LimitNOFILE), ` +
        `and ${others} are reserved for everything else`;
  return { connectionsMax, healthConnectionsMax, refusedConnectionsMax, warning };
}

function listenerShares(config: DescriptorConfig, files: OpenFiles): ListenerShares {
  const share = Math.floor((files.limit - otherCount(config, files)) * SHARE);
  const hasHealth = config.healthPort !== undefined;
  return {
    healthConnectionsMax: hasHealth ? between(HEALTH_MIN, share, HEALTH_MAX) : 0,
    refusedConnectionsMax: between(REFUSED_MIN, share, REFUSED_MAX),
  };
}

/** Returns the number of files, and of connections that are not of clients. */
function otherCount(config: DescriptorConfig, { count }: OpenFiles): number {
  return count + OTHER_COUNT + filesOf(config) + wanConnections(config);
}

function filesOf({ persistenceEnabled, engineUrl }: DescriptorConfig): number {
  if (engineUrl !== undefined) return ENGINE_COUNT;
  return persistenceEnabled ? PERSISTENCE_COUNT : 0;
}

/** Returns the connections of all publishers: one for each batch in flight. */
function wanConnections({ wanReplications }: DescriptorConfig): number {
  let count = 0;
  for (const { publishers } of wanReplications.values()) {
    for (const { targetEndpoints, maxConcurrentInvocations } of publishers) {
      count += targetEndpoints.length * batchesPerEndpoint(maxConcurrentInvocations);
    }
  }
  return count;
}

function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
