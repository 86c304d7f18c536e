/**
 * Clears of maps. A clear ends a life of its map, and with it every entry, by a change of only the
 * table of names; the sweeper removes the cells. A clear is a mutation of every partition. A merged
 * clear that is not later than every entry ends no life: see Merges.
 * Tested by partial-clears.spec.ts.
 */
import { EVERY_PARTITION } from '../../base/partition-number.ts';
import type { Span } from '../../base/span.ts';
import { APPLIED, type Outcome, REFUSED } from '../engine.ts';
import { CLEAR, FROM_CLIENT, FROM_REPLAY, Mutation } from '../mutation.ts';
import type { CellStore } from './cell-store.ts';
import type { MapFlags } from './map-flags.ts';
import type { NameTable } from './name-table.ts';
import type { PagedPairs } from './paged-array.ts';
import type { Recorder } from './recorder.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Sweeper } from './sweeper.ts';
import type { Tombstones } from './tombstones.ts';

export class Clears {
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #lives: PagedPairs;
  readonly #mapFlags: MapFlags;
  readonly #tombstones: Tombstones;
  readonly #sweeper: Sweeper;
  readonly #recorder: Recorder;
  readonly #draft = new Mutation();

  constructor(shared: SharedComponents, sweeper: Sweeper) {
    this.#store = shared.store;
    this.#names = shared.mapNames;
    this.#lives = shared.lives;
    this.#mapFlags = shared.mapFlags;
    this.#tombstones = shared.tombstones;
    this.#recorder = shared.recorder;
    this.#sweeper = sweeper;
    this.#draft.operation = CLEAR;
    this.#draft.partition = EVERY_PARTITION;
  }

  /** Clears the map. APPLIED, even if there was no such map, or REFUSED. */
  clear(map: Span): Outcome {
    const id = this.#names.find(map);
    if (id === 0) return APPLIED;
    const { versions } = this.#store;
    const draft = this.#draft;
    versions.tick();
    draft.origin = FROM_CLIENT;
    draft.version.set(versions.low, versions.high);
    draft.life.copyFrom(draft.version);
    draft.sequence = this.#store.nextOfAll();
    draft.path.clear();
    if (this.#mapFlags.keepsTombstones(id)) draft.tombstone.copyFrom(draft.version);
    else draft.tombstone.clear();
    return this.#make(id, map, true);
  }

  /**
   * Merges a CLEAR of the map with this id; 0 for a map that does not exist. `endsLife`: no entry
   * is later.
   */
  merge(change: Mutation, id: number, endsLife: boolean): Outcome {
    const { versions } = this.#store;
    const draft = this.#draft;
    draft.origin = change.origin;
    draft.version.copyFrom(change.version);
    draft.tombstone.copyFrom(change.version);
    draft.sequence = this.#store.nextOfAll();
    draft.path.copyFrom(change.path);
    if (endsLife) {
      versions.tick();
      draft.life.set(versions.low, versions.high);
    } else this.#lives.get(id, draft.life);
    const outcome = this.#make(id, change.name, endsLife);
    draft.path.clear();
    return outcome;
  }

  /** Makes a recorded CLEAR again, of the map with this id; 0 for a map that does not exist. */
  restore(mutation: Mutation, id: number): Outcome {
    const draft = this.#draft;
    draft.origin = mutation.origin;
    draft.version.copyFrom(mutation.version);
    draft.tombstone.copyFrom(mutation.tombstone);
    draft.life.copyFrom(mutation.life);
    draft.sequence = mutation.sequence;
    draft.path.copyFrom(mutation.path);
    return this.#make(id, mutation.name, true);
  }

  /** Makes the draft's CLEAR. It ends the life of the map, or only what the tombstone covers. */
  #make(id: number, map: Span, endsLife: boolean): Outcome {
    const draft = this.#draft;
    draft.name.copyFrom(map);
    if (!this.#recorder.admits(draft, this.#mapFlags.sinksFor(draft, id))) return REFUSED;
    // Replay has already recorded it.
    if (draft.origin !== FROM_REPLAY) this.#tombstones.add(draft);
    if (endsLife && id !== 0) this.#sweeper.retire(id);
    this.#store.raiseAll(draft.sequence);
    this.#recorder.record(draft);
    return APPLIED;
  }
}
