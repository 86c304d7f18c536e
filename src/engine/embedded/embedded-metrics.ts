/** The metrics of the embedded engine. Tested by embedded-part.spec.ts. */
import { counter, type Figures, gauge } from '../../base/figures.ts';
import type { EmbeddedEngine } from './embedded-engine.ts';
import { ReportedNames } from './reported-names.ts';

const METRICS = {
  memoryUsed: gauge('gridnode_memory_used_bytes', 'Memory in use for stored data'),
  memoryLimit: gauge('gridnode_memory_limit_bytes', 'Limit of the memory for stored data'),
  maps: gauge('gridnode_maps', 'Maps that have entries'),
  queues: gauge('gridnode_queues', 'Queues that have items or waiting polls'),
  mapEntries: gauge('gridnode_map_entries', 'Entries of a map', 'map'),
  mapBytes: gauge('gridnode_map_bytes', 'Memory in use for the entries of a map', 'map'),
  queueItems: gauge('gridnode_queue_items', 'Items of a queue', 'queue'),
  heldItems: gauge(
    'gridnode_queue_held_items',
    'Polled items of a queue whose responses are not sent yet',
    'queue',
  ),
  waiters: gauge('gridnode_queue_waiters', 'Polls that wait for an item of a queue', 'queue'),
  capacity: gauge('gridnode_queue_capacity_items', 'Maximum number of items of a queue', 'queue'),
  unlistedEntries: gauge(
    'gridnode_unlisted_map_entries',
    'Entries of all maps that are not listed by name',
  ),
  unlistedItems: gauge(
    'gridnode_unlisted_queue_items',
    'Items of all queues that are not listed by name',
  ),
  expired: counter(
    'gridnode_expired_entries_total',
    'Entries removed because their time to live or max idle was over',
  ),
  tombstones: gauge('gridnode_tombstones', 'Tombstones, which record removals in replicated maps'),
  tombstonesDropped: counter(
    'gridnode_tombstones_dropped_total',
    'Tombstones dropped before their retention ended',
  ),
};

export class EmbeddedMetrics {
  readonly #engine: EmbeddedEngine;
  readonly #maps: ReportedNames;
  readonly #queues: ReportedNames;

  /** `namesMax`: maximum number of maps, and of queues, with series of their own. */
  constructor(engine: EmbeddedEngine, namesMax: number) {
    this.#engine = engine;
    this.#maps = new ReportedNames(namesMax);
    this.#queues = new ReportedNames(namesMax);
  }

  reportMemory(to: Figures): void {
    to.add(METRICS.memoryUsed, this.#engine.memoryBytes);
    to.add(METRICS.memoryLimit, this.#engine.memoryBytesMax);
  }

  reportData(to: Figures): void {
    const engine = this.#engine;
    to.add(METRICS.maps, engine.maps.count);
    to.add(METRICS.queues, engine.queues.count);
    let unlisted = engine.entryCount;
    for (const { id, label } of this.#maps.update(engine.maps)) {
      const count = engine.entriesOf(id);
      unlisted -= count;
      to.add(METRICS.mapEntries, count, label);
      to.add(METRICS.mapBytes, engine.bytesOf(id), label);
    }
    to.add(METRICS.unlistedEntries, unlisted);
    this.#reportQueues(to);
    to.add(METRICS.expired, engine.expiredEntryCount);
  }

  #reportQueues(to: Figures): void {
    const engine = this.#engine;
    let unlisted = engine.itemCount;
    for (const { id, label } of this.#queues.update(engine.queues)) {
      const count = engine.itemsOf(id);
      const capacity = engine.capacityOf(id);
      unlisted -= count;
      to.add(METRICS.queueItems, count, label);
      to.add(METRICS.heldItems, engine.heldItemsOf(id), label);
      to.add(METRICS.waiters, engine.waitersOf(id), label);
      if (capacity < Number.POSITIVE_INFINITY) to.add(METRICS.capacity, capacity, label);
    }
    to.add(METRICS.unlistedItems, unlisted);
  }

  reportTombstones(to: Figures): void {
    const { count, droppedCount } = this.#engine.tombstones;
    to.add(METRICS.tombstones, count);
    to.add(METRICS.tombstonesDropped, droppedCount);
  }
}
