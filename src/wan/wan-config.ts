/**
 * The WAN replication of a configuration, in its effective form: the replications with their
 * publishers, and for maps the replication that receives their changes. wan-reading.ts reads it
 * from a file, wan-json.ts from a request.
 */
import type { TlsFiles } from '../http/tls-files.ts';
import type { MAP_WAN_SETTINGS, PUBLISHER_SETTINGS, PUBLISHER_STATES } from './wan-settings.ts';

/**
 * Maximum number of publishers of a member: each has a queue, and each change of a map is offered
 * to all publishers of its replication.
 */
export const PUBLISHERS_MAX = 64;

export interface WanReplication {
  readonly name: string;
  /** In their order, possibly empty; each has a unique id. */
  readonly publishers: readonly WanPublisherOptions[];
}

type PublisherRows = typeof PUBLISHER_SETTINGS;
type MapRows = typeof MAP_WAN_SETTINGS;

/** A publisher: the values of its rows, in which user name and password are set together. */
export type WanPublisherOptions = {
  readonly [Key in Exclude<
    keyof PublisherRows,
    'publisherId' | 'clusterName' | 'targetEndpoints' | 'endpoint'
  >]: PublisherRows[Key]['fallback'];
} & {
  readonly publisherId: string;
  /** Name of the cluster that the target must have. */
  readonly clusterName: string;
  /** At least one. */
  readonly targetEndpoints: readonly WanEndpoint[];
  /** Files for the connections to the endpoints that use TLS. */
  readonly tls: TlsFiles;
};

/** A publisher's state: whether new events are queued, and whether queued events are sent. */
export type PublisherState = (typeof PUBLISHER_STATES)[number];

export interface WanEndpoint {
  /** An address, without brackets, or a name. */
  readonly host: string;
  readonly port: number;
  /** First segment of the target's paths; undefined if it equals that of this member. */
  readonly segment: string | undefined;
  readonly tls: boolean;
}

/** Settings of a map, or of the maps of a pattern. */
export interface MapWan {
  readonly ref: WanReplicationRef | undefined;
  /** Whether the number of reads of an entry and the time of the last read are recorded. */
  readonly perEntryStatsEnabled: boolean;
  readonly merkleTree: {
    /** Undefined: on if a publisher of the replication of the map has MERKLE_TREES. */
    readonly enabled: boolean | undefined;
    readonly depth: number;
  };
}

/** The replication that receives the changes of a map. */
export interface WanReplicationRef {
  readonly name: string;
  readonly mergePolicy: MapRows['mergePolicy']['fallback'];
  /** Whether changes received from other clusters are sent on. */
  readonly republishingEnabled: boolean;
  /** Patterns of the keys whose changes are not sent; `*` matches any text. */
  readonly filters: readonly string[];
}

/** The part of a configuration for WAN replication. */
export interface WanConfig {
  /** By name. */
  readonly wanReplications: ReadonlyMap<string, WanReplication>;
  /**
   * By a map's name or pattern. A configured name (in `mapTimeToLiveSeconds`) without an entry has
   * none of these settings, even if a pattern matches it.
   */
  readonly mapWan: ReadonlyMap<string, MapWan>;
  /**
   * TLS towards targets, by the name of an endpoint configuration; '' is that of one without a
   * name, or else of the member itself. Undefined for connections without TLS.
   */
  readonly wanEndpoints: ReadonlyMap<string, TlsFiles | undefined>;
}

/** The places of these parts in a file, for messages. */
export const WAN_PLACES: Readonly<Record<keyof WanConfig, string>> = {
  wanReplications: 'wan-replication',
  mapWan: 'map.{name} for WAN replication',
  wanEndpoints: 'advanced-network.wan-endpoint-config',
};

export const NO_WAN: WanConfig = {
  wanReplications: new Map(),
  mapWan: new Map(),
  wanEndpoints: new Map(),
};
