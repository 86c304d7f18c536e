/**
 * Decides when entries end, and ends them: their time to live is over, they were not read for their
 * max idle, or a merged clear has ended them. A read removes such an entry and does not find it;
 * the others are found by the sweeper.
 *
 * Times are wall-clock times, as they must mean the same after a restart. The removal is a
 * mutation, which the sinks are asked about; if they refuse it, the entry remains but is not
 * visible.
 */
import { isReservedMap } from '../../base/reserved-map.ts';
import { EXPIRE, Mutation } from '../mutation.ts';
import {
  bytesAt,
  dueMsAt,
  keyAt,
  keyLengthAt,
  ownerAt,
  tagAt,
  touchAt,
  versionHighAt,
  versionLowAt,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Cleaner } from './cleaner.ts';
import type { MapFlags } from './map-flags.ts';
import type { NameTable } from './name-table.ts';
import type { PagedDoubles, PagedPairs } from './paged-array.ts';
import type { Partition } from './partition.ts';
import type { Recorder } from './recorder.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Tombstones } from './tombstones.ts';

export class Expiry {
  /**
   * Number of entries that were removed because their time was over, without those of the reserved
   * map.
   */
  expiredCount = 0;
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #lives: PagedPairs;
  readonly #mapBytes: PagedDoubles;
  readonly #cleaner: Cleaner;
  readonly #recorder: Recorder;
  readonly #mapFlags: MapFlags;
  readonly #tombstones: Tombstones;
  readonly #draft = new Mutation();

  constructor(shared: SharedComponents, cleaner: Cleaner) {
    this.#store = shared.store;
    this.#names = shared.mapNames;
    this.#contentTypes = shared.contentTypes;
    this.#lives = shared.lives;
    this.#mapBytes = shared.mapBytes;
    this.#recorder = shared.recorder;
    this.#mapFlags = shared.mapFlags;
    this.#tombstones = shared.tombstones;
    this.#cleaner = cleaner;
  }

  /** Returns when the entry ends unless it is read: 0 if a clear has ended it, Infinity for never. */
  dueMs(words: Int32Array, at: number): number {
    return this.#mapFlags.hasEndedAt(words, at) ? 0 : dueMsAt(words, at);
  }

  /** Handles a read of the entry. Returns whether it still exists; an ended entry is removed. */
  read(partition: Partition, address: number): boolean {
    const { pool, clock } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    const dueMs = this.dueMs(words, at);
    if (dueMs === Number.POSITIVE_INFINITY) return true;
    const wallMs = clock.wall();
    if (dueMs > wallMs) {
      touchAt(words, at, wallMs);
      return true;
    }
    if (!this.end(partition, address)) return false;
    const length = bytesAt(words, at);
    const type = tagAt(words, at);
    const owner = ownerAt(words, at);
    partition.remove(this.#store.hashAt(words, at), address);
    if (type !== 0) this.#contentTypes.release(type);
    this.#mapBytes.add(owner, -length);
    this.#names.release(owner);
    this.#cleaner.pay(partition);
    return false;
  }

  /** Whether the sinks consent to the removal of the entry; if so, they are notified of it. */
  end(partition: Partition, address: number): boolean {
    const store = this.#store;
    const mapFlags = this.#mapFlags;
    const bytes = store.pool.bytes(address);
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    const owner = ownerAt(words, at);
    const draft = this.#draft;
    const sinks = mapFlags.sinksFor(draft, owner);
    const keepsTombstone = mapFlags.keepsTombstones(owner);
    this.#names.name(owner, draft.name);
    if (sinks.length > 0 || keepsTombstone) {
      const key = keyAt(words, at) * 4;
      store.versions.tick();
      store.begin(draft, EXPIRE, partition.number);
      draft.key.set(bytes, key, key + keyLengthAt(words, at));
      draft.replaced.set(versionLowAt(words, at), versionHighAt(words, at));
      this.#lives.get(owner, draft.life);
      draft.tombstone.clear();
      // The map's tombstone covers what a merged clear has ended. An expiry leaves a tombstone just
      // below the entry's version: a set of that version whose life ends later still wins.
      if (mapFlags.hasEndedAt(words, at)) mapFlags.lastEnd(owner, draft.version);
      else if (keepsTombstone) draft.tombstone.copyFrom(draft.replaced).stepBack();
      if (!this.#recorder.admits(draft, sinks)) return false;
      this.#recorder.record(draft);
      this.#tombstones.add(draft);
    }
    const isCounted = !isReservedMap(draft.name) && !mapFlags.hasEndedAt(words, at);
    if (isCounted) this.expiredCount++;
    store.raise(partition.number, store.next(partition.number));
    return true;
  }
}
