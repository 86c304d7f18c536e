/**
 * The synchronisations and checks of a cluster on servers, in the record that its members share: at
 * most one is in progress, and the last ones are kept. Any member begins one, notes the partitions that
 * it has done, and reports the progress. The note that makes the partitions complete ends the task.
 * Tested by server-tasks.spec.ts.
 */
import { createHash, randomUUID } from 'node:crypto';
import { GridError } from '../base/errors.ts';
import { changeRecord, type SharedRecord, type SharedValues } from '../cluster/shared-record.ts';
import type { SharedTask, TaskFigures, TaskWork } from '../cluster/shared-task.ts';
import { TASKS_MAX, taskUnderWay } from './task-conditions.ts';
import type { TaskStatus } from './wan-status.ts';
import { figuresOf, statusOf } from './wan-task.ts';

/** Maximum number of characters of a reason. */
const MESSAGE_LENGTH_MAX = 1000;

const NO_FIGURES: TaskFigures = {
  notTaken: 0,
  differentLeaves: 0,
  entriesToSync: 0,
  differentPartitions: 0,
};

/** A task in progress. */
export type RunningTask = SharedTask & { readonly work: TaskWork };

/** The parts of a task that begins. */
interface NewTask {
  readonly replication: string;
  readonly publisherId: string;
  readonly creationMs: number;
  readonly map: Buffer | undefined;
  /** A check: depth of the hash trees. */
  readonly treeDepth?: number;
}

/** The figures of a partition that is done. */
export type PartitionFigures = Omit<TaskFigures, 'differentPartitions'>;

export class SharedTasks {
  readonly #record: SharedRecord;
  readonly #partitionCount: number;

  constructor(record: SharedRecord, partitionCount: number) {
    this.#record = record;
    this.#partitionCount = partitionCount;
  }

