/** What all parts of an embedded engine use: the stored data, its tables of names, and the sinks. */
import type { MutationSink } from '../mutation-sink.ts';
import type { MergeOptions } from '../stored-engine.ts';
import { CellStore, type CellStoreOptions } from './cell-store.ts';
import { MapCuts } from './map-cuts.ts';
import { MapLives } from './map-lives.ts';
import { MapTraits } from './map-traits.ts';
import { CONTENT_TYPES, MAP_NAMES, NameTable, QUEUE_NAMES } from './name-table.ts';
import { Recorder } from './recorder.ts';
import { RingBuffers } from './ring-buffer.ts';
import { Tombstones } from './tombstones.ts';

export class SharedComponents {
  readonly store: CellStore;
  readonly mapNames: NameTable;
  readonly queueNames: NameTable;
  readonly contentTypes: NameTable;
  readonly lives: MapLives;
  readonly rings: RingBuffers;
  readonly recorder: Recorder;
  readonly traits: MapTraits;
  readonly tombstones: Tombstones;
  readonly cuts: MapCuts;

  constructor(options: CellStoreOptions & MergeOptions, sinks: readonly MutationSink[]) {
    const store = new CellStore(options);
    this.store = store;
    this.mapNames = new NameTable(store, MAP_NAMES, (id) => {
      this.traits.opened(id);
      this.cuts.end(id);
    });
    this.queueNames = new NameTable(store, QUEUE_NAMES);
    this.contentTypes = new NameTable(store, CONTENT_TYPES);
    this.lives = new MapLives(this.mapNames.ids);
    this.rings = new RingBuffers(store, this.queueNames.ids);
    this.recorder = new Recorder(sinks);
    this.traits = new MapTraits(store, this.mapNames, this.recorder, options);
    this.tombstones = new Tombstones(store, options);
    this.cuts = new MapCuts();
  }
}
