/**
 * The start phase that creates the member's engine and its persistence. No other file depends on
 * the kind of engine. Tested by integration/maintenance.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { ChangeWork, MemberLife } from '../cluster/membership.ts';
import type { MembershipStore } from '../cluster/membership-store.ts';
import type { Config } from '../config/config.ts';
import { queueCapacity } from '../config/queue-capacity.ts';
import { pathOf } from '../config/settings.ts';
import type { PersistencePart } from '../persistence/persistence-part.ts';
import type { Log } from '../telemetry/log.ts';
import { WanMaps } from '../wan/wan-maps.ts';
import { EmbeddedEngine, STOCK_BYTES } from './embedded/embedded-engine.ts';
import type { Engine } from './engine.ts';
import { ReplicaCounts } from './redis/replicas.ts';
import type { StoredEngine } from './stored-engine.ts';

export interface MemberEngine {
  readonly engine: Engine;
  /** The engine, if the member stores the data itself; undefined if servers store it. */
  readonly stored: StoredEngine | undefined;
  /** Undefined if nothing is persisted. */
  readonly persistence: PersistencePart | undefined;
  /** The cluster's view of an engine that several members share; undefined otherwise. */
  readonly shared: SharedEngine | undefined;
  /** The WAN settings of maps, if the member stores the data itself. */
  readonly wanMaps: WanMaps | undefined;
  /** Applies settings of maps and queues to new queues and to changes that begin from now on. */
  extend(config: Config): void;
}

/** The cluster's view of an engine that several members share. */
export interface SharedEngine {
  readonly store: MembershipStore;
  readonly work: ChangeWork;
  /** Whether changes are replicated as configured. */
  readonly isDataSafe: () => boolean;
  /** Number of connections to the servers. */
  readonly connectionCount: () => number;
  /** Called once before the engine is opened, with the member's uuid, join number and lease. */
  readonly attach: (life: MemberLife) => void;
}

const TOMBSTONES_DROPPED =
  `tombstones were dropped early, as ${pathOf('wanTombstonesMax')} was reached: an older change ` +
  'from another cluster may restore a removed entry';

/** Creates the engine. Rejects with GridError DATA_DIRECTORY_UNUSABLE or TLS_FILE_UNUSABLE. */
export async function makeEngine(config: Config, clock: Clock, log: Log): Promise<MemberEngine> {
  let capacityOf = queueCapacity(config.queueMaxSizes);
  const capacity = (queue: Buffer) => capacityOf(queue);
  const setCapacities = ({ queueMaxSizes }: Config) => {
    capacityOf = queueCapacity(queueMaxSizes);
  };
  const { engineUrl } = config;
  if (engineUrl !== undefined) {
    const { makeSharedEngine } = await import('./redis/shared-engine.ts');
    const replicas = new ReplicaCounts(config);
    const engine = await makeSharedEngine(config, engineUrl, clock, log, capacity, replicas);
    const shared: SharedEngine = {
      store: engine.membershipStore,
      work: engine,
      isDataSafe: () => engine.isDataSafe,
      connectionCount: () => engine.connectionCount,
      attach: (life) => engine.attach(life),
    };
    const extend = (extended: Config) => {
      setCapacities(extended);
      replicas.replace(extended);
    };
    return {
      engine,
      stored: undefined,
      persistence: undefined,
      shared,
      wanMaps: undefined,
      extend,
    };
  }
  const persistence = config.persistenceEnabled
    ? new (await import('../persistence/persistence-part.ts')).PersistencePart(config, clock, log)
    : undefined;
  const wanMaps = new WanMaps(config);
  const engine = new EmbeddedEngine({
    sinks: persistence === undefined ? [] : [persistence.sink],
    partitionCount: config.partitionCount,
    clock,
    queueCapacity: capacity,
    memoryBytesMax: config.maxMemory,
    stockBytes: STOCK_BYTES,
    hasKeptMaps: () => !wanMaps.isEmpty,
    keepsTombstones: (map) => wanMaps.isReplicated(map),
    keepsStatistics: (map) => wanMaps.keepsStatistics(map),
    tombstoneRetentionMs: config.wanTombstoneRetentionSeconds * 1000,
    tombstonesMax: config.wanTombstonesMax,
    onTombstonesDropped: (droppedCount) => log.warn({ droppedCount }, TOMBSTONES_DROPPED),
  });
  const parts = { engine, stored: engine, persistence, shared: undefined, wanMaps };
  return { ...parts, extend: setCapacities };
}
