/**
 * The interface of WAN replication for its calls: publishers by name with their status, and the
 * receipt of messages from other members. WanReplications implements it.
 */
import type { GridError } from '../base/errors.ts';
import type { Span } from '../base/span.ts';
import type { PublisherState, WanPublisherOptions } from './publisher-options.ts';

export interface WanService {
  /**
   * Returns the publisher with exactly these names. An empty id stands for the only publisher of
   * the replication. Throws GridError: WAN_UNKNOWN, or WAN_AMBIGUOUS if several publishers match an
   * empty id.
   */
  publisherOf(replication: string, publisherId: string): WanPublisherControl;
  /** Returns every publisher: those of the configuration first, then in the order added. */
  publishers(): readonly PublisherStatus[];
  /**
   * Adds the publishers whose ids the replication does not have yet; the replication may be new.
   * Adds all or none: throws GridError WAN_PUBLISHERS_MAX. Ids are unique.
   */
  add(replication: string, publishers: readonly WanPublisherOptions[]): AddedPublishers;
  /**
   * Begins to send a map, or all maps that refer to the replication, to the publisher's target.
   * Returns the uuid of the synchronisation. Throws GridError: like publisherOf, WAN_MAP_UNKNOWN,
   * or WAN_TASK_UNDER_WAY.
   */
  synchronise(replication: string, publisherId: string, map: Buffer | undefined): string;
  /** Begins to compare a map with the target's. Like `synchronise`, or throws WAN_CHECK_OFF. */
  check(replication: string, publisherId: string, map: Buffer): string;
  /** Returns the status of a synchronisation or check; undefined if the uuid is not remembered. */
  progressOf(uuid: string): TaskStatus | undefined;
  /**
   * Processes a message of another member, whose bytes are only read during the call. Never
   * rejects: a fault of the message is the `error` of the result.
   */
  receive(message: Span): Promise<ReceiveResult>;
}

/** Controls a publisher until the process ends. Each call is allowed in any state, repeatedly. */
export interface WanPublisherControl {
  /** Queues new events without sending any. Batches in flight may still arrive. */
  pause(): void;
  /** Queues and sends new events. */
  resume(): void;
  /** Drops new events; waiting ones remain. */
  stop(): void;
  /** Drops all waiting events. Batches in flight may still arrive. */
  clear(): void;
}

/** The fields of an element of `publishers`, in that order. */
export interface PublisherStatus {
  readonly wanReplicationName: string;
  readonly wanPublisherId: string;
  readonly clusterName: string;
  readonly state: PublisherState;
  /** Unacknowledged events, and their bytes. */
  readonly queueSize: number;
  readonly queueCapacity: number;
  readonly queueBytes: number;
  /** Events acknowledged since the start. */
  readonly eventsSent: number;
  /** Events not queued since the start because the queue was full. */
  readonly eventsDropped: number;
  /** Events skipped since the start because the target can never accept them. */
  readonly eventsRejected: number;
  /** Age of the oldest waiting event in ms; 0 if there is none. */
  readonly lagMillis: number;
  /** Null again after the next success. */
  readonly lastError: string | null;
}

/**
 * STARTED until the target has acknowledged something or there is nothing to do; then IN_PROGRESS,
 * then FINISHED or FAILED.
 */
export type TaskStage = 'STARTED' | 'IN_PROGRESS' | 'FINISHED' | 'FAILED';

/** The progress of a synchronisation or, with figures, of a check; fields in this order. */
export interface TaskStatus extends Partial<ComparisonFigures> {
  readonly stage: TaskStage;
  /** Never decreases; 100 only with FINISHED. */
  readonly progress: number;
  readonly wanReplicationName: string;
  readonly wanPublisherId: string;
  /** In ms since 1970. */
  readonly creationTime: number;
  /** Synchronisation: number of entries not taken by the target because its policy kept its own. */
  readonly entriesNotTaken?: number;
  /** Reason of FAILED. */
  readonly message?: string;
}

/** The result of a check; -1 each until it has ended. */
export interface ComparisonFigures {
  readonly checkedPartitions: number;
  readonly differentPartitions: number;
  readonly checkedLeaves: number;
  readonly differentLeaves: number;
  /** Number of the source's entries in leaves that differ. */
  readonly entriesToSync: number;
}

export interface AddedPublishers {
  readonly added: readonly string[];
  readonly ignored: readonly string[];
}

/** The result of a message of another member. */
export type ReceiveResult =
  | { readonly error: GridError }
  | {
      readonly error?: undefined;
      readonly status: 200;
      /** `application/octet-stream`. */
      readonly body: Buffer;
      /**
       * The partition that the response depends on: EVERY_PARTITION or NO_PARTITION (engine.ts). It
       * must not be sent before a client's response that depends on the same.
       */
      readonly partition: -1 | -2;
    };
