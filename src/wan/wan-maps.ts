/**
 * The WAN settings of maps: the replication of their changes, and the metadata of their entries.
 * Tested by wan-reading.spec.ts.
 */
import { NamePattern } from '../base/name-pattern.ts';
import type { Span } from '../base/span.ts';
import { byName } from '../config/name-lookup.ts';
import type { DataConfig } from '../data/data-settings.ts';
import type { MergeOptions } from '../engine/stored-engine.ts';
import type { MapWan, WanConfig, WanReplicationRef } from './wan-config.ts';
import { MAP_WAN_SETTINGS, MERGE_POLICIES, MERKLE_DEPTH_COUNTED_MAX } from './wan-settings.ts';

/** Describes how the changes of a map are published. */
export interface WanMapRef {
  /** Number of the merge policy that the target applies (merge-policy.ts). */
  readonly policy: number;
  /** Whether changes from other data sets are forwarded. */
  readonly republishing: boolean;
  /** Returns whether changes of the key are published. The key is only valid during the call. */
  accepts(key: Span): boolean;
}

/** A map's reference with the name of its replication. */
export interface NamedMapRef extends WanMapRef {
  readonly replication: string;
}

/**
 * Returns the map's reference to the publisher's replication, or undefined. The result for a name
 * never changes, and calls are rare.
 */
export type RefOf = (map: Buffer) => WanMapRef | undefined;

/** The settings of a map's hash trees, by which it is compared with the target's map. */
export interface MapTree {
  /** False if the configuration turns them off. */
  readonly isOn: boolean;
  /** Number of levels, 2 to 16. */
  readonly depth: number;
}

type Settings = Pick<WanConfig, 'mapWan'> & Pick<DataConfig, 'mapTimeToLiveSeconds'>;

export class WanMaps {
  #of: (map: Buffer) => MapWan | undefined = () => undefined;
  /** Whether no map has any of these settings. */
  #isEmpty = true;
  /** Whether any map has a reference. */
  hasReferences = false;
  /** The settings as the engine reads them. */
  readonly merging: MergeOptions = {
    hasKeptMaps: () => !this.#isEmpty,
    keepsTombstones: (map) => this.#of(map)?.ref !== undefined,
    keepsStatistics: (map) => this.#of(map)?.perEntryStatsEnabled ?? false,
  };

  constructor(config: Settings) {
    this.replace(config);
  }

  /** Replaces the settings from now on. */
  replace({ mapWan, mapTimeToLiveSeconds }: Settings): void {
    this.#isEmpty = mapWan.size === 0;
    this.hasReferences = hasReferences(mapWan);
    if (this.#isEmpty) return;
    this.#of = byName(mapWan, mapTimeToLiveSeconds);
  }

  /** Returns the hash-tree settings of the map, or the defaults. */
  treeOf(map: Buffer): MapTree {
    const { enabled, depth = MAP_WAN_SETTINGS.merkleTreeDepth.fallback } =
      this.#of(map)?.merkleTree ?? {};
    return { isOn: enabled !== false, depth: Math.min(depth, MERKLE_DEPTH_COUNTED_MAX) };
  }

  /** Returns the map's reference, or undefined. */
  refOf(map: Buffer): NamedMapRef | undefined {
    const ref = this.#isEmpty ? undefined : this.#of(map)?.ref;
    return ref && { replication: ref.name, ...mapRefOf(ref) };
  }

  /** Returns the function that looks up the maps' references to that replication. */
  refsTo(replication: string): RefOf {
    return (map) => {
      const ref = this.#of(map)?.ref;
      return ref?.name === replication ? mapRefOf(ref) : undefined;
    };
  }
}

export function hasReferences(mapWan: WanConfig['mapWan']): boolean {
  for (const { ref } of mapWan.values()) if (ref !== undefined) return true;
  return false;
}

function mapRefOf({ mergePolicy, republishingEnabled, filters }: WanReplicationRef): WanMapRef {
  const patterns = filters.map((filter) => new NamePattern(filter));
  const accepts = ({ bytes, start, end }: Span): boolean => {
    const key = bytes.toString('latin1', start, end);
    return !patterns.some((pattern) => pattern.matches(key));
  };
  return {
    policy: MERGE_POLICIES.indexOf(mergePolicy),
    republishing: republishingEnabled,
    accepts: patterns.length === 0 ? () => true : accepts,
  };
}
