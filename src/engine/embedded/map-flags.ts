/**
 * Properties that only some maps have: removals leave tombstones, reads are counted, not every sink
 * wants the mutations. They are determined once, and cached by the map's id until `review`. As long
 * as no map can have such a property, `isActive` is false, and nothing in this file is called. The
 * reserved map never has any of them.
 * Tested by tombstones.spec.ts.
 */
import { isReservedMap } from '../../base/reserved-map.ts';
import { Span } from '../../base/span.ts';
import { CLEAR, Mutation } from '../mutation.ts';
import type { MutationSink } from '../mutation-sink.ts';
import type { MergeOptions, StoredVisitor, TombstoneCursor } from '../stored-engine.ts';
import { isAfter, type Version } from '../version.ts';
import { ownerAt, versionHighAt, versionLowAt } from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { NameTable } from './name-table.ts';
import type { PagedPairs } from './paged-array.ts';
import { NO_SINKS, type Recorder, type Sinks } from './recorder.ts';

const NEW = 1;
export const KEEPS_TOMBSTONES = 2;
export const KEEPS_STATISTICS = 4;
const REVIEW_SHIFT = 3;
/** Highest number of a review; the next one has the number 1 again. */
const REVIEW_MAX = 2 ** 28;

/** Maximum size of the names of merged maps, in bytes; beyond it, every map counts as merged. */
const MERGED_BYTES_MAX = 1_048_576;
const NAME_BYTES = 64;

export class MapFlags {
  isActive = false;
  /** Whether reads may have to be counted. */
  countsReads = false;
  /** Whether entries that merged clears have ended may still be stored. */
  hasEndedEntries = false;
  readonly #store: CellStore;
  readonly #recorder: Recorder;
  readonly #options: MergeOptions;
  readonly #names: NameTable;
  /**
   * By map: its flags, with the number of the review that determined them; the number of its set of
   * sinks.
   */
  readonly #flags: PagedPairs;
  /** By map that keeps tombstones: no entry has a later version than this one. */
  readonly #latest: PagedPairs;
  /** By map: merged clears have ended everything not later than this version; 0 for none. */
  readonly #ended: PagedPairs;
  #review = 1;
  /** The sets of sinks of maps, by number, and the numbers by the set's members. */
  #sets: Sinks[] = [];
  readonly #setNumbers = new Map<string, number>();
  /** Names of the maps that changes were merged into; undefined for every map. */
  #merged: Set<string> | undefined = new Set();
  #mergedBytes = 0;
  /** The last name added to `#merged`. */
  #lastMerged: Buffer | undefined;
  readonly #name = new Span();

  constructor(store: CellStore, names: NameTable, recorder: Recorder, options: MergeOptions) {
    const { ids } = names;
    this.#store = store;
    this.#names = names;
    this.#recorder = recorder;
    this.#options = options;
    this.#flags = ids.pairs();
    this.#latest = ids.pairs();
    this.#ended = ids.pairs();
    this.review();
  }

  /**
   * Discards the cached flags, so that the options and the sinks are called again for each map.
   */
  review(): void {
    this.#review = (this.#review % REVIEW_MAX) + 1;
    this.#sets = [];
    this.#setNumbers.clear();
    this.isActive ||= this.#recorder.isSelective;
    const { hasKeptMaps, keepsTombstones, keepsStatistics } = this.#options;
    if (hasKeptMaps?.() === false) return;
    this.countsReads ||= keepsStatistics !== undefined;
    this.isActive ||= this.countsReads || keepsTombstones !== undefined;
  }

