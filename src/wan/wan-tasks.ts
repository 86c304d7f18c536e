/**
 * The synchronisations and checks of a member: at most one is in progress, the last ones are
 * remembered, and none is persisted. The maps whose check has finished are also remembered: a
 * synchronisation compares them again and sends only the entries that differ. If a comparison is
 * not possible, it sends all of the map. Tested by check.spec.ts.
 */

import type { Clock } from '../base/clock.ts';
import { reasonOf } from '../base/errors.ts';
import { getOrCreate } from '../base/get-or-create.ts';
import { Span } from '../base/span.ts';
import { Version } from '../engine/version.ts';
import type { Sender } from './batch.ts';
import { MapSync } from './map-sync.ts';
import type { WanPublisher } from './publisher.ts';
import {
  checkComparable,
  checkMap,
  logFinished,
  TASKS_MAX,
  taskUnderWay,
} from './task-conditions.ts';
import type { treesOf } from './tree-builder.ts';
import type { ComparisonParts, compareMap, Differences } from './tree-comparison.ts';
import type { WanEngine, WanLog } from './wan-engine.ts';
import type { MapTree } from './wan-maps.ts';
import type { TaskStatus } from './wan-status.ts';
import { WanTask } from './wan-task.ts';

/** Maximum number of checked maps of one publisher. */
const CHECKED_MAPS_MAX = 1000;

interface TasksParts {
  readonly engine: Pick<WanEngine, 'partitionCount' | 'visit'>;
  readonly clock: Clock;
  readonly log: WanLog;
  readonly sender: Sender;
  /** Returns the hash-tree settings of a map. */
  readonly treeOf: (map: Buffer) => MapTree;
  readonly compare: typeof compareMap;
  readonly treesOf: typeof treesOf;
}

export class WanTasks {
  readonly #parts: TasksParts;
  readonly #tasks = new Map<string, WanTask>();
  /** By publisher, the names of the maps whose checks have finished (latin1). */
  readonly #checked = new WeakMap<WanPublisher, Set<string>>();
  #current: WanTask | undefined;
  #sync: MapSync | undefined;
  #isClosed = false;

  constructor(parts: TasksParts) {
    this.#parts = parts;
  }

  /** Begins to send a map, or all that refer to the replication. Returns the uuid, or throws. */
  synchronise(publisher: WanPublisher, map: Buffer | undefined): string {
    const action = 'synchronise';
    if (map !== undefined) checkMap(publisher, map, action, publisher.refOf(Span.of(map)));
    const task = this.#begin(publisher, action, false);
    void this.#run(task, () => this.#synchronise(publisher, map, task));
    return task.uuid;
  }

  /** Begins to compare a map. Returns the uuid. Throws GridError. */
  check(publisher: WanPublisher, map: Buffer): string {
    const action = 'check';
    checkMap(publisher, map, action, publisher.refOf(Span.of(map)));
    checkComparable(publisher, map, this.#parts.treeOf(map));
    const task = this.#begin(publisher, action, true);
    void this.#run(task, () => this.#check(publisher, map, task));
    return task.uuid;
  }

  statusOf(uuid: string): TaskStatus | undefined {
    return this.#tasks.get(uuid)?.status;
  }

  /** Cancels the synchronisation to a publisher that is closed. */
  drop(publisher: WanPublisher): void {
    if (this.#sync?.publisher === publisher) this.#sync.cancel('its publisher was removed');
  }

  /** Cancels the task in progress: nothing more of it is sent. */
  close(): void {
    this.#isClosed = true;
    this.#sync?.cancel('it was cancelled');
  }

  #begin({ replication, id }: WanPublisher, action: string, isCheck: boolean): WanTask {
    const current = this.#current;
    if (current !== undefined) throw taskUnderWay(action, current);
    const { clock, engine } = this.#parts;
    const task = new WanTask({
      isCheck,
      replication,
      publisherId: id,
      partitionCount: engine.partitionCount,
      creationMs: Math.floor(clock.wall()),
    });
    this.#current = task;
    this.#tasks.set(task.uuid, task);
    for (const uuid of this.#tasks.keys()) {
      if (this.#tasks.size <= TASKS_MAX) break;
      this.#tasks.delete(uuid);
    }
    return task;
  }

  async #run(task: WanTask, work: () => Promise<Differences | undefined>): Promise<void> {
    const { log } = this.#parts;
    const { wanReplicationName: replication, wanPublisherId: publisher } = task.status;
    const fields = { replication, publisher, uuid: task.uuid };
    const what = `WAN ${task.isCheck ? 'check' : 'sync'} ${task.uuid}`;
    try {
      task.finish(await work());
      if (!this.#isClosed) logFinished(log, fields, what, task.notTakenCount);
    } catch (error) {
      task.fail(reasonOf(error));
      if (!this.#isClosed) log.warn(fields, `${what} failed: ${reasonOf(error)}`);
    }
    this.#current = undefined;
  }

  async #synchronise(
    publisher: WanPublisher,
    map: Buffer | undefined,
    task: WanTask,
  ): Promise<undefined> {
    const { clock, engine, sender } = this.#parts;
    const { dataSet } = await publisher.reach();
    // The target's clock has just been observed.
    const began = new Version();
    sender.now(began);
    const differences = await this.#differencesOf(publisher, map);
    if (this.#isClosed || publisher.isClosed) throw new Error('the publisher has ended');
    this.#sync = new MapSync({
      publisher,
      clock,
      map,
      differences,
      dataSet,
      began,
      partitionCount: engine.partitionCount,
      task,
    });
    await this.#sync.run().finally(() => {
      this.#sync = undefined;
    });
  }

  async #check(publisher: WanPublisher, map: Buffer, task: WanTask): Promise<Differences> {
    let checkedCount = 0;
    const differences = await this.#compare(publisher, map, () => task.advance(++checkedCount));
    const maps = getOrCreate(this.#checked, publisher, () => new Set());
    maps.add(map.toString('latin1'));
    for (const oldest of maps) {
      if (maps.size <= CHECKED_MAPS_MAX) break;
      maps.delete(oldest);
    }
    return differences;
  }

  /** Returns the differences of the maps that were checked before, by map. */
  async #differencesOf(
    publisher: WanPublisher,
    map: Buffer | undefined,
  ): Promise<ReadonlyMap<string, Differences>> {
    const found = new Map<string, Differences>();
    const checked = this.#checked.get(publisher) ?? new Set();
    for (const name of checked) {
      if (this.#isClosed) break;
      const each = Buffer.from(name, 'latin1');
      if (map !== undefined && !each.equals(map)) continue;
      try {
        found.set(name, await this.#compare(publisher, each, () => {}));
      } catch (error) {
        const fields = { replication: publisher.replication, publisher: publisher.id };
        const text = `WAN sync: all of map "${each}" is sent: ${reasonOf(error)}`;
        this.#parts.log.warn(fields, text);
      }
    }
    return found;
  }

  async #compare(
    publisher: WanPublisher,
    map: Buffer,
    onPartition: ComparisonParts['onPartition'],
  ): Promise<Differences> {
    const { engine, sender, compare, treesOf, treeOf } = this.#parts;
    const target = await publisher.reach();
    const { clusterName } = publisher.options;
    const isCancelled = () => this.#isClosed;
    return await compare(
      {
        target,
        sender,
        clusterName,
        isCancelled,
        onPartition,
        source: treesOf(engine),
        partitions: [...Array(engine.partitionCount).keys()],
      },
      map,
      treeOf(map).depth,
    );
  }
}
