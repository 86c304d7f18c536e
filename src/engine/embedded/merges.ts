/**
 * Merges changes of other data sets (see StoredEngine.merge). A change that wins keeps its version, so that
 * all data sets come to the same; but a replay of this one's log has to choose it, too. Where that would
 * choose the entry that is here, the change gets this data set's next version. A life of a map that begins
 * with a change begins with such a version as well, as an older life, known in the log, would end it.
 */
import { APPLIED, EVERY_PARTITION, KNOWN, OUTDATED, type Outcome } from '../engine.ts';
import {
  EXPIRATION_TIME,
  HIGHER_HITS,
  LATEST_ACCESS,
  LATEST_UPDATE,
  type MergePolicy,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../merge-policy.ts';
import { CLEAR, DELETE, type Mutation, SET } from '../mutation.ts';
import { Version } from '../version.ts';
import { expiryMsAt, HITS_MAX, hitsAt, lastAccessSecondsAt } from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Clears } from './clears.ts';
import type { EntryChanges } from './entry-changes.ts';
import type { Expiry } from './expiry.ts';
import { KnownEntries } from './known-entries.ts';
import type { MapCuts } from './map-cuts.ts';
import type { MapTraits } from './map-traits.ts';
import type { Maps } from './maps.ts';
import type { NameTable } from './name-table.ts';
import type { ReadKey } from './read-key.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Tombstones } from './tombstones.ts';

export class Merges {
  /** The partition of the last merge, and the version of its entry after a set; otherwise none. */
  partition = EVERY_PARTITION;
  readonly version = new Version();
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #traits: MapTraits;
  readonly #tombstones: Tombstones;
  readonly #cuts: MapCuts;
  readonly #expiry: Expiry;
  readonly #maps: Maps;
  readonly #changes: EntryChanges;
  readonly #clears: Clears;
  readonly #known: KnownEntries;
  readonly #stored = new Version();
  readonly #tombstone = new Version();
  /** This data set's next version, for a winner or a life. */
  readonly #next = new Version();

  constructor(shared: SharedComponents, maps: Maps, expiry: Expiry) {
    this.#store = shared.store;
    this.#names = shared.mapNames;
    this.#traits = shared.traits;
    this.#tombstones = shared.tombstones;
    this.#cuts = shared.cuts;
    this.#expiry = expiry;
    this.#maps = maps;
    this.#changes = maps.changes;
    this.#clears = maps.clears;
    this.#known = new KnownEntries(shared.store, shared.contentTypes);
  }

  merge(change: Mutation, policy: MergePolicy): Outcome {
    this.version.clear();
    this.#store.versions.restore(change.version);
    this.#traits.merge(change.name);
    if (change.operation === CLEAR) return this.#clear(change);
    const key = this.#maps.key(change.key);
    this.partition = key.partition;
    const address = this.#maps.findUnread(change.name, key);
    return change.operation === SET
      ? this.#set(change, key, address, policy)
      : this.#delete(change, key, address, policy);
  }

