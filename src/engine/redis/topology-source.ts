/** Types of the sources of the topology and of what they return. */
import type { EngineUrl } from '../../base/engine-url.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import type { ConnectionOptions } from './redis-connection.ts';
import type { Trial } from './rights.ts';

/** A range of slots with one primary. */
export interface SlotRange {
  readonly first: number;
  /** The last slot, inclusive. */
  readonly last: number;
  readonly primary: ServerAddress;
}

export interface Topology {
  readonly ranges: readonly SlotRange[];
  /** Whether every slot is served; otherwise it should be read again soon. */
  readonly isWhole: boolean;
}

export interface TopologySource {
  /** Replicas that must have a change if no setting specifies the number. */
  readonly usualReplicaCount: number;
  /**
   * Asks servers until one reports the topology. Not called concurrently. Rejects if none does;
   * with StoreUnusable if asking again does not help.
   */
  lookUp(): Promise<Topology>;
  /** Commands that this kind of servers needs, besides those of the engine. */
  readonly trials: readonly Trial[];
  /** Rejects with StoreUnusable if the user lacks rights on a server without data. */
  assertPermitted(): Promise<void>;
  /** See Servers.agreeOn. */
  agreesOn(primary: ServerAddress): Promise<boolean>;
  end(): void;
}

export interface TopologyOptions {
  readonly url: EngineUrl;
  /**
   * For connections to all servers, discovered ones included; its deadline limits the wait for one
   * server in a lookup.
   */
  readonly connection: ConnectionOptions;
  /** Called when the topology may have changed. */
  onChange(): void;
  /** Called when a server could not be asked or could not report the topology. */
  onLost(address: ServerAddress, reason: Error): void;
}
