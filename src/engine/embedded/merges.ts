/**
 * Merges changes of other data sets (see StoredEngine.merge). A change that wins keeps its version,
 * so that all data sets converge; but a replay of this data set's log must select it as well. If
 * the replay would select the stored entry instead, this data set assigns the change a version. A
 * map's life that begins with a merged change begins with this data set's next version, because an
 * older life that is recorded in the log would end it otherwise. Tested by embedded-engine.spec.ts.
 */
import { EVERY_PARTITION } from '../../base/partition-number.ts';
import { isReservedMap } from '../../base/reserved-map.ts';
import { APPLIED, KNOWN, OUTDATED, type Outcome } from '../engine.ts';
import {
  EXPIRATION_TIME,
  HIGHER_HITS,
  LATEST_ACCESS,
  LATEST_UPDATE,
  type MergePolicy,
  PASS_THROUGH,
  PUT_IF_ABSENT,
} from '../merge-policy.ts';
import { CLEAR, compareEnds, DELETE, type Mutation, SET } from '../mutation.ts';
import { Version } from '../version.ts';
import { expiryMsAt, HITS_MAX, hitsAt, lastAccessSecondsAt, makerAt } from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Clears } from './clears.ts';
import type { EntryChanges } from './entry-changes.ts';
import { EntryComparison } from './entry-comparison.ts';
import type { HashedKey } from './hashed-key.ts';
import type { MapFlags } from './map-flags.ts';
import type { Maps } from './maps.ts';
import type { NameTable } from './name-table.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Sweeper } from './sweeper.ts';
import type { Tombstones } from './tombstones.ts';

interface MergeComponents {
  readonly maps: Maps;
  readonly clears: Clears;
  readonly sweeper: Sweeper;
}

export class Merges {
  /**
   * The partition of the last merge; `version`: the version of its entry after a set, otherwise
   * none.
   */
  partition = EVERY_PARTITION;
  readonly version = new Version();
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #mapFlags: MapFlags;
  readonly #tombstones: Tombstones;
  readonly #sweeper: Sweeper;
  readonly #maps: Maps;
  readonly #changes: EntryChanges;
  readonly #clears: Clears;
  readonly #comparison: EntryComparison;
  readonly #stored = new Version();
  readonly #ofKey = new Version();
  readonly #ofMap = new Version();
  /** The later of the two tombstones; then the latest version that a set replaces. */
  readonly #removed = new Version();
  /** This data set's next version, for a life. */
  readonly #next = new Version();

  constructor(shared: SharedComponents, { maps, clears, sweeper }: MergeComponents) {
    this.#store = shared.store;
    this.#names = shared.mapNames;
    this.#mapFlags = shared.mapFlags;
    this.#tombstones = shared.tombstones;
    this.#sweeper = sweeper;
    this.#maps = maps;
    this.#changes = maps.changes;
    this.#clears = clears;
    this.#comparison = new EntryComparison(shared.store, shared.contentTypes);
  }

  merge(change: Mutation, policy: MergePolicy, syncBegan: Version = NONE): Outcome {
    this.version.clear();
    this.partition = EVERY_PARTITION;
    if (isReservedMap(change.name)) return OUTDATED;
    this.#store.versions.restore(change.version);
    this.#mapFlags.merge(change.name);
    if (change.operation === CLEAR) return this.#clear(change);
    const key = this.#maps.key(change.key);
    this.partition = key.partition;
    const address = this.#maps.findUnread(change.name, key);
    this.#readTombstones(change);
    return change.operation === SET
      ? this.#set(change, key, address, policy, syncBegan)
      : this.#delete(change, key, address, policy);
  }