  /** Resets the flags of an id that was assigned to a map without entries. */
  opened(map: number): void {
    if (!this.isActive) return;
    this.#flags.set(map, NEW, 0);
    if (this.#ended.first(map) !== 0 || this.#ended.second(map) !== 0) this.#ended.set(map, 0, 0);
  }

  /** Returns KEEPS_TOMBSTONES and KEEPS_STATISTICS of the map, as bits. */
  of(map: number): number {
    const recorded = this.#flags.first(map);
    if (recorded >>> REVIEW_SHIFT === this.#review) return recorded;
    return this.#determine(map, recorded);
  }

  keepsTombstones(map: number): boolean {
    return this.isActive && (this.of(map) & KEEPS_TOMBSTONES) !== 0;
  }

  /**
   * Returns the sinks that want the mutation of the map with this id; with 0, of a map that does
   * not exist and has the name in the mutation.
   */
  sinksFor({ origin, name }: Mutation, map: number): Sinks {
    const recorder = this.#recorder;
    if (!recorder.isActiveFor(origin)) return NO_SINKS;
    if (!recorder.isSelective) return recorder.sinks;
    if (map === 0) return this.#chosen(name);
    this.of(map);
    return this.#sets[this.#flags.second(map)]!;
  }

  /** Records that an entry of the map has been written with this version. */
  raise(map: number, version: Version): void {
    if (this.#latest.isBefore(map, version)) this.#latest.set(map, version.low, version.high);
  }

  /**
   * Sets `version` to an upper bound for the versions of the map's entries; the map must keep
   * tombstones.
   */
  latest(map: number, version: Version): void {
    this.#latest.get(map, version);
  }

  /**
   * Records that a merged clear ends everything not later than the version, but not the life of the
   * map. Call Sweeper.removeEnded to have the entries removed.
   */
  end(map: number, version: Version): void {
    if (this.#ended.isBefore(map, version)) this.#ended.set(map, version.low, version.high);
  }

  /** Whether such a clear ends an entry of this version. */
  hasEnded(map: number, version: Version): boolean {
    return !this.#ended.isBefore(map, version);
  }

  /** Whether such a clear has ended the entry of the cell at words[at], which is to be removed. */
  hasEndedAt(words: Int32Array, at: number): boolean {
    if (!this.hasEndedEntries) return false;
    const ended = this.#ended;
    const map = ownerAt(words, at);
    const low = versionLowAt(words, at);
    return !isAfter(low, versionHighAt(words, at), ended.first(map), ended.second(map));
  }

  /** Sets `version` to the version of the last such clear. */
  lastEnd(map: number, version: Version): void {
    this.#ended.get(map, version);
  }

  /** Records that a change is merged into the map: from now on the map keeps tombstones. */
  merge(name: Span): void {
    const merged = this.#merged;
    if (merged === undefined || isReservedMap(name)) return;
    if (this.#lastMerged !== undefined && name.is(this.#lastMerged)) return;
    const text = textOf(name);
    this.#lastMerged = name.toBuffer();
    if (merged.has(text)) return;
    this.#mergedBytes += NAME_BYTES + name.length;
    if (this.#mergedBytes > MERGED_BYTES_MAX) return this.mergeAll();
    merged.add(text);
    this.isActive = true;
    this.review();
  }

  /** Treats every map as one that changes were merged into. */
  mergeAll(): void {
    this.#merged = undefined;
    this.isActive = true;
    this.review();
  }

  /**
   * Passes the maps that changes were merged into to the visitor: see StoredEngine.visitTombstones.
   */
  visitMerged(cursor: TombstoneCursor, budget: number, visitor: StoredVisitor): boolean {
    if (this.#merged === undefined) {
      visitor.onStored(mergedMap(Buffer.alloc(0)));
      return false;
    }
    const names = [...this.#merged];
    const end = Math.min(cursor.mapCount + budget, names.length);
    for (; cursor.mapCount < end; cursor.mapCount++) {
      visitor.onStored(mergedMap(Buffer.from(names[cursor.mapCount]!, 'latin1')));
    }
    return end < names.length;
  }

  #determine(map: number, before: number): number {
    const name = this.#name;
    this.#names.name(map, name);
    const { keepsTombstones, keepsStatistics } = this.#options;
    let flags = this.#review << REVIEW_SHIFT;
    if (!isReservedMap(name)) {
      const isMerged = this.#merged === undefined || this.#merged.has(textOf(name));
      if (isMerged || keepsTombstones?.(name.toBuffer()) === true) flags |= KEEPS_TOMBSTONES;
      if (keepsStatistics?.(name.toBuffer()) === true) flags |= KEEPS_STATISTICS;
    }
    if ((before & KEEPS_TOMBSTONES) === 0) {
      const isNew = (before & NEW) !== 0;
      const { versions } = this.#store;
      this.#latest.set(map, isNew ? 0 : versions.low, isNew ? 0 : versions.high);
    }
    this.#flags.set(map, flags, this.#recorder.isSelective ? this.#setOf(name) : 0);
    return flags;
  }

  #chosen(name: Span): MutationSink[] {
    const isReserved = isReservedMap(name);
    return this.#recorder.sinks.filter(
      (sink) => sink.wants === undefined || (!isReserved && sink.wants(name)),
    );
  }

  #setOf(name: Span): number {
    const { sinks } = this.#recorder;
    const chosen = this.#chosen(name);
    const members = chosen.map((sink) => sinks.indexOf(sink)).join();
    const recorded = this.#setNumbers.get(members);
    if (recorded !== undefined) return recorded;
    const number = this.#sets.push(chosen) - 1;
    this.#setNumbers.set(members, number);
    return number;
  }
}

function textOf(name: Span): string {
  return name.bytes.toString('latin1', name.start, name.end);
}

/** Returns the message for a map that changes were merged into: its tombstone ends nothing. */
function mergedMap(name: Buffer): Mutation {
  const message = new Mutation();
  message.operation = CLEAR;
  message.name.set(name, 0, name.length);
  message.tombstone.set(1, 0);
  return message;
}
