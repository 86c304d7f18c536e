/**
 * Changes of entries. Each kind of change is made in one place, in four steps: `draft` is filled
 * and the sinks are asked; memory is allocated, which may be refused; the mutation is made, and
 * cannot fail; the sinks are notified, and a share of the background work is done. Maps and Merges
 * decide which changes are made. Tested by embedded-engine.spec.ts.
 */
import type { Span } from '../../base/span.ts';
import { APPLIED, MEMORY_FULL, type Outcome, REFUSED } from '../engine.ts';
import { FROM_CLIENT, FROM_REPLAY, Mutation, type Operation } from '../mutation.ts';
import type { Version } from '../version.ts';
import {
  bytesAt,
  CELL_KEY_BYTES_MAX,
  CELL_VALUE_BYTES_MAX,
  cellBytes,
  EXPIRES,
  entryFlags,
  HAS_MAKER,
  HAS_STATISTICS,
  hitsAt,
  lastAccessSecondsAt,
  nameValue,
  ownerAt,
  tagAt,
  writeFields,
  writeHead,
  writeMaker,
  writeStatistics,
  writeValue,
  writeVersion,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Cleaner } from './cleaner.ts';
import { EntryComparison } from './entry-comparison.ts';
import type { Expiry } from './expiry.ts';
import type { HashedKey } from './hashed-key.ts';
import { KEEPS_STATISTICS, KEEPS_TOMBSTONES, type MapFlags } from './map-flags.ts';
import type { NameTable } from './name-table.ts';
import type { PagedDoubles, PagedPairs } from './paged-array.ts';
import type { Partition } from './partition.ts';
import type { Recorder, Sinks } from './recorder.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Sweeper } from './sweeper.ts';
import type { Tombstones } from './tombstones.ts';

export interface MapComponents {
  readonly cleaner: Cleaner;
  readonly sweeper: Sweeper;
  readonly expiry: Expiry;
}

export class EntryChanges {
  /** The mutation being made. Its spans are set only if there are sinks. */
  readonly draft = new Mutation();
  /** The life of a map that the draft opens. */
  newLife: Version = this.draft.version;
  /** The recorded mutation that is being made again, if any. */
  repeated: Mutation | undefined;
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #lives: PagedPairs;
  readonly #mapBytes: PagedDoubles;
  readonly #mapFlags: MapFlags;
  readonly #tombstones: Tombstones;
  readonly #cleaner: Cleaner;
  readonly #sweeper: Sweeper;
  readonly #recorder: Recorder;
  readonly #comparison: EntryComparison;

  constructor(shared: SharedComponents, { cleaner, sweeper }: MapComponents) {
    this.#store = shared.store;
    this.#names = shared.mapNames;
    this.#contentTypes = shared.contentTypes;
    this.#lives = shared.lives;
    this.#mapBytes = shared.mapBytes;
    this.#mapFlags = shared.mapFlags;
    this.#tombstones = shared.tombstones;
    this.#recorder = shared.recorder;
    this.#cleaner = cleaner;
    this.#sweeper = sweeper;
    this.#comparison = new EntryComparison(shared.store, shared.contentTypes);
  }

  /** Begins a caller's mutation of an entry of the partition; see CellStore.begin. */
  begin(operation: Operation, partition: number): Mutation {
    this.#store.begin(this.draft, operation, partition);
    return this.draft;
  }

  /** Returns the address of the cell of the key in the map with this id, or 0. */
  find(id: number, key: HashedKey): number {
    return this.#store.partition(key.partition)?.find(id, key.hash(id), key.words) ?? 0;
  }

  /**
   * Ends a mutation that was merged or made again: clears the fields that callers' mutations do not
   * have.
   */
  endMade(): void {
    const { draft } = this;
    draft.hits = 0;
    draft.lastAccessSeconds = 0;
    draft.maker = 0;
    if (draft.path.length > 0) draft.path.clear();
    draft.tombstone.clear();
  }

  /** Whether the draft is made again, and the stored entry shows that it has already been made. */
  isRedundant(address: number): boolean {
    const change = this.repeated;
    return change !== undefined && address !== 0 && this.#comparison.isRedundant(change, address);
  }

