/** The status of a synchronisation or check. Tested by check.spec.ts. */
import { randomUUID } from 'node:crypto';
import type { Differences } from './tree-comparison.ts';
import type { ComparisonFigures, TaskStage, TaskStatus } from './wan-status.ts';

interface TaskParts {
  readonly isCheck: boolean;
  readonly replication: string;
  readonly publisherId: string;
  readonly creationMs: number;
  /** Number of partitions to process. */
  readonly partitionCount: number;
}

export class WanTask {
  readonly uuid = randomUUID();
  readonly isCheck: boolean;
  readonly #parts: TaskParts;
  #stage: TaskStage = 'STARTED';
  #doneCount = 0;
  #differences: Differences | undefined;
  #message: string | undefined;
  /** Number of entries of a synchronisation that the target did not take. */
  notTakenCount = 0;

  constructor(parts: TaskParts) {
    this.#parts = parts;
    this.isCheck = parts.isCheck;
  }

  get hasEnded(): boolean {
    return this.#stage === 'FINISHED' || this.#stage === 'FAILED';
  }

  get status(): TaskStatus {
    const figures = this.isCheck
      ? figuresOf(this.#differences)
      : { entriesNotTaken: this.notTakenCount };
    return statusOf(this.#parts, this.#stage, this.#doneCount, figures, this.#message);
  }

  /** Called when something was acknowledged, or if there is nothing to do. */
  begin(): void {
    if (!this.hasEnded) this.#stage = 'IN_PROGRESS';
  }

  /** Called with the number of partitions done so far. */
  advance(doneCount: number): void {
    if (this.hasEnded) return;
    this.#stage = 'IN_PROGRESS';
    this.#doneCount = Math.max(this.#doneCount, doneCount);
  }

  finish(differences: Differences | undefined): void {
    this.#differences = differences;
    this.#stage = 'FINISHED';
  }

  fail(message: string): void {
    this.#message = message;
    this.#stage = 'FAILED';
  }
}

/** Returns the status of a task with that many partitions done. */
export function statusOf(
  { replication, publisherId, creationMs, partitionCount }: Omit<TaskParts, 'isCheck'>,
  stage: TaskStage,
  doneCount: number,
  figures: Partial<TaskStatus>,
  message: string | undefined,
): TaskStatus {
  const share = Math.floor((100 * doneCount) / partitionCount);
  return {
    stage,
    // 100 is only reported with FINISHED.
    progress: stage === 'FINISHED' ? 100 : Math.min(99, share),
    wanReplicationName: replication,
    wanPublisherId: publisherId,
    creationTime: creationMs,
    ...figures,
    ...(message === undefined ? {} : { message }),
  };
}

/** Returns the figures; -1 each until the check has ended. */
export function figuresOf(found: ComparisonFigures | undefined): ComparisonFigures {
  return {
    checkedPartitions: found?.checkedPartitions ?? -1,
    differentPartitions: found?.differentPartitions ?? -1,
    checkedLeaves: found?.checkedLeaves ?? -1,
    differentLeaves: found?.differentLeaves ?? -1,
    entriesToSync: found?.entriesToSync ?? -1,
  };
}
