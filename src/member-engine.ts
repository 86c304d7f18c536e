/**
 * The phase of a member's start that makes its engine, and the persistence of that where it is on. No
 * other file knows which engine it is.
 */
import type { Clock } from './base/clock.ts';
import type { ChangeWork, MemberLife } from './cluster/membership.ts';
import type { MembershipStore } from './cluster/membership-store.ts';
import type { Config } from './config/config.ts';
import { queueCapacity } from './config/queue-capacity.ts';
import { pathOf } from './config/settings.ts';
import { EmbeddedEngine, STOCK_BYTES } from './engine/embedded/embedded-engine.ts';
import type { Engine } from './engine/engine.ts';
import type { StoredEngine } from './engine/stored-engine.ts';
import type { MemberPersistence } from './member-persistence.ts';
import { ReplicaCounts } from './member-replicas.ts';
import { WanMaps } from './member-wan-maps.ts';
import type { Log } from './telemetry/log.ts';

export interface MemberEngine {
  readonly engine: Engine;
  /** The same where its data can be kept on the disk of the member; undefined where servers keep it. */
  readonly stored: StoredEngine | undefined;
  /** Undefined where nothing is stored beyond the process. */
  readonly persistence: MemberPersistence | undefined;
  /** The cluster's part of an engine that several members share; undefined where the member is alone. */
  readonly shared: SharedEngine | undefined;
  /** What maps say of WAN replication, where the engine's data is that of the member. */
  readonly wanMaps: WanMaps | undefined;
  /** Takes over the settings of maps and queues, for queues made and changes begun from now on. */
  extend(config: Config): void;
}

/** What the cluster needs of an engine that several members share. */
export interface SharedEngine {
  readonly store: MembershipStore;
  readonly work: ChangeWork;
  /** Whether changes have the copies that they are meant to have. */
  readonly isKeptSafe: () => boolean;
  /** Connections to the servers. */
  readonly connectionCount: () => number;
  /** Called once, before the engine is opened: says when changes may be sent, and what items belong to. */
  readonly attach: (life: MemberLife) => void;
}

const TOMBSTONES_DROPPED =
  `removals were forgotten before their time, as ${pathOf('wanTombstonesMax')} is reached: an older ` +
  'change that comes from another cluster may bring an entry back';

/** Rejects with GridError DATA_DIRECTORY_UNUSABLE or TLS_FILE_UNUSABLE. */
export async function makeEngine(config: Config, clock: Clock, log: Log): Promise<MemberEngine> {
  let capacityOf = queueCapacity(config.queueMaxSizes);
  const capacity = (queue: Buffer) => capacityOf(queue);
  const setCapacities = ({ queueMaxSizes }: Config) => {
    capacityOf = queueCapacity(queueMaxSizes);
  };
  const { engineUrl } = config;
  if (engineUrl !== undefined) {
    const { makeSharedEngine } = await import('./member-shared-engine.ts');
    const replicas = new ReplicaCounts(config);
    const engine = await makeSharedEngine(config, engineUrl, clock, log, capacity, replicas);
    const shared: SharedEngine = {
      ...{ store: engine.memberStore, work: engine, isKeptSafe: () => engine.isKeptSafe },
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
    ? new (await import('./member-persistence.ts')).MemberPersistence(config, clock, log)
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
