/**
 * The results of WAN replication for its calls: the status of publishers, of synchronisations and
 * of checks, and the response to a message.
 */
import type { GridError } from '../base/errors.ts';
import type { PublisherState } from './wan-config.ts';

/** The fields of an element of `publishers`, in that order. */
export interface PublisherStatus {
  readonly wanReplicationName: string;
  readonly wanPublisherId: string;
  readonly clusterName: string;
  readonly state: PublisherState;
  /**
   * Unacknowledged events, and their bytes. On servers: keys that wait in the partitions that this
   * member sends for, and -1.
   */
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
  /** Number of leaves in the compared partitions. */
  readonly checkedLeaves: number;
  readonly differentLeaves: number;
  /** Number of the source's entries in leaves that differ. */
  readonly entriesToSync: number;
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
