/**
 * The number of replicas that must have a change before its response is sent, from the
 * `backup-count` of its map or queue. Undefined stands for the engine's default. The member list
 * and the shared record use the greater of the map's and the queue's `default`.
 */
import type { Span } from '../../base/span.ts';
import { byName, MapSettings } from '../../config/name-lookup.ts';
import type { DataConfig } from '../../data/data-settings.ts';
import type { EngineConfig } from '../engine-settings.ts';

/** Stands for undefined, as values of MapSettings are never undefined. */
const USUAL = -1;

type Counts = Pick<EngineConfig, 'mapBackupCounts' | 'queueBackupCounts'> &
  Pick<DataConfig, 'mapTimeToLiveSeconds' | 'queueMaxSizes'>;

export class ReplicaCounts {
  readonly #ofMap = new MapSettings(USUAL);
  #ofQueue: (queue: Buffer) => number | undefined = () => undefined;
  #max: number | undefined;

  constructor(config: Counts) {
    this.replace(config);
  }

  /** Replaces the settings from now on. */
  replace({
    mapBackupCounts,
    queueBackupCounts,
    mapTimeToLiveSeconds,
    queueMaxSizes,
  }: Counts): void {
    const ofMap = countOf(mapBackupCounts, mapTimeToLiveSeconds);
    this.#ofMap.configure(mapBackupCounts.size === 0 ? undefined : ofMap);
    this.#ofQueue = countOf(queueBackupCounts, queueMaxSizes);
    const all = [...mapBackupCounts.values(), ...queueBackupCounts.values()];
    this.#max = all.length === 0 ? undefined : all.reduce((a, b) => Math.max(a, b));
  }

  ofMap(map: Span): number | undefined {
    const count = this.#ofMap.of(map);
    return count === USUAL ? undefined : count;
  }

  ofQueue(queue: Buffer): number | undefined {
    return this.#ofQueue(queue);
  }

  /** The greatest configured count. */
  get max(): number | undefined {
    return this.#max;
  }
}

/** Returns the count for the member list and the shared record. */
export function clusterReplicaCount(config: Counts): number | undefined {
  const counts = [config.mapBackupCounts.get('default'), config.queueBackupCounts.get('default')];
  const configured = counts.filter((count) => count !== undefined);
  return configured.length === 0 ? undefined : Math.max(...configured);
}

/**
 * Returns the function that looks up the number of replicas. A configured name without a count does
 * not inherit `default`.
 */
function countOf(
  counts: ReadonlyMap<string, number>,
  names: ReadonlyMap<string, unknown>,
): (name: Buffer) => number | undefined {
  if (counts.size === 0) return () => undefined;
  return byName(counts, names);
}