  /**
   * Reads the tombstones of the change's key and of its map, and determines the later of the two.
   */
  #readTombstones({ name, key }: Mutation): void {
    this.#tombstones.ofKey(name, key, this.#ofKey);
    this.#tombstones.ofMap(name, this.#ofMap);
    this.#removed.copyFrom(this.#ofKey.isAfter(this.#ofMap) ? this.#ofKey : this.#ofMap);
  }

  #set(
    change: Mutation,
    key: HashedKey,
    address: number,
    policy: MergePolicy,
    syncBegan: Version,
  ): Outcome {
    const { name, version } = change;
    const replaced = this.#removed;
    const isRemoved = !version.isAfter(replaced);
    if (isRemoved && (policy === LATEST_UPDATE || replaced.isAfter(syncBegan))) return OUTDATED;
    this.#store.readVersion(address, this.#stored);
    const id = this.#names.find(name);
    // The tombstone of a clear may have been dropped: the clear would end the set nevertheless.
    let isLater = !isRemoved && (id === 0 || !this.#mapFlags.hasEnded(id, version));
    // An entry that a clear has ended counts as removed, even if the step that removes it is still
    // due.
    if (address !== 0 && this.#stored.isAfter(this.#ofMap)) {
      const order = this.#comparison.compare(change, address);
      if (order === 0) {
        this.version.copyFrom(version);
        return KNOWN;
      }
      const isPast = order < 0 && this.#isOfMaker(change, address);
      if (isPast && this.#stored.isAfter(syncBegan)) return OUTDATED;
      if (!this.#wins(change, address, policy, order)) return OUTDATED;
      isLater &&= order > 0;
      if (this.#stored.isAfter(replaced)) replaced.copyFrom(this.#stored);
    }
    this.#tick();
    const draft = this.#begin(change, key);
    if (!isLater) this.#assignVersion(draft, id, replaced);
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

  /** Whether the version of the cell's entry was generated by the maker of the change. */
  #isOfMaker({ maker }: Mutation, address: number): boolean {
    const { pool } = this.#store;
    return maker === makerAt(pool.words(address), pool.at(address));
  }

  /**
   * Assigns the draft this data set's version right after `replaced`; the clock's next one if a
   * clear ends that.
   */
  #assignVersion(draft: Mutation, id: number, replaced: Version): void {
    draft.maker = 0;
    draft.version.copyFrom(replaced).stepForward();
    if (id !== 0 && this.#mapFlags.hasEnded(id, draft.version)) draft.version.copyFrom(this.#next);
    this.#store.versions.restore(draft.version);
  }

  /**
   * Whether the set wins against the entry of the cell; `order` is the result of compareChanges.
   */
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
        return compareEnds(change.expiryMs, expiryMsAt(words, at)) >= 0;
    }
  }

  #delete(change: Mutation, key: HashedKey, address: number, policy: MergePolicy): Outcome {
    const { name, version } = change;
    if (version.is(this.#ofKey)) return KNOWN;
    if (!version.isAfter(this.#removed)) return OUTDATED;
    this.#store.readVersion(address, this.#stored);
    const isEarlier = this.#stored.isAfter(version);
    if (isEarlier && (policy !== PASS_THROUGH || this.#isOfMaker(change, address))) return OUTDATED;
    const changes = this.#changes;
    const draft = this.#begin(change, key);
    draft.expiryMs = 0;
    draft.maxIdleSeconds = 0;
    draft.tombstone.copyFrom(version);
    if (isEarlier) this.#assignVersion(draft, 0, this.#stored);
    const outcome =
      address === 0
        ? changes.removeNothing(this.#names.find(name), name, key)
        : changes.remove(address, name, key);
    changes.endMade();
    return outcome;
  }

  #clear(change: Mutation): Outcome {
    const { name, version } = change;
    const ofMap = this.#ofMap;
    this.#tombstones.ofMap(name, ofMap);
    if (version.is(ofMap)) return KNOWN;
    if (!version.isAfter(ofMap)) return OUTDATED;
    const id = this.#names.find(name);
    const isWhole = id === 0 || this.#endsAll(id, version);
    const outcome = this.#clears.merge(change, id, isWhole);
    if (isWhole || outcome !== APPLIED) return outcome;
    this.#mapFlags.end(id, version);
    this.#sweeper.removeEnded();
    return outcome;
  }

  /** Whether no entry of the map is later than the version. */
  #endsAll(id: number, version: Version): boolean {
    if (!this.#mapFlags.keepsTombstones(id)) return false;
    this.#mapFlags.latest(id, this.#stored);
    return !this.#stored.isAfter(version);
  }

  #tick(): void {
    const { versions } = this.#store;
    versions.tick();
    this.#next.set(versions.low, versions.high);
  }

  #begin(change: Mutation, key: HashedKey): Mutation {
    const draft = this.#changes.begin(change.operation === SET ? SET : DELETE, key.partition);
    draft.origin = change.origin;
    draft.version.copyFrom(change.version);
    draft.path.copyFrom(change.path);
    draft.maker = change.maker;
    return draft;
  }
}

const NONE = new Version();