  #set(change: Mutation, key: ReadKey, address: number, policy: MergePolicy): Outcome {
    const { name, version } = change;
    this.#tombstones.ofKey(name, change.key, this.#tombstone);
    if (!version.isAfter(this.#tombstone)) return OUTDATED;
    this.#tombstones.ofMap(name, this.#tombstone);
    if (!version.isAfter(this.#tombstone)) return OUTDATED;
    this.#store.readVersion(address, this.#stored);
    const id = this.#names.find(name);
    // The tombstone of a clear may have been forgotten: the clear would end the set all the same.
    let isLater = id === 0 || !this.#traits.hasEnded(id, version);
    // What a clear has ended counts as gone, also where its step has not come yet.
    if (address !== 0 && this.#stored.isAfter(this.#tombstone)) {
      const order = this.#known.compare(change, address);
      if (order === 0) {
        this.version.copyFrom(version);
        return KNOWN;
      }
      if (!this.#wins(change, address, policy, order)) return OUTDATED;
      isLater &&= order > 0;
    }
    this.#tick();
    const draft = this.#begin(change, key);
    if (!isLater) draft.version.copyFrom(this.#next);
    draft.expiryMs = change.expiryMs;
    draft.maxIdleSeconds = change.maxIdleSeconds;
    draft.hits = Math.min(change.hits, HITS_MAX);
    draft.lastAccessSeconds = change.lastAccessSeconds;
    const changes = this.#changes;
    changes.newLife = this.#next;
    const outcome = changes.put(0, name, key, change.value, change.contentType);
    changes.newLife = draft.version;
    this.version.copyFrom(draft.version);
    changes.endMade();
    return outcome;
  }

  /** Whether the set wins against the entry of that cell; `order`: as compareChanges has them. */
  #wins(change: Mutation, address: number, policy: MergePolicy, order: number): boolean {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    switch (policy) {
      case PASS_THROUGH:
        return true;
      case PUT_IF_ABSENT:
        return false;
      case LATEST_UPDATE:
        return order > 0;
      case HIGHER_HITS:
        return change.hits >= hitsAt(words, at);
      case LATEST_ACCESS:
        return change.lastAccessSeconds >= lastAccessSecondsAt(words, at);
      case EXPIRATION_TIME:
        return endOf(change.expiryMs) >= endOf(expiryMsAt(words, at));
    }
  }

  #delete(change: Mutation, key: ReadKey, address: number, policy: MergePolicy): Outcome {
    const { name, version } = change;
    const tombstone = this.#tombstone;
    this.#tombstones.ofKey(name, change.key, tombstone);
    if (version.is(tombstone)) return KNOWN;
    this.#store.readVersion(address, this.#stored);
    const isEarlier = this.#stored.isAfter(version);
    if (isEarlier && policy !== PASS_THROUGH) return OUTDATED;
    if (address === 0) {
      if (!version.isAfter(tombstone)) return OUTDATED;
      this.#tombstones.ofMap(name, tombstone);
      if (!version.isAfter(tombstone)) return OUTDATED;
    }
    const changes = this.#changes;
    const draft = this.#begin(change, key);
    draft.expiryMs = 0;
    draft.maxIdleSeconds = 0;
    draft.tombstone.copyFrom(version);
    if (isEarlier) {
      this.#tick();
      draft.version.copyFrom(this.#next);
    }
    const outcome =
      address === 0
        ? changes.removeNothing(this.#names.find(name), name, key)
        : changes.remove(address, name, key);
    changes.endMade();
    return outcome;
  }

  #clear(change: Mutation): Outcome {
    const { name, version } = change;
    const tombstone = this.#tombstone;
    this.partition = EVERY_PARTITION;
    this.#tombstones.ofMap(name, tombstone);
    if (version.is(tombstone)) return KNOWN;
    if (!version.isAfter(tombstone)) return OUTDATED;
    const id = this.#names.find(name);
    const isWhole = id === 0 || this.#endsAll(id, version);
    const outcome = this.#clears.merge(change, id, isWhole);
    if (isWhole || outcome !== APPLIED) return outcome;
    this.#traits.end(id, version);
    this.#cuts.add(id, version);
    this.#expiry.cut();
    return outcome;
  }

  /** Whether no entry of the map is later than the version. */
  #endsAll(id: number, version: Version): boolean {
    if (!this.#traits.keepsTombstones(id)) return false;
    this.#traits.latest(id, this.#stored);
    return !this.#stored.isAfter(version);
  }

  #tick(): void {
    const { versions } = this.#store;
    versions.tick();
    this.#next.set(versions.low, versions.high);
  }

  #begin(change: Mutation, key: ReadKey): Mutation {
    const draft = this.#changes.begin(change.operation === SET ? SET : DELETE, key.partition);
    draft.origin = change.origin;
    draft.version.copyFrom(change.version);
    draft.path.copyFrom(change.path);
    return draft;
  }
}

/** 0 is no end, which is the latest. */
function endOf(expiryMs: number): number {
  return expiryMs === 0 ? Number.POSITIVE_INFINITY : expiryMs;
}
