/** The servers of the store, as used by the dispatcher. Tested by store-checks.spec.ts. */
import { GridError } from '../../base/errors.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import type { Primary } from './primary.ts';

/**
 * The store cannot be used in its present state or with these settings; trying again does not help.
 */
export class StoreUnusable extends GridError<'ENGINE_UNUSABLE'> {
  /** `reason`: a sentence without a final period. */
  constructor(reason: string) {
    super('ENGINE_UNUSABLE', { reason });
  }
}

export interface Servers {
  /** Returns the primary of the slot; undefined if it is unknown. */
  primaryOf(slot: number): Primary | undefined;
  /** Returns the server at the address; connects to it if it is not connected. */
  at(address: ServerAddress): Primary;
  /** All primaries that are in use. */
  readonly primaries: Iterable<Primary>;
  /**
   * Time since which no server could report the primaries, by `clock.now()`; undefined while one
   * can.
   */
  readonly awaySince: number | undefined;
  /** Replicas that must have a change if no setting specifies the number; valid once open. */
  readonly usualReplicaCount: number;
  /**
   * Whether the server is the current primary of its slots, as far as this can be determined
   * without its replicas: a majority of the Sentinels must name it. A server of a Cluster that is
   * cut off stops accepting changes by itself. Resolves within the time in which a server must
   * reply.
   */
  agreeOn(primary: ServerAddress): Promise<boolean>;
  /** Called when a server has reported that `address` is now the primary of the slot. */
  onMoved(slot: number, address: ServerAddress): void;
  /** Reads the topology again soon. Called after anything that suggests a change. */
  lookUpSoon(): void;
  /**
   * Resolves once the primaries are found and connected; tries until then. Rejects with
   * StoreUnusable, or with another error if it is closed meanwhile.
   */
  open(): Promise<void>;
  /**
   * Checks each primary's settings and replicas; resolves with warnings, each a sentence.
   * `replicaCount`: the greatest number of replicas that a change needs. Rejects with
   * StoreUnusable.
   */
  inspect(replicaCount: number): Promise<readonly string[]>;
  /** Ends all connections. */
  close(): void;
}

export interface ServersObserver {
  /** Called when a connection is ready, or a slot has a new primary. */
  onReady(): void;
  /** Called when a server was lost, could not be reached, or is not what it should be. */
  onLost(address: ServerAddress, reason: Error): void;
  /** Called every minute while a server may drop data by this policy. */
  onEviction(address: ServerAddress, policy: string): void;
  /**
   * Called when a server has reported its time. `sentAt`: the time of the query, by `clock.now()`.
   */
  onTime(serverMs: number, sentAt: number): void;
}
