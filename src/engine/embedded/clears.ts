/**
 * Clears of maps: each ends a life of its map, and with it every entry, in the table of names alone. The
 * sweeper removes the cells. A clear is a mutation of every partition.
 */
import type { Span } from '../../base/span.ts';
import { APPLIED, EVERY_PARTITION, type Outcome, REFUSED } from '../engine.ts';
import { CLEAR, FROM_CLIENT, Mutation } from '../mutation.ts';
import type { Version } from '../version.ts';
import type { CellStore } from './cell-store.ts';
import type { NameTable } from './name-table.ts';
import type { Recorder } from './recorder.ts';
import type { Sweeper } from './sweeper.ts';

export class Clears {
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #sweeper: Sweeper;
  readonly #recorder: Recorder;
  readonly #draft = new Mutation();

  constructor(store: CellStore, names: NameTable, sweeper: Sweeper, recorder: Recorder) {
    this.#store = store;
    this.#names = names;
    this.#sweeper = sweeper;
    this.#recorder = recorder;
    this.#draft.operation = CLEAR;
    this.#draft.partition = EVERY_PARTITION;
  }

  /** APPLIED, also where there was no such map, or REFUSED. */
  clear(map: Span): Outcome {
    const id = this.#names.find(map);
    if (id === 0) return APPLIED;
    const { versions } = this.#store;
    const draft = this.#draft;
    versions.tick();
    draft.origin = FROM_CLIENT;
    draft.version.set(versions.low, versions.high);
    draft.sequence = this.#store.nextOfAll();
    draft.path.clear();
    return this.#make(id, map, draft.version);
  }

  /** Makes a recorded CLEAR again, of the map with that id, 0 for a map that does not exist. */
  restore(mutation: Mutation, id: number): Outcome {
    const draft = this.#draft;
    draft.origin = mutation.origin;
    draft.version.copyFrom(mutation.version);
    draft.sequence = mutation.sequence;
    draft.path.copyFrom(mutation.path);
    return this.#make(id, mutation.name, mutation.life);
  }

  /** Ends the life of the map; the draft has the rest. */
  #make(id: number, map: Span, life: Version): Outcome {
    const draft = this.#draft;
    draft.name.copyFrom(map);
    draft.life.copyFrom(life);
    if (this.#recorder.isActiveFor(draft.origin) && !this.#recorder.admits(draft)) return REFUSED;
    if (id !== 0) {
      this.#names.retire(id);
      this.#sweeper.add(id);
    }
    this.#store.raiseAll(draft.sequence);
    this.#recorder.tell(draft);
    return APPLIED;
  }
}
