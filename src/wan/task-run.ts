/**
 * One member's part of a synchronisation of a cluster on servers: it walks the partitions that it sends
 * for, and notes those that are done in the record. When it gets further partitions, because another
 * member has left, it walks them from their beginning. Tested by server-tasks.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { reasonOf } from '../base/errors.ts';
import type { SerialQueue } from '../base/serial-queue.ts';
import type { SharedTask } from '../cluster/shared-task.ts';
import type { PartitionEntries } from '../engine/partition-entries.ts';
import { Version } from '../engine/version.ts';
import { NewDataSet, PartitionWalk } from './partition-walk.ts';
import type { ServerPublisher } from './server-publisher.ts';
import type { PartitionFigures, RunningTask, SharedTasks } from './shared-tasks.ts';
import type { NamedMapRef } from './wan-maps.ts';

/** Maximum interval between two notes, in ms. */
const NOTE_MS = 500;
/** Delay before the record or the target is tried again, in ms. */
const RETRY_MS = 500;
/** Maximum length of the names of all maps that a synchronisation sends, in bytes. */
const NAMES_BYTES_MAX = 8_388_608;
const NOTHING_FOUND: PartitionFigures = { notTaken: 0, differentLeaves: 0, entriesToSync: 0 };

interface RunParts {
  readonly tasks: SharedTasks;
  readonly entries: PartitionEntries;
  readonly clock: Clock;
  readonly publisher: ServerPublisher;
  /** Sets the version to the latest one. */
  readonly now: (version: Version) => void;
  readonly refOf: (map: Buffer) => NamedMapRef | undefined;
  readonly longValues: SerialQueue;
  /** Called with the task if this member has ended it. */
  readonly onEnded: (task: SharedTask) => void;
}

/** The target of a task as its walks use it. */
interface RunTarget {
  readonly dataSet: Buffer;
  readonly began: Version;
}

export class TaskRun {
  readonly uuid: string;
  readonly publisher: ServerPublisher;
  readonly #parts: RunParts;
  #own: readonly number[];
  /** Partitions that are done and not noted yet. */
  #done = new Map<number, PartitionFigures>();
  /** Those of which the note is being stored. */
  #noting: ReadonlyMap<number, PartitionFigures> = new Map();
  #hasAdvanced = false;
  #noteTimer: Timer | undefined;
  #isStopped = false;
  /** Ends the current wait. */
  #wake = (): void => {};

  constructor(parts: RunParts, uuid: string, own: readonly number[]) {
    this.#parts = parts;
    this.uuid = uuid;
    this.publisher = parts.publisher;
    this.#own = own;
    void this.#run();
  }

  /** Sets the partitions that this member sends for. */
  setPartitions(own: readonly number[]): void {
    this.#own = own;
    this.#wake();
  }

  /** Stops this member's part: nothing more is sent. */
  stop(): void {
    this.#isStopped = true;
    this.#noteTimer?.cancel();
    this.#wake();
  }

