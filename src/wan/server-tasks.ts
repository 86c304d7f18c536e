/**
 * The synchronisations and checks of a cluster on servers, as one member takes part in them
 * (task-run.ts). They are in the record that the members share, so any member reports their progress.
 * The member that joined first ends one with which nothing advances for the response timeout.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import type { SharedRecord } from '../cluster/shared-record.ts';
import type { SharedTask } from '../cluster/shared-task.ts';
import type { PartitionEntries } from '../engine/partition-entries.ts';
import type { Version } from '../engine/version.ts';
import type { Sender } from './batch.ts';
import { TREE_DEPTH_MAX } from './partition-tree.ts';
import type { ServerPublisher } from './server-publisher.ts';
import { type RunningTask, SharedTasks } from './shared-tasks.ts';
import { checkComparable, checkMap, logFinished } from './task-conditions.ts';
import { TaskRun } from './task-run.ts';
import type { WanLog } from './wan-engine.ts';
import type { MapTree, NamedMapRef } from './wan-maps.ts';
import type { TaskStatus } from './wan-status.ts';

/** Maximum interval between two looks at a task in progress, in ms. */
const WATCH_MS = 500;
/** Time in which a member that lives learns of a task, in ms. */
const KNOWN_MS = 2000;

interface ServerTasksParts {
  readonly record: SharedRecord;
  readonly entries: PartitionEntries;
  readonly clock: Clock;
  readonly log: WanLog;
  /** Sets the version to the latest one. */
  readonly now: (version: Version) => void;
  readonly refOf: (map: Buffer) => NamedMapRef | undefined;
  readonly treeOf: (map: Buffer) => MapTree;
  readonly sender: Sender;
  /** Returns the publisher with exactly these names. */
  readonly publisherOf: (replication: string, id: string) => ServerPublisher | undefined;
  /** Whether this member is the one that joined first. */
  readonly isOldest: () => boolean;
}

export class ServerTasks {
  readonly #parts: ServerTasksParts;
  readonly #tasks: SharedTasks;
  readonly #longValues = new SerialQueue();
  #own: readonly number[] = [];
  #run: TaskRun | undefined;
  #timer: Timer | undefined;
  /** The progress of the task when it was looked at last, and the time since which it is that. */
  #progress = '';
  #progressMs = 0;
  #hasBegun = false;
  #isClosed = false;

  constructor(parts: ServerTasksParts) {
    this.#parts = parts;
    this.#tasks = new SharedTasks(parts.record, parts.entries.partitionCount);
    parts.record.onChange(() => {
      this.#review();
      return undefined;
    });
  }

  /** Begins to take part in tasks. */
  begin(): void {
    this.#hasBegun = true;
    this.#review();
  }

  /** Sets the partitions that this member sends for. */
  setPartitions(own: readonly number[]): void {
    this.#own = own;
    this.#run?.setPartitions(own);
  }