  /** Puts the entry into the map with this id; with 0, opens the map by its name. */
  put(knownId: number, map: Span, key: HashedKey, value: Span, contentType: Span): Outcome {
    if (key.span.length > CELL_KEY_BYTES_MAX || value.length > CELL_VALUE_BYTES_MAX)
      return MEMORY_FULL;
    let outcome = this.#tryPut(knownId, map, key, value, contentType);
    // Cleared or expired entries that are still stored may occupy the memory that the write needs.
    if (outcome === MEMORY_FULL && this.#sweeper.help()) {
      const { origin } = this.draft;
      if (origin !== FROM_REPLAY) this.draft.sequence = this.#store.next(key.partition);
      outcome = this.#tryPut(knownId, map, key, value, contentType);
    }
    return outcome;
  }

  #tryPut(knownId: number, map: Span, key: HashedKey, value: Span, contentType: Span): Outcome {
    const id = knownId === 0 ? this.#names.open(map) : knownId;
    if (id === 0) return MEMORY_FULL;
    const type = contentType.length === 0 ? 0 : this.#contentTypes.open(contentType);
    let outcome: Outcome = MEMORY_FULL;
    if (type !== 0 || contentType.length === 0) {
      const old = this.find(id, key);
      const isRedundant = this.isRedundant(old);
      outcome = isRedundant ? APPLIED : this.#write(id, type, old, map, key, value, contentType);
      if (outcome === APPLIED && !isRedundant) return APPLIED;
      if (type !== 0) this.#contentTypes.dropUnused(type);
    }
    this.#names.dropUnused(id);
    this.#cleaner.payForNames();
    return outcome;
  }

  /** Writes the entry, whose old cell was looked up, as described by the draft. */
  #write(
    id: number,
    type: number,
    old: number,
    map: Span,
    key: HashedKey,
    value: Span,
    contentType: Span,
  ): Outcome {
    const store = this.#store;
    const pool = store.pool;
    const { draft } = this;
    const recorder = this.#recorder;
    const sinks = this.#mapFlags.sinksFor(draft, id);
    const isRecorded = sinks.length > 0;
    const statistics = this.#mapFlags.isActive ? this.#prepare(id, old) : 0;
    const partition = store.openPartition(key.partition);
    const isNewMap = old === 0 && this.#names.uses(id) === 0;
    if (isRecorded) {
      draft.value.copyFrom(value);
      draft.contentType.copyFrom(contentType);
      if (!this.#admits(sinks, id, isNewMap, old, map, key)) return REFUSED;
    }
    const optional = statistics | (draft.maker === 0 ? 0 : HAS_MAKER);
    const flags = entryFlags(draft.expiryMs, draft.maxIdleSeconds) | optional;
    const length = cellBytes(flags, key.words.length, value.length);
    const address = this.#allocate(partition, old, length);
    if (address === 0) {
      if (isRecorded) recorder.abandon(draft);
      return MEMORY_FULL;
    }
    const oldType = old === 0 ? 0 : tagAt(pool.words(old), pool.at(old));
    const oldLength = old === 0 ? 0 : bytesAt(pool.words(old), pool.at(old));
    this.#mapBytes.add(id, length - oldLength);
    const words = pool.words(address);
    const at = pool.at(address);
    writeHead(words, at, flags, id, type, key.words, value.length);
    writeVersion(words, at, draft.version.low, draft.version.high);
    if ((flags & EXPIRES) !== 0) {
      writeFields(words, at, draft.expiryMs, draft.maxIdleSeconds, store.readMs);
      this.#sweeper.add(partition, address);
    }
    if (statistics !== 0) writeStatistics(words, at, draft.hits, draft.lastAccessSeconds);
    if (draft.maker !== 0) writeMaker(words, at, draft.maker);
    writeValue(words, pool.bytes(address), at, value);
    if (isRecorded) nameValue(words, pool.bytes(address), at, draft.value);
    if (old === 0) {
      partition.insert(key.hash(id), address);
      if (isNewMap) this.#lives.set(id, this.newLife.low, this.newLife.high);
      this.#names.use(id);
    } else if (old !== address) {
      partition.replace(key.hash(id), old, address);
      partition.log.kill(old);
    }
    if (type !== oldType) {
      if (type !== 0) this.#contentTypes.use(type);
      if (oldType !== 0) this.#contentTypes.release(oldType);
    }
    this.#end(partition);
    return APPLIED;
  }

  /**
   * Returns the address for the new cell: the address of the old cell if possible; 0 if there is no
   * memory.
   */
  #allocate(partition: Partition, old: number, length: number): number {
    const pool = this.#store.pool;
    if (old === 0) return partition.makeRoom() ? partition.log.allocate(length, false) : 0;
    const fits = bytesAt(pool.words(old), pool.at(old)) === length;
    return fits && pool.writable(old) ? old : partition.log.allocate(length, false);
  }

  /** Removes the entry, whose existing cell was looked up, as described by the draft. */
  remove(address: number, map: Span, key: HashedKey): Outcome {
    const store = this.#store;
    const partition = store.partition(key.partition)!;
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    const id = ownerAt(words, at);
    const type = tagAt(words, at);
    const length = bytesAt(words, at);
    const keepsTombstone = this.#mapFlags.isActive && this.#leavesTombstone(id);
    if (!this.#admitsRemoval(id, address, map, key)) return REFUSED;
    if (keepsTombstone) this.#tombstones.addOf(map, key.span, this.draft);
    partition.remove(key.hash(id), address);
    this.#mapBytes.add(id, -length);
    this.#names.release(id);
    if (type !== 0) this.#contentTypes.release(type);
    this.#end(partition);
    return APPLIED;
  }

  /** Makes the draft's removal of an entry that does not exist: it only leaves a tombstone. */
  removeNothing(id: number, map: Span, key: HashedKey): Outcome {
    const { draft } = this;
    if (!this.#admitsRemoval(id, 0, map, key)) return REFUSED;
    if (draft.origin !== FROM_REPLAY) this.#tombstones.addOf(map, key.span, draft);
    this.#store.raise(draft.partition, draft.sequence);
    this.#recorder.recordIfAdmitted(draft);
    return APPLIED;
  }

  /**
   * Prepares the draft's write into a map; `old` is the cell it replaces. Returns the flag of
   * statistics, or 0. A caller's write preserves the entry's statistics.
   */
  #prepare(id: number, old: number): number {
    const { draft } = this;
    const { pool } = this.#store;
    const flags = this.#mapFlags.of(id);
    if ((flags & KEEPS_TOMBSTONES) !== 0) this.#mapFlags.raise(id, draft.version);
    const isKept = draft.origin === FROM_CLIENT && old !== 0;
    if (draft.origin === FROM_CLIENT || (flags & KEEPS_STATISTICS) === 0) {
      draft.hits = isKept ? hitsAt(pool.words(old), pool.at(old)) : 0;
      draft.lastAccessSeconds = isKept ? lastAccessSecondsAt(pool.words(old), pool.at(old)) : 0;
    }
    return (flags & KEEPS_STATISTICS) === 0 ? 0 : HAS_STATISTICS;
  }

  /**
   * Whether the draft's removal leaves a tombstone. The tombstone of a caller's removal has the
   * version of that removal.
   */
  #leavesTombstone(id: number): boolean {
    const { draft } = this;
    // Replay has already recorded it.
    if (draft.origin === FROM_REPLAY) return false;
    const isKept = (this.#mapFlags.of(id) & KEEPS_TOMBSTONES) !== 0;
    if (!isKept) draft.tombstone.clear();
    else if (draft.origin === FROM_CLIENT) draft.tombstone.copyFrom(draft.version);
    return isKept;
  }

  /** Whether the sinks consent to the removal of the entry; `old`: its cell, 0 for none. */
  #admitsRemoval(id: number, old: number, map: Span, key: HashedKey): boolean {
    const { draft } = this;
    draft.name.copyFrom(map);
    const sinks = this.#mapFlags.sinksFor(draft, id);
    if (sinks.length === 0) return true;
    draft.value.clear();
    draft.contentType.clear();
    return this.#admits(sinks, id, false, old, map, key);
  }

  /** Whether the sinks consent to the change of the entry. */
  #admits(
    sinks: Sinks,
    id: number,
    isNewMap: boolean,
    old: number,
    map: Span,
    key: HashedKey,
  ): boolean {
    const { draft } = this;
    draft.name.copyFrom(map);
    draft.key.copyFrom(key.span);
    if (isNewMap) draft.life.copyFrom(this.newLife);
    else this.#lives.get(id, draft.life);
    this.#store.readVersion(old, draft.replaced);
    return this.#recorder.admits(draft, sinks);
  }

  /** Completes a mutation that has been made. */
  #end(partition: Partition): void {
    this.#store.raise(partition.number, this.draft.sequence);
    this.#recorder.recordIfAdmitted(this.draft);
    this.#cleaner.pay(partition);
    this.#sweeper.pay();
  }
}
