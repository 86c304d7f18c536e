/**
 * The components that all parts of an embedded engine use: the stored data, its tables of names,
 * and the sinks. Tested by embedded-engine.spec.ts.
 */
import type { MutationSink } from '../mutation-sink.ts';
import type { MergeOptions } from '../stored-engine.ts';
import { CellStore, type CellStoreOptions } from './cell-store.ts';
import { MapFlags } from './map-flags.ts';
import { CONTENT_TYPES, MAP_NAMES, NameTable, QUEUE_NAMES } from './name-table.ts';
import type { PagedDoubles, PagedPairs } from './paged-array.ts';
import { Recorder } from './recorder.ts';
import { RingBuffers } from './ring-buffer.ts';
import { Tombstones } from './tombstones.ts';

export class SharedComponents {
  readonly store: CellStore;
  readonly mapNames: NameTable;
  readonly queueNames: NameTable;
  readonly contentTypes: NameTable;
  /** The life of each map, by the map's id: the version at which it began (see ../mutation.ts). */
  readonly lives: PagedPairs;
  /** Bytes of the cells of each map's entries, by the map's id. */
  readonly mapBytes: PagedDoubles;
  readonly rings: RingBuffers;
  readonly recorder: Recorder;
  readonly mapFlags: MapFlags;
  readonly tombstones: Tombstones;

  constructor(options: CellStoreOptions & MergeOptions, sinks: readonly MutationSink[]) {
    const store = new CellStore(options);
    this.store = store;
    this.mapNames = new NameTable(store, MAP_NAMES, (id) => {
      this.mapFlags.opened(id);
      this.mapBytes.set(id, 0);
    });
    this.queueNames = new NameTable(store, QUEUE_NAMES);
    this.contentTypes = new NameTable(store, CONTENT_TYPES);
    this.lives = this.mapNames.ids.pairs();
    this.mapBytes = this.mapNames.ids.doubles();
    this.rings = new RingBuffers(store, this.queueNames.ids);
    this.recorder = new Recorder(sinks);
    this.mapFlags = new MapFlags(store, this.mapNames, this.recorder, options);
    this.tombstones = new Tombstones(store, options);
  }
}
