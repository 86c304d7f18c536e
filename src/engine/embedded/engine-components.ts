/** The components of an embedded engine, wired together. Tested by engine-invariants.spec.ts. */

import type { MutationSink } from '../mutation-sink.ts';
import type { MergeOptions } from '../stored-engine.ts';
import type { CellStore, CellStoreOptions } from './cell-store.ts';
import { Cleaner } from './cleaner.ts';
import { Expiry } from './expiry.ts';
import { ItemDeliveries } from './item-deliveries.ts';
import { ItemReturns } from './item-returns.ts';
import type { MapFlags } from './map-flags.ts';
import { Maps } from './maps.ts';
import { Merges } from './merges.ts';
import type { NameTable } from './name-table.ts';
import type { PagedPairs } from './paged-array.ts';
import { type QueueOptions, Queues } from './queues.ts';
import type { Recorder } from './recorder.ts';
import { Results } from './results.ts';
import type { RingBuffers } from './ring-buffer.ts';
import { SharedComponents } from './shared-components.ts';
import { Sweeper } from './sweeper.ts';
import type { Tombstones } from './tombstones.ts';
import { Visits } from './visits.ts';
import { Waiters } from './waiters.ts';

export interface EmbeddedEngineOptions extends CellStoreOptions, QueueOptions, MergeOptions {
  /** Sinks in the order in which they are asked; none by default. */
  readonly sinks?: readonly MutationSink[];
}

export class EngineComponents {
  readonly store: CellStore;
  readonly sweeper: Sweeper;
  readonly cleaner: Cleaner;
  readonly recorder: Recorder;
  readonly mapNames: NameTable;
  readonly queueNames: NameTable;
  readonly contentTypes: NameTable;
  readonly rings: RingBuffers;
  readonly lives: PagedPairs;
  readonly mapFlags: MapFlags;
  readonly tombstones: Tombstones;
  readonly visits: Visits;
  readonly maps: Maps;
  readonly merges: Merges;
  readonly queues: Queues;
  readonly waiters: Waiters;
  readonly deliveries: ItemDeliveries;
  readonly returns: ItemReturns;
  readonly results: Results;
  /** Ids of the maps that a replay retains (refill.ts): each has one use more than it has entries. */
  readonly retainedMaps = new Set<number>();

  constructor(options: EmbeddedEngineOptions) {
    const shared = new SharedComponents(options, options.sinks ?? []);
    const { store, queueNames } = shared;
    this.store = store;
    this.recorder = shared.recorder;
    this.mapNames = shared.mapNames;
    this.queueNames = queueNames;
    this.contentTypes = shared.contentTypes;
    this.rings = shared.rings;
    this.lives = shared.lives;
    this.mapFlags = shared.mapFlags;
    this.tombstones = shared.tombstones;
    const cleaner = new Cleaner(shared);
    const expiry = new Expiry(shared, cleaner);
    const sweeper = new Sweeper(shared, cleaner, expiry);
    this.cleaner = cleaner;
    this.sweeper = sweeper;
    this.maps = new Maps(shared, { cleaner, sweeper, expiry });
    this.merges = new Merges(shared, this.maps, sweeper);
    const waiters = new Waiters(store.clock, queueNames.ids, (ticket) =>
      this.deliveries.expire(ticket),
    );
    const queues = new Queues(shared, { cleaner, sweeper, waiters }, options);
    const results = new Results(shared);
    const returns = new ItemReturns(store, queues, results, (queue) =>
      this.deliveries.schedule(queue),
    );
    this.waiters = waiters;
    this.queues = queues;
    this.results = results;
    this.returns = returns;
    this.visits = new Visits(shared, queues);
    this.deliveries = new ItemDeliveries(shared, { queues, waiters, results, returns });
  }
}
