/**
 * One member's part of a synchronisation or check of a cluster on servers: it walks, or compares, the
 * partitions that it sends for, and notes those that are done in the record. When it gets further
 * partitions, because another member has left, it begins each of them anew.
 * Tested by server-tasks.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { reasonOf } from '../base/errors.ts';
import type { SerialQueue } from '../base/serial-queue.ts';
import type { SharedTask } from '../cluster/shared-task.ts';
import type { PartitionEntries } from '../engine/partition-entries.ts';
import { Version } from '../engine/version.ts';
import type { Sender } from './batch.ts';
import { NewDataSet, PartitionWalk } from './partition-walk.ts';
import type { ServerPublisher } from './server-publisher.ts';
import { serverTrees } from './server-tree-maker.ts';
import type { PartitionFigures, RunningTask, SharedTasks } from './shared-tasks.ts';
import { type ComparisonParts, compareMap, type Differences } from './tree-comparison.ts';
import type { WanLog } from './wan-engine.ts';
import type { MapTree, NamedMapRef } from './wan-maps.ts';
import type { TransportResponse } from './wan-transport.ts';

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
  readonly treeOf: (map: Buffer) => MapTree;
  readonly sender: Sender;
  readonly log: WanLog;
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
        // A member that stops leaves the task to the others.
        if (this.#task() === undefined) return;
        if (error instanceof NewDataSet) await this.#fail(NEW_DATA_SET);
        else if (error instanceof TaskFailure) await this.#fail(error.message);
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
    const target = await this.#target(task);
    if (task.treeDepth === undefined) await this.#synchronise(task, left, target);
    else await this.#check(task, left, target);
  }

  async #check(
    { work, treeDepth }: RunningTask,
    left: readonly number[],
    target: RunTarget,
  ): Promise<void> {
    const map = Buffer.from(work.map!, 'base64');
    await this.#compare(map, treeDepth!, left, target, (partition, found) =>
      this.#onDone(partition, { notTaken: 0, ...found }),
    ).catch((error: unknown) => {
      throw new TaskFailure(reasonOf(error));
    });
  }

  /** Compares partitions of a map with the target's. Rejects like compareMap. */
  async #compare(
    map: Buffer,
    depth: number,
    partitions: readonly number[],
    { dataSet }: RunTarget,
    onPartition: ComparisonParts['onPartition'],
  ): Promise<Differences> {
    const { publisher, entries, clock, sender } = this.#parts;
    const source = serverTrees({ entries, clock, onPage: () => this.#advance() });
    return await compareMap(
      {
        source,
        partitions,
        sender,
        onPartition,
        target: { dataSet, send: (message) => this.#exchange(message) },
        clusterName: publisher.options.clusterName,
        isCancelled: () => this.#task() === undefined,
      },
      map,
      depth,
    );
  }

  /** Sends a message about trees, to another endpoint if the first one does not respond. */
  async #exchange(message: Buffer): Promise<TransportResponse> {
    const { sender } = this.#parts.publisher;
    try {
      return await sender.target.exchange(await sender.usableEndpoint(), message);
    } catch {
      return await sender.target.exchange(await sender.target.reach(), message);
    }
  }

  /**
   * Resolves with the differences of the maps that were checked before, by map: only these are sent. All
   * of a map that cannot be compared is sent.
   */
  async #differencesOf(
    task: RunningTask,
    maps: readonly Buffer[],
    left: readonly number[],
    target: RunTarget,
  ): Promise<ReadonlyMap<string, Differences>> {
    const { tasks, treeOf, log } = this.#parts;
    const found = new Map<string, Differences>();
    for (const map of maps) {
      if (!tasks.isChecked(task, map) || this.#task() === undefined) continue;
      try {
        const { depth } = treeOf(map);
        const differences = await this.#compare(map, depth, left, target, () => this.#advance());
        found.set(map.toString('latin1'), differences);
      } catch (error) {
        const { replication, publisherId: publisher } = task;
        const text = `WAN sync: all of map "${map}" is sent: ${reasonOf(error)}`;
        log.warn({ replication, publisher }, text);
      }
    }
    return found;
  }

  async #synchronise(task: RunningTask, left: readonly number[], target: RunTarget): Promise<void> {
    const { tasks, publisher, refOf } = this.#parts;
    const maps = await this.#mapsOf(task);
    const different = await this.#differencesOf(task, maps, left, target);
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
        target: target.dataSet,
        began: target.began,
        refOf: ofReplication,
        isWanted: (map, partition, key) =>
          different.size === 0 ||
          different.get(map.toString('latin1'))?.has(partition, key) !== false,
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
      if (bytes > NAMES_BYTES_MAX) throw new TaskFailure(TOO_MANY_MAPS);
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

/** The reason why a task fails. */
class TaskFailure extends Error {}

const TOO_MANY_MAPS = `the names of its maps have more than ${NAMES_BYTES_MAX} bytes: synchronise single maps`;
const NEW_DATA_SET = 'the data set of the target has changed: it lacks the entries sent before';
