/** The contract of what tells the topology: one look, and what it has found. Types alone. */
import type { EngineUrl } from '../../base/engine-url.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import type { ConnectionOptions } from './redis-connection.ts';
import type { Trial } from './rights.ts';

/** A run of slots with one primary. */
export interface SlotRange {
  readonly first: number;
  /** The last of them, not the one behind it. */
  readonly last: number;
  readonly primary: ServerAddress;
}

export interface Topology {
  readonly ranges: readonly SlotRange[];
  /** Every slot is served; otherwise it is worth asking again soon. */
  readonly isWhole: boolean;
}

export interface TopologySource {
  /** Replicas that must have a change where no setting says so. */
  readonly usualReplicaCount: number;
  /**
   * Asks servers until one tells the topology. One look at a time. Rejects where none does; with
   * StoreUnusable where asking again does not help.
   */
  look(): Promise<Topology>;
  /** Commands that this kind of servers needs, beside those of the engine. */
  readonly trials: readonly Trial[];
  /** Rejects with StoreUnusable if the user lacks rights on a server that has no data. */
  assertPermitted(): Promise<void>;
  /** See Servers. */
  agreesOn(primary: ServerAddress): Promise<boolean>;
  end(): void;
}

export interface TopologyOptions {
  readonly url: EngineUrl;
  /** To every server, found ones included; its deadline is how long one look waits for one of them. */
  readonly connection: ConnectionOptions;
  /** The topology has changed: it is worth a look. */
  onChange(): void;
  /** A server was asked and could not tell. */
  onLost(address: ServerAddress, reason: Error): void;
}
