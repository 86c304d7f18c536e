/**
 * The phase of a member's start that makes its engine, and the persistence of that where it is on. No
 * other file knows which engine it is.
 */
import type { Clock } from './base/clock.ts';
import type { Config } from './config/config.ts';
import { queueCapacity } from './config/queue-capacity.ts';
import { EmbeddedEngine, RESERVED_BYTES } from './engine/embedded/embedded-engine.ts';
import type { StoredEngine } from './engine/stored-engine.ts';
import type { MemberPersistence } from './member-persistence.ts';
import type { Log } from './telemetry/log.ts';

export interface MemberEngine {
  readonly engine: StoredEngine;
  /** Undefined where nothing is stored beyond the process. */
  readonly persistence: MemberPersistence | undefined;
  /** Replaces the capacities of queues that are made from now on: items by name. */
  setQueueMaxSizes(maxSizes: ReadonlyMap<string, number>): void;
}

/** Rejects with GridError DATA_DIRECTORY_UNUSABLE. */
export async function makeEngine(config: Config, clock: Clock, log: Log): Promise<MemberEngine> {
  const persistence = config.persistenceEnabled
    ? new (await import('./member-persistence.ts')).MemberPersistence(config, clock, log)
    : undefined;
  let capacityOf = queueCapacity(config.queueMaxSizes);
  const engine = new EmbeddedEngine({
    sinks: persistence === undefined ? [] : [persistence.sink],
    partitionCount: config.partitionCount,
    clock,
    queueCapacity: (queue) => capacityOf(queue),
    memoryBytesMax: config.maxMemory,
    reservedBytes: RESERVED_BYTES,
  });
  return {
    engine,
    persistence,
    setQueueMaxSizes: (maxSizes) => {
      capacityOf = queueCapacity(maxSizes);
    },
  };
}
