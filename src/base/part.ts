/**
 * A part of a member: an HTTP server, the engine, persistence, WAN replication. The member makes its
 * parts in a list (member/parts.ts). A start goes through the list once for each phase, in the order
 * below; a stop goes through it backwards. Each method is optional. Tested by member/life.spec.ts.
 */
import type { Figures } from './figures.ts';

/** `Config`: the settings that the part reads. */
export interface Part<Config> {
  /**
   * Checks a change of the configuration in force and changes nothing. Rejects with GridError if
   * the change is not possible. The function that it resolves with makes the change and cannot
   * fail. `rereads`: files that the settings name are read again, even if their names are the same.
   */
  change?(config: Config, rereads: boolean): Promise<() => void>;
  /** Binds ports. From here on requests get 503, and health answers. */
  listen?(): Promise<void>;
  /** Restores what was stored besides data: uuid, cluster record, added configuration, publishers. */
  restore?(): Promise<void>;
  /** Recovers the data, then the queues of WAN publishers. */
  recover?(): Promise<void>;
  /** Opens the engine and joins the cluster. From here on the member serves. */
  enter?(): Promise<void>;
  /** Stops accepting work and ends the work accepted. All parts begin in one turn. */
  drain?(): Promise<void>;
  /** Reports the part's metrics. Called in any state; metrics that do not exist yet are left out. */
  figures?(to: Figures): void;
  /** Releases everything. Also called after a phase of a start has failed, in any state. */
  close?(): Promise<void>;
}
