/**
 * What the calls of WAN replication use: publishers by name, what they tell of themselves, and the
 * receiving of messages of other members. WanReplications implements it.
 */
import type { GridError } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import type { PublisherState, WanPublisherOptions } from './publisher-options.ts';

export interface WanService {
  /**
   * The publisher of these names, exactly. An empty id is the only publisher of the replication. Throws
   * GridError: WAN_UNKNOWN, or WAN_AMBIGUOUS where the empty id may be several.
   */
  publisherOf(replication: string, publisherId: string): WanPublisherControl;
  /** Every publisher, those of the configuration first, then in the order added. */
  publishers(): readonly PublisherStatus[];
  /**
   * Adds the publishers whose ids the replication does not have yet; a replication may be new. All or
   * nothing: throws GridError WAN_PUBLISHERS_MAX. Each id comes once.
   */
  add(replication: string, publishers: readonly WanPublisherOptions[]): AddedPublishers;
  /**
   * Begins to send a map, or where none is given all that refer to the replication, to the publisher's
   * target. Returns the uuid of the synchronisation. Throws GridError: as publisherOf, WAN_MAP_UNKNOWN, or
   * WAN_TASK_UNDER_WAY.
   */
  synchronise(replication: string, publisherId: string, map: Buffer | undefined): string;
  /** Begins to compare a map with that of the target; the same, or GridError WAN_CHECK_OFF. */
  check(replication: string, publisherId: string, map: Buffer): string;
  /** Of a synchronisation or a check; undefined for a uuid that is not known (any more). */
  progressOf(uuid: string): TaskStatus | undefined;
  /**
   * Takes a message of another member; its bytes are read during the call alone. Never rejects: what is
   * wrong with the message is the `error` of the answer.
   */
  receive(message: Span): Promise<ReceiveAnswer>;
}

/** The effects last until the end of the process. Each may be called in any state, and repeated. */
export interface WanPublisherControl {
  /** New events are queued, none are sent. What is under way may still arrive. */
  pause(): void;
  /** New events are queued and sent. */
  resume(): void;
  /** New events are dropped; those that wait stay. */
  stop(): void;
  /** Drops all events that wait. What is under way may still arrive. */
  clear(): void;
}

/** The fields of an element of `publishers`, in that order. */
export interface PublisherStatus {
  readonly wanReplicationName: string;
  readonly wanPublisherId: string;
  readonly clusterName: string;
  readonly state: PublisherState;
  /** Events that are not acknowledged, and their bytes. */
  readonly queueSize: number;
  readonly queueCapacity: number;
  readonly queueBytes: number;
  /** Acknowledged since the start. */
  readonly eventsSent: number;
  /** Not queued since the start, because the queue was full. */
  readonly eventsDropped: number;
  /** Skipped since the start, because the target can never take them. */
  readonly eventsRejected: number;
  /** Age of the oldest event that waits; 0 without one. */
  readonly lagMillis: number;
  /** Null again after the next success. */
  readonly lastError: string | null;
}

/**
 * STARTED until the target has acknowledged something, or nothing is to be done; then IN_PROGRESS, then one
 * of the others.
 */
export type TaskStage = 'STARTED' | 'IN_PROGRESS' | 'FINISHED' | 'FAILED';

/** The fields of the progress of a synchronisation or, with figures, a check, in that order. */
export interface TaskStatus extends Partial<ComparisonFigures> {
  readonly stage: TaskStage;
  /** Never falls; 100 only with FINISHED. */
  readonly progress: number;
  readonly wanReplicationName: string;
  readonly wanPublisherId: string;
  /** Milliseconds since 1970. */
  readonly creationTime: number;
  /** Of a synchronisation: entries that the target did not take, as its policy kept its own. */
  readonly entriesNotTaken?: number;
  /** Why it is FAILED. */
  readonly message?: string;
}

/** What a check has found; -1 each until it has ended. */
export interface ComparisonFigures {
  readonly checkedPartitions: number;
  readonly differentPartitions: number;
  readonly checkedLeaves: number;
  readonly differentLeaves: number;
  /** The source's entries in leaves that differ. */
  readonly entriesToSync: number;
}

export interface AddedPublishers {
  readonly added: readonly string[];
  readonly ignored: readonly string[];
}

/** An answer to a message of another member. */
export type ReceiveAnswer =
  | { readonly error: GridError }
  | {
      readonly error?: undefined;
      readonly status: 200;
      /** `application/octet-stream`. */
      readonly body: Buffer;
      /**
       * What the answer depends on, as of a clear's answer: EVERY_PARTITION or NO_PARTITION (engine.ts).
       * It must not leave before a client's answer that depends on the same may.
       */
      readonly partition: -1 | -2;
    };