  /**
   * Begins to send a map, or all that refer to the replication. Resolves with the uuid. Rejects with
   * GridError WAN_MAP_UNKNOWN, WAN_TASK_UNDER_WAY or WAN_TASK_NOT_KEPT.
   */
  async synchronise(publisher: ServerPublisher, map: Buffer | undefined): Promise<string> {
    const { replication, id: publisherId } = publisher;
    const action = 'synchronise';
    if (map !== undefined) checkMap(publisher, map, action, this.#refOf(publisher, map));
    const creationMs = Math.floor(this.#parts.clock.wall());
    const task = { replication, publisherId, creationMs, map };
    return await this.#known(await this.#tasks.begin(action, task));
  }

  /**
   * Begins to compare a map. Like `synchronise`, or rejects with GridError WAN_CHECK_OFF.
   */
  async check(publisher: ServerPublisher, map: Buffer): Promise<string> {
    const { clock, treeOf } = this.#parts;
    const { replication, id: publisherId } = publisher;
    const action = 'check';
    checkMap(publisher, map, action, this.#refOf(publisher, map));
    const tree = treeOf(map);
    checkComparable(publisher, map, tree);
    const treeDepth = Math.min(tree.depth, TREE_DEPTH_MAX);
    const creationMs = Math.floor(clock.wall());
    const task = { replication, publisherId, creationMs, map, treeDepth };
    return await this.#known(await this.#tasks.begin(action, task));
  }

  statusOf(uuid: string): TaskStatus | undefined {
    return this.#tasks.statusOf(uuid);
  }

  /** Ends the task of a publisher that is removed. */
  drop(publisher: ServerPublisher): void {
    if (this.#run?.publisher === publisher) this.#endRun();
    const task = this.#tasks.current;
    if (task?.replication !== publisher.replication || task.publisherId !== publisher.id) return;
    void this.#fail(task, 'its publisher was removed');
  }

  /** Ends this member's part; other members go on. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#endRun();
  }

  /** Resolves with the uuid once the other members know the task, so that they report its progress. */
  async #known(uuid: string): Promise<string> {
    const { record, clock } = this.#parts;
    await new Promise<void>((resolve) => {
      const timer = clock.after(KNOWN_MS, resolve);
      void record.allConfirmed().then(() => {
        timer.cancel();
        resolve();
      });
    });
    return uuid;
  }

  #refOf({ replication }: ServerPublisher, map: Buffer): NamedMapRef | undefined {
    const ref = this.#parts.refOf(map);
    return ref?.replication === replication ? ref : undefined;
  }

  /** Takes part in the task that is in progress. */
  #review(): void {
    if (!this.#hasBegun || this.#isClosed) return;
    const task = this.#tasks.current;
    if (this.#run !== undefined && this.#run.uuid !== task?.uuid) this.#endRun();
    if (task === undefined) return;
    this.#watch(task);
    const publisher = this.#publisherOf(task);
    if (this.#run !== undefined || publisher === undefined) return;
    const onEnded = (ended: SharedTask) => this.#logEnd(ended);
    const parts = { ...this.#parts, tasks: this.#tasks, longValues: this.#longValues };
    this.#run = new TaskRun({ ...parts, publisher, onEnded }, task.uuid, this.#own);
  }

  #publisherOf({ replication, publisherId }: RunningTask): ServerPublisher | undefined {
    return this.#parts.publisherOf(replication, publisherId);
  }

  #endRun(): void {
    this.#run?.stop();
    this.#run = undefined;
  }

  /** Looks at the progress of the task, and again until it has ended. */
  #watch(task: RunningTask): void {
    const { clock, isOldest } = this.#parts;
    const { uuid, doneCount, work } = task;
    const progress = `${uuid} ${doneCount} ${work.advances}`;
    if (progress !== this.#progress) {
      this.#progress = progress;
      this.#progressMs = clock.now();
    }
    const publisher = this.#publisherOf(task);
    const timeoutMs = publisher?.options.responseTimeoutMs ?? WATCH_MS;
    if (isOldest() && clock.now() - this.#progressMs >= timeoutMs) {
      const suffix = publisher?.sender.target.errorSuffix ?? '';
      void this.#fail(task, `nothing was acknowledged for ${timeoutMs} ms${suffix}`);
    }
    this.#timer?.cancel();
    this.#timer = clock.after(Math.min(WATCH_MS, timeoutMs / 4), () => this.#review());
  }

  async #fail({ uuid }: RunningTask, reason: string): Promise<void> {
    const ended = await this.#tasks.fail(uuid, reason).catch(() => undefined);
    if (ended !== undefined) this.#logEnd(ended);
  }

  #logEnd({ uuid, replication, publisherId, treeDepth, message, figures }: SharedTask): void {
    const { log } = this.#parts;
    const fields = { replication, publisher: publisherId, uuid };
    const what = `WAN ${treeDepth === undefined ? 'sync' : 'check'} ${uuid}`;
    if (message === undefined) logFinished(log, fields, what, figures.notTaken);
    else log.warn(fields, `${what} failed: ${message}`);
  }
}
