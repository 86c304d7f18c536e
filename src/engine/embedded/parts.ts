/** What an embedded engine is made of, wired together. */

import { Answers } from './answer.ts';
import { Cleaner } from './cleaner.ts';
import { Deliveries } from './deliveries.ts';
import type { EmbeddedEngineOptions } from './engine.ts';
import { Maps } from './maps.ts';
import { CONTENT_TYPES, MAP_NAMES, NameTable, QUEUE_NAMES } from './name-table.ts';
import { Queues } from './queues.ts';
import { RecordStore } from './record-store.ts';
import { RingBuffers } from './ring-buffer.ts';
import { Sweeper } from './sweeper.ts';
import { Waiters } from './waiters.ts';

export class Parts {
  readonly store: RecordStore;
  readonly sweeper: Sweeper;
  readonly cleaner: Cleaner;
  readonly maps: Maps;
  readonly queues: Queues;
  readonly waiters: Waiters;
  readonly deliveries: Deliveries;
  readonly answers: Answers;

  constructor(options: EmbeddedEngineOptions) {
    const { clock } = options;
    const store = new RecordStore(options);
    const mapNames = new NameTable(store, MAP_NAMES);
    const queueNames = new NameTable(store, QUEUE_NAMES);
    const contentTypes = new NameTable(store, CONTENT_TYPES);
    const rings = new RingBuffers(store);
    this.store = store;
    this.cleaner = new Cleaner(store, mapNames, queueNames, contentTypes, rings);
    this.sweeper = new Sweeper(store, clock, mapNames, contentTypes, this.cleaner);
    this.maps = new Maps(store, mapNames, contentTypes, this.cleaner, this.sweeper);
    this.waiters = new Waiters(clock, store.meter, (ticket) => this.deliveries.expire(ticket));
    this.queues = new Queues(
      store,
      queueNames,
      contentTypes,
      this.cleaner,
      rings,
      this.waiters,
      options.queueCapacity,
    );
    this.answers = new Answers(store.pool, contentTypes);
    this.deliveries = new Deliveries(clock, store, this.queues, this.waiters, this.answers);
  }
}