  #task(): RunningTask | undefined {
    const { current } = this.#parts.tasks;
    return !this.#isStopped && current?.uuid === this.uuid ? current : undefined;
  }

  async #run(): Promise<void> {
    for (let task = this.#task(); task !== undefined; task = this.#task()) {
      const left = this.#parts.tasks.leftOf(task, this.#own).filter((each) => !this.#hasDone(each));
      if (left.length === 0) {
        await this.#wait();
        continue;
      }
      try {
        await this.#process(task, left);
        if (left.some((partition) => !this.#hasDone(partition))) await this.#wait();
      } catch (error) {
        if (error instanceof NewDataSet) await this.#fail(NEW_DATA_SET);
        else if (error instanceof TooManyMaps) await this.#fail(reasonOf(error));
        await this.#wait();
      }
    }
  }

  #hasDone(partition: number): boolean {
    return this.#done.has(partition) || this.#noting.has(partition);
  }

  /** Waits until something has changed, or for RETRY_MS. */
  async #wait(): Promise<void> {
    if (this.#task() === undefined) return;
    await new Promise<void>((resolve) => {
      const timer = this.#parts.clock.after(RETRY_MS, resolve);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  async #process(task: RunningTask, left: readonly number[]): Promise<void> {
    const { tasks, publisher, refOf } = this.#parts;
    const { dataSet, began } = await this.#target(task);
    const maps = await this.#mapsOf(task);
    const ofReplication = (map: Buffer): NamedMapRef | undefined => {
      const ref = refOf(map);
      return ref?.replication === publisher.replication ? ref : undefined;
    };
    const walk = new PartitionWalk(
      {
        ...this.#parts,
        sender: publisher.sender,
        batchSize: publisher.options.batchSize,
        maps: maps.filter((map) => ofReplication(map) !== undefined),
        target: dataSet,
        began,
        refOf: ofReplication,
        isWanted: () => true,
        isOver: () => this.#task() === undefined,
        onAdvance: () => this.#advance(),
        onDone: (partition, notTaken) => this.#onDone(partition, { ...NOTHING_FOUND, notTaken }),
      },
      await tasks.nextWalk(),
    );
    await walk.run(left);
  }

  /** Resolves with the target of the task, which the first member that reaches it sets. */
  async #target({ work }: RunningTask): Promise<RunTarget> {
    const { tasks, publisher, now } = this.#parts;
    const { sender } = publisher;
    // A handshake observes the target's clock.
    const { dataSet } = await (work.target === undefined
      ? sender.target.reach()
      : sender.usableEndpoint());
    if (dataSet === undefined) throw new Error('the endpoint has no data set');
    if (work.target === undefined) {
      const version = new Version();
      now(version);
      const began = [version.low, version.high] as const;
      await tasks.setTarget(this.uuid, { dataSet: dataSet.toString('hex'), began });
    }
    const target = work.target ?? this.#task()?.work.target;
    if (target === undefined) throw new Error('the task has ended');
    if (target.dataSet !== dataSet.toString('hex')) throw new NewDataSet();
    return { dataSet, began: new Version().set(target.began[0], target.began[1]) };
  }

  /** Resolves with the names of the maps to send. */
  async #mapsOf({ work }: RunningTask): Promise<readonly Buffer[]> {
    if (work.map !== undefined) return [Buffer.from(work.map, 'base64')];
    const { entries, refOf, publisher } = this.#parts;
    const maps: Buffer[] = [];
    let bytes = 0;
    for (let place: Buffer | undefined; ; ) {
      const page = await entries.readMaps(place);
      if (page === undefined) throw new Error('the servers did not list the maps');
      this.#advance();
      for (const name of page.names) {
        if (refOf(name)?.replication !== publisher.replication) continue;
        maps.push(name);
        bytes += name.length;
      }
      if (bytes > NAMES_BYTES_MAX) throw new TooManyMaps();
      place = page.place;
      if (place === undefined) return maps;
    }
  }

  #onDone(partition: number, figures: PartitionFigures): void {
    this.#done.set(partition, figures);
    this.#advance();
  }

  #advance(): void {
    this.#hasAdvanced = true;
    if (this.#isStopped || this.#noteTimer !== undefined) return;
    const { clock, publisher } = this.#parts;
    const delayMs = Math.min(NOTE_MS, publisher.options.responseTimeoutMs / 4);
    this.#noteTimer = clock.after(delayMs, () => void this.#note());
  }

  /** Stores what has been done since the last note. */
  async #note(): Promise<void> {
    const { tasks, onEnded } = this.#parts;
    const done = this.#done;
    this.#done = new Map();
    this.#noting = done;
    this.#hasAdvanced = false;
    try {
      const ended = await tasks.note(this.uuid, done);
      if (ended !== undefined) onEnded(ended);
    } catch {
      // The record could not be changed: the next note also has these partitions.
      this.#done = new Map([...done, ...this.#done]);
      this.#hasAdvanced = true;
    }
    this.#noting = new Map();
    this.#noteTimer = undefined;
    if (this.#hasAdvanced) this.#advance();
  }

  async #fail(reason: string): Promise<void> {
    const ended = await this.#parts.tasks.fail(this.uuid, reason).catch(() => undefined);
    if (ended !== undefined) this.#parts.onEnded(ended);
  }
}

class TooManyMaps extends Error {
  constructor() {
    super(`the names of its maps have more than ${NAMES_BYTES_MAX} bytes: synchronise single maps`);
  }
}

const NEW_DATA_SET = 'the data set of the target has changed: it lacks the entries sent before';
