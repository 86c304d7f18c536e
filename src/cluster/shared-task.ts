/**
 * A synchronisation or check of WAN replication as the record of a cluster of several members stores it
 * (shared-record.ts): each member processes some partitions and notes those that are done. The code is
 * in ../wan/shared-tasks.ts.
 */

/** Totals of the done partitions of a task. */
export interface TaskFigures {
  /** Synchronisation: entries that the target did not take. */
  readonly notTaken: number;
  /** Check: leaves that differ, entries in them, and partitions with such leaves. */
  readonly differentLeaves: number;
  readonly entriesToSync: number;
  readonly differentPartitions: number;
}

export interface SharedTask {
  readonly uuid: string;
  readonly replication: string;
  readonly publisherId: string;
  /** In ms since 1970. */
  readonly creationMs: number;
  /** A check: depth of the map's hash trees. */
  readonly treeDepth?: number;
  readonly stage: 'STARTED' | 'IN_PROGRESS' | 'FINISHED' | 'FAILED';
  readonly partitionCount: number;
  readonly doneCount: number;
  readonly figures: TaskFigures;
  /** Reason of FAILED. */
  readonly message?: string;
  /** A check that has finished: the SHA-256 of the map's name, in Base64. */
  readonly checkedMap?: string;
  /** Undefined once the task has ended. */
  readonly work?: TaskWork | undefined;
}

/** The fields that only a task in progress has. */
export interface TaskWork {
  /** Name of the map, in Base64; undefined for every map that refers to the replication. */
  readonly map?: string;
  /** The partitions that are done: a bit for each, in Base64. */
  readonly done: string;
  /** A number that rises while the target acknowledges anything. */
  readonly advances: number;
  /** The target, once a member has reached it. */
  readonly target?: {
    /** Id of its data set, in hexadecimal, which must not change. */
    readonly dataSet: string;
    /** The version at which the task began, later than everything the target had then: low, high. */
    readonly began: readonly [number, number];
  };
}
