/** The servers of the store, as the dispatcher sees them. */
import { GridError } from '../../base/errors.ts';
import type { ServerAddress } from '../../base/server-address.ts';
import type { Primary } from './primary.ts';

/** The store cannot be used as it is, or as the settings are; trying again does not help. */
export class StoreUnusable extends GridError<'ENGINE_UNUSABLE'> {
  /** `reason`: a sentence without a final period. */
  constructor(reason: string) {
    super('ENGINE_UNUSABLE', { reason });
  }
}

export interface Servers {
  /** The primary of the slot; undefined where it is not known. */
  primaryOf(slot: number): Primary | undefined;
  /** The server at the address, connected to when first asked for. */
  at(address: ServerAddress): Primary;
  /** All primaries that are known. */
  readonly primaries: Iterable<Primary>;
  /** Since when no server could be asked for the primaries, on the clock's `now`; undefined while one can. */
  readonly awaySince: number | undefined;
  /** Replicas that must have a change where no setting says so; known once open. */
  readonly usualReplicaCount: number;
  /**
   * Whether the server is the present primary of its slots, as far as this is known without its replicas:
   * a majority of the Sentinels must name it. A server of a Cluster that is cut off stops taking changes
   * by itself. Resolves within the time that a server has for an answer.
   */
  agreeOn(primary: ServerAddress): Promise<boolean>;
  /** A server has told that this one is the primary of the slot now. */
  onMoved(slot: number, address: ServerAddress): void;
  /** Something has changed: asks for the primaries soon. */
  look(): void;
  /**
   * Resolves once the primaries are known and connected; tries until then. Rejects with StoreUnusable,
   * or with another error where it is closed meanwhile.
   */
  open(): Promise<void>;
  /**
   * Looks at each primary's settings and replicas: resolves with what is missing, a sentence each.
   * `replicaCount`: the most replicas that a change needs. Rejects with StoreUnusable.
   */
  inspect(replicaCount: number): Promise<readonly string[]>;
  /** Ends all connections. */
  close(): void;
}

export interface ServersObserver {
  /** A connection is ready, or the primary of a slot is another one. */
  onReady(): void;
  /** A server was lost or could not be reached, or is not what it should be. */
  onLost(address: ServerAddress, reason: Error): void;
  /** The server may drop data by this policy; again every minute. */
  onEviction(address: ServerAddress, policy: string): void;
  /** A server has told its time, asked at `askedAt` on the clock's `now`. */
  onTime(serverMs: number, askedAt: number): void;
}