  /** The task in progress. */
  get current(): RunningTask | undefined {
    return currentOf(this.#record.values);
  }

  /** Returns undefined if the uuid is not remembered. */
  statusOf(uuid: string): TaskStatus | undefined {
    const task = this.#record.values.wanTasks?.find((each) => each.uuid === uuid);
    if (task === undefined) return undefined;
    const { stage, doneCount, figures, treeDepth, partitionCount, message } = task;
    const { notTaken, ...different } = figures;
    if (treeDepth === undefined) {
      return statusOf(task, stage, doneCount, { entriesNotTaken: notTaken }, message);
    }
    const checkedLeaves = partitionCount * 2 ** (treeDepth - 1);
    const found = { checkedPartitions: partitionCount, checkedLeaves, ...different };
    const reported = figuresOf(stage === 'FINISHED' ? found : undefined);
    return statusOf(task, stage, doneCount, reported, message);
  }

  /**
   * Begins a task. Resolves with its uuid, or rejects with GridError WAN_TASK_UNDER_WAY or
   * WAN_TASK_NOT_KEPT.
   */
  async begin(action: string, { map, ...parts }: NewTask): Promise<string> {
    const partitionCount = this.#partitionCount;
    const task: SharedTask = {
      uuid: randomUUID(),
      ...parts,
      stage: 'STARTED',
      partitionCount,
      doneCount: 0,
      figures: NO_FIGURES,
      work: {
        ...(map === undefined ? {} : { map: map.toString('base64') }),
        done: Buffer.alloc(Math.ceil(partitionCount / 8)).toString('base64'),
        advances: 0,
      },
    };
    await changeRecord(
      this.#record,
      (values) => {
        const current = currentOf(values);
        if (current !== undefined) {
          const { uuid, treeDepth } = current;
          throw taskUnderWay(action, { uuid, isCheck: treeDepth !== undefined });
        }
        return { wanTasks: [...(values.wanTasks ?? []), task].slice(-TASKS_MAX) };
      },
      (reason, options) => new GridError('WAN_TASK_NOT_KEPT', { action, reason }, options),
    );
    return task.uuid;
  }

  /** Sets the target of the task unless it has one. */
  async setTarget(uuid: string, target: TaskWork['target'] & object): Promise<void> {
    await this.#change(uuid, (task) => {
      if (task.work.target !== undefined) return undefined;
      return { ...task, work: { ...task.work, target } };
    });
  }

  /**
   * Notes partitions that are done, each once, and that the target has acknowledged something. Resolves
   * with the task if this ended it.
   */
  async note(
    uuid: string,
    done: ReadonlyMap<number, PartitionFigures>,
  ): Promise<SharedTask | undefined> {
    return await this.#change(uuid, (task) => {
      const bits = Buffer.from(task.work.done, 'base64');
      let { figures, doneCount } = task;
      for (const [partition, found] of done) {
        if (isSet(bits, partition)) continue;
        bits[partition >>> 3]! |= 1 << (partition & 7);
        figures = sumOf(figures, found);
        doneCount++;
      }
      const advances = task.work.advances + 1;
      const work = { ...task.work, done: bits.toString('base64'), advances };
      const next: RunningTask = { ...task, stage: 'IN_PROGRESS', doneCount, figures, work };
      return doneCount < task.partitionCount ? next : endedTask(next, 'FINISHED');
    });
  }

  /** Ends the task. Resolves with it if this ended it. */
  async fail(uuid: string, reason: string): Promise<SharedTask | undefined> {
    return await this.#change(uuid, (task) => {
      return { ...endedTask(task, 'FAILED'), message: reason.slice(0, MESSAGE_LENGTH_MAX) };
    });
  }

  /** Resolves with a number that no earlier walk over partitions has. */
  async nextWalk(): Promise<number> {
    let walk = 0;
    await changeRecord(
      this.#record,
      ({ wanWalks = 0 }) => {
        walk = wanWalks + 1;
        return { wanWalks: walk };
      },
      notKept,
    );
    return walk;
  }

  /** Returns whether a check of the publisher's map that is remembered has finished. */
  isChecked({ replication, publisherId }: SharedTask, map: Buffer): boolean {
    const hash = hashOf(map);
    const { wanTasks = [] } = this.#record.values;
    return wanTasks.some(
      (task) =>
        task.checkedMap === hash &&
        task.replication === replication &&
        task.publisherId === publisherId,
    );
  }

  /** Returns the partitions of the task that are not noted. */
  leftOf({ work }: RunningTask, partitions: readonly number[]): number[] {
    const bits = Buffer.from(work.done, 'base64');
    return partitions.filter((partition) => !isSet(bits, partition));
  }

  /** Changes the task while it is in progress. Resolves with it if this ended it. */
  async #change(
    uuid: string,
    changeOf: (task: RunningTask) => SharedTask | undefined,
  ): Promise<SharedTask | undefined> {
    let changed: SharedTask | undefined;
    await changeRecord(
      this.#record,
      (values) => {
        const task = currentOf(values);
        changed = task?.uuid === uuid ? changeOf(task) : undefined;
        const next = changed;
        if (next === undefined) return undefined;
        return { wanTasks: values.wanTasks!.map((each) => (each.uuid === uuid ? next : each)) };
      },
      notKept,
    );
    return changed?.work === undefined ? changed : undefined;
  }
}

function notKept(reason: string, options: ErrorOptions): GridError {
  return new GridError('WAN_TASK_NOT_KEPT', { action: 'note the progress', reason }, options);
}

function currentOf({ wanTasks = [] }: SharedValues): RunningTask | undefined {
  return wanTasks.find((task): task is RunningTask => task.work !== undefined);
}

function endedTask(task: RunningTask, stage: 'FINISHED' | 'FAILED'): SharedTask {
  const { work, ...ended } = task;
  const isChecked = task.treeDepth !== undefined && stage === 'FINISHED';
  const map = Buffer.from(work.map ?? '', 'base64');
  return { ...ended, stage, ...(isChecked ? { checkedMap: hashOf(map) } : {}) };
}

/** Returns the hash by which a finished check names its map. */
function hashOf(map: Buffer): string {
  return createHash('sha256').update(map).digest('base64');
}

function isSet(bits: Buffer, index: number): boolean {
  return (bits[index >>> 3]! & (1 << (index & 7))) !== 0;
}

function sumOf(figures: TaskFigures, found: PartitionFigures): TaskFigures {
  return {
    notTaken: figures.notTaken + found.notTaken,
    differentLeaves: figures.differentLeaves + found.differentLeaves,
    entriesToSync: figures.entriesToSync + found.entriesToSync,
    differentPartitions: figures.differentPartitions + Math.sign(found.differentLeaves),
  };
}
