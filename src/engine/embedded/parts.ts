/** The parts of an embedded engine, wired together. */

import type { MutationSink } from '../mutation-sink.ts';
import { Answers } from './answer.ts';
import { Cleaner } from './cleaner.ts';
import { Deliveries } from './deliveries.ts';
import { Expiry } from './expiry.ts';
import { MapLives } from './map-lives.ts';
import { Maps } from './maps.ts';
import { CONTENT_TYPES, MAP_NAMES, NameTable, QUEUE_NAMES } from './name-table.ts';
import { type QueueOptions, Queues } from './queues.ts';
import { RecordStore, type RecordStoreOptions } from './record-store.ts';
import { Recorder } from './recorder.ts';
import { Returns } from './returns.ts';
import { RingBuffers } from './ring-buffer.ts';
import { Sweeper } from './sweeper.ts';
import { Visits } from './visits.ts';
import { Waiters } from './waiters.ts';

export interface EmbeddedEngineOptions extends RecordStoreOptions, QueueOptions {
  /** In the order in which they are asked; none by default. */
  readonly sinks?: readonly MutationSink[];
}

export class Parts {
  readonly store: RecordStore;
  readonly sweeper: Sweeper;
  readonly expiry: Expiry;
  readonly cleaner: Cleaner;
  readonly recorder: Recorder;
  readonly mapNames: NameTable;
  readonly lives: MapLives;
  readonly visits: Visits;
  readonly maps: Maps;
  readonly queues: Queues;
  readonly waiters: Waiters;
  readonly deliveries: Deliveries;
  readonly returns: Returns;
  readonly answers: Answers;

  constructor(options: EmbeddedEngineOptions) {
    const { clock } = options;
    const store = new RecordStore(options);
    const mapNames = new NameTable(store, MAP_NAMES);
    const lives = new MapLives(mapNames.ids);
    const recorder = new Recorder(options.sinks ?? []);
    const queueNames = new NameTable(store, QUEUE_NAMES);
    const contentTypes = new NameTable(store, CONTENT_TYPES);
    const rings = new RingBuffers(store, queueNames.ids);
    this.store = store;
    this.recorder = recorder;
    this.mapNames = mapNames;
    this.lives = lives;
    this.cleaner = new Cleaner(store, mapNames, queueNames, contentTypes, rings);
    const { cleaner } = this;
    this.expiry = new Expiry(store, mapNames, contentTypes, lives, cleaner, recorder);
    this.sweeper = new Sweeper(store, clock, mapNames, contentTypes, cleaner, this.expiry);
    this.maps = new Maps(
      store,
      mapNames,
      contentTypes,
      lives,
      cleaner,
      this.sweeper,
      this.expiry,
      recorder,
    );
    this.waiters = new Waiters(clock, queueNames.ids, (ticket) => this.deliveries.expire(ticket));
    this.queues = new Queues(
      store,
      queueNames,
      contentTypes,
      cleaner,
      rings,
      this.waiters,
      this.sweeper,
      recorder,
      options,
    );
    this.visits = new Visits(store, mapNames, queueNames, contentTypes, lives, this.queues);
    this.answers = new Answers(store, contentTypes, recorder);
    this.returns = new Returns(clock, store, this.queues, this.answers, (queue) =>
      this.deliveries.schedule(queue),
    );
    this.deliveries = new Deliveries(
      clock,
      store,
      this.queues,
      this.waiters,
      this.answers,
      recorder,
      this.returns,
    );
  }
}
