/** The components of an embedded engine, wired together. Tested by engine-invariants.spec.ts. */

import type { MutationSink } from '../mutation-sink.ts';
import type { MergeOptions } from '../stored-engine.ts';
import type { CellStoreOptions } from './cell-store.ts';
import { Cleaner } from './cleaner.ts';
import { Clears } from './clears.ts';
import { Expiry } from './expiry.ts';
import { ItemDeliveries } from './item-deliveries.ts';
import { ItemReturns } from './item-returns.ts';
import { Lists } from './lists.ts';
import { Maps } from './maps.ts';
import { Merges } from './merges.ts';
import { type QueueOptions, Queues } from './queues.ts';
import { Results } from './results.ts';
import { SharedComponents } from './shared-components.ts';
import { Sweeper } from './sweeper.ts';
import { Visits } from './visits.ts';
import { Waiters } from './waiters.ts';

export interface EmbeddedEngineOptions extends CellStoreOptions, QueueOptions, MergeOptions {
  /** Sinks in the order in which they are asked; none by default. */
  readonly sinks?: readonly MutationSink[];
}

export type EngineComponents = ReturnType<typeof engineComponents>;

/** Creates the components; they store nothing yet. */
export function engineComponents(options: EmbeddedEngineOptions) {
  const shared = new SharedComponents(options, options.sinks ?? []);
  const { store, queueNames } = shared;
  const cleaner = new Cleaner(shared);
  const expiry = new Expiry(shared, cleaner);
  const sweeper = new Sweeper(shared, cleaner, expiry);
  const maps = new Maps(shared, { cleaner, sweeper, expiry });
  const clears = new Clears(shared, sweeper);
  const merges = new Merges(shared, { maps, clears, sweeper });
  const waiters = new Waiters(store.clock, queueNames.ids, (ticket) => deliveries.expire(ticket));
  const queues = new Queues(shared, { cleaner, sweeper, waiters }, options);
  const results = new Results(shared);
  const returns = new ItemReturns(store, queues, results, (queue) => deliveries.schedule(queue));
  const deliveries = new ItemDeliveries(shared, { queues, waiters, results, returns });
  const lists = new Lists(shared, expiry, queues.order, results);
  const visits = new Visits(shared, queues);
  /** Ids of the maps that a replay retains (refill.ts): each has one use more than it has entries. */
  const retainedMaps = new Set<number>();
  return {
    ...shared,
    cleaner,
    expiry,
    sweeper,
    maps,
    clears,
    merges,
    waiters,
    queues,
    results,
    returns,
    deliveries,
    lists,
    visits,
    retainedMaps,
  };
}
