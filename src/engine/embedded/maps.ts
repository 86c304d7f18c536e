/**
 * The maps. All entries of a partition are in one index, for all maps: the map is a number in the
 * cell (its id, which a clear ends) and a count of uses in the table of names. EntryChanges makes
 * the mutations.
 *
 * Replay makes the same mutations from messages, unless later ones are recorded.
 */
import { Span } from '../../base/span.ts';
import { type Condition, isMet } from '../condition.ts';
import { DECIMAL_BYTES_MAX, writeSum } from '../decimal.ts';
import {
  APPLIED,
  CONDITION_FAILED,
  FOREVER,
  type Lifetime,
  NO_NUMBER,
  type Outcome,
  TEXT_PLAIN,
} from '../engine.ts';
import { DELETE, type Mutation, SET } from '../mutation.ts';
import { Version } from '../version.ts';
import {
  countReadAt,
  dueMsAt,
  expiryMsAt,
  flagsAt,
  HAS_STATISTICS,
  maxIdleSecondsAt,
  nameValue,
  tagAt,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import { EntryChanges, type MapComponents } from './entry-changes.ts';
import type { Expiry } from './expiry.ts';
import { HashedKey } from './hashed-key.ts';
import type { MapFlags } from './map-flags.ts';
import type { NameTable } from './name-table.ts';
import type { PagedDoubles } from './paged-array.ts';
import type { Recorder } from './recorder.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Sweeper } from './sweeper.ts';

export class Maps {
  readonly changes: EntryChanges;
  /** Whether there was an entry before the last set with a condition. */
  wasPresent = false;
  /** The sum of the last addition that was made, as text. */
  readonly sum = new Span();
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #mapBytes: PagedDoubles;
  readonly #mapFlags: MapFlags;
  readonly #expiry: Expiry;
  readonly #recorder: Recorder;
  readonly #sweeper: Sweeper;
  readonly #key: HashedKey;
  /** Receives the version if the caller passes none. */
  readonly #unasked = new Version();
  readonly #value = new Span();
  readonly #type = new Span();
  /** A version that is only compared. */
  readonly #seen = new Version();

  constructor(shared: SharedComponents, components: MapComponents) {
    this.changes = new EntryChanges(shared, components);
    this.#store = shared.store;
    this.#names = shared.mapNames;
    this.#contentTypes = shared.contentTypes;
    this.#mapBytes = shared.mapBytes;
    this.#mapFlags = shared.mapFlags;
    this.#recorder = shared.recorder;
    this.#expiry = components.expiry;
    this.#sweeper = components.sweeper;
    this.#key = new HashedKey(shared.store);
  }

  /** Loads the key for one of the operations below: its words and its partition. */
  key(span: Span): HashedKey {
    return this.#key.load(span);
  }

  /** Returns the address of the entry's cell, or 0. An expired entry is removed. */
  find(map: Span, key: HashedKey): number {
    const id = this.#names.find(map);
    const address = id === 0 ? 0 : this.changes.find(id, key);
    if (address === 0) return 0;
    const partition = this.#store.partition(key.partition)!;
    if (partition.dueMs === Number.POSITIVE_INFINITY) return address;
    return this.#expiry.read(partition, address) ? address : 0;
  }

  /**
   * Returns the address of the entry's cell, or 0, for a merge: this does not count as a read of
   * the entry.
   */
  findUnread(map: Span, key: HashedKey): number {
    const { pool, clock } = this.#store;
    const id = this.#names.find(map);
    const address = id === 0 ? 0 : this.changes.find(id, key);
    if (address === 0) return 0;
    const hasExpired = dueMsAt(pool.words(address), pool.at(address)) <= clock.wall();
    return hasExpired ? this.find(map, key) : address;
  }

  /**
   * Writes the entry. APPLIED, CONDITION_FAILED, MEMORY_FULL or REFUSED. `version` is set to the
   * entry's version: the new one, or after CONDITION_FAILED the current one.
   */
  set(
    map: Span,
    key: HashedKey,
    value: Span,
    contentType: Span,
    lifetime: Lifetime = FOREVER,
    condition: Condition = undefined,
    version = this.#unasked,
  ): Outcome {
    const { clock } = this.#store;
    if (condition !== undefined) {
      const address = this.find(map, key);
      this.wasPresent = address !== 0;
      if (!isMet(condition, this.#store.readVersion(address, version))) return CONDITION_FAILED;
    }
    const { timeToLiveMs, maxIdleSeconds } = lifetime;
    this.#store.versions.tick();
    const draft = this.changes.begin(SET, key.partition);
    draft.expiryMs = timeToLiveMs === 0 ? 0 : clock.wall() + timeToLiveMs;
    draft.maxIdleSeconds = maxIdleSeconds;
    const outcome = this.changes.put(0, map, key, value, contentType);
    version.copyFrom(draft.version);
    return outcome;
  }

  /**
   * Adds to the number that is the entry's value. APPLIED, NO_NUMBER, MEMORY_FULL or REFUSED.
   * `lifetime` is that of a new entry; `version` is set to the entry's version.
   */
  add(map: Span, key: HashedKey, by: bigint, lifetime: Lifetime, version: Version): Outcome {
    const { pool, clock } = this.#store;
    const address = this.find(map, key);
    const words = pool.words(address);
    const at = pool.at(address);
    const value = this.#value.copyFrom(ZERO);
    if (address !== 0) nameValue(words, pool.bytes(address), at, value);
    const sum = Buffer.allocUnsafe(DECIMAL_BYTES_MAX);
    const length = writeSum(value, by, sum);
    if (length === 0) return NO_NUMBER;
    this.sum.set(sum, 0, length);
    this.#store.versions.tick();
    const draft = this.changes.begin(SET, key.partition);
    const type = this.#type.copyFrom(TEXT_PLAIN);
    if (address !== 0) {
      draft.expiryMs = expiryMsAt(words, at);
      draft.maxIdleSeconds = maxIdleSecondsAt(words, at);
      this.#contentTypes.name(tagAt(words, at), type);
      // The name's bytes may move while the entry is written.
      type.copyFrom(type.is(TEXT_PLAIN.bytes) ? TEXT_PLAIN : Span.of(type.toBuffer()));
    } else {
      const { timeToLiveMs, maxIdleSeconds } = lifetime;
      draft.expiryMs = timeToLiveMs === 0 ? 0 : clock.wall() + timeToLiveMs;
      draft.maxIdleSeconds = maxIdleSeconds;
    }
    const outcome = this.changes.put(0, map, key, this.sum, type);
    version.copyFrom(draft.version);
    return outcome;
  }

  /**
   * Deletes the entry. APPLIED, even if there was no such entry; CONDITION_FAILED, with the entry's
   * `version`; or REFUSED.
   */
  delete(
    map: Span,
    key: HashedKey,
    condition: Condition = undefined,
    version = this.#unasked,
  ): Outcome {
    const address = this.find(map, key);
    if (condition !== undefined && !isMet(condition, this.#store.readVersion(address, version))) {
      return CONDITION_FAILED;
    }
    if (address === 0) return APPLIED;
    if (this.#recorder.isActive || this.#mapFlags.isActive) this.#store.versions.tick();
    const draft = this.changes.begin(DELETE, key.partition);
    draft.expiryMs = 0;
    draft.maxIdleSeconds = 0;
    return this.changes.remove(address, map, key);
  }

  /** Counts a read of the entry of this cell. */
  countRead(address: number): void {
    const { pool, clock } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    if ((flagsAt(words, at) & HAS_STATISTICS) !== 0) countReadAt(words, at, clock.wall());
  }

  /** Returns the number of entries of the map. */
  size(map: Span): number {
    const id = this.#names.find(map);
    if (id === 0) return 0;
    this.#sweeper.finishDue();
    return this.#names.address(id) === 0 ? 0 : this.#names.uses(id);
  }

  /** Returns the bytes of the map's entries, 0 without entries. Call `size` before it. */
  bytes(map: Span): number {
    return this.#mapBytes.get(this.#names.find(map));
  }

  /** Whether the entry is stored with exactly this version, and no merged clear has ended it. */
  isStored({ name, key, version }: Mutation): boolean {
    const store = this.#store;
    const id = this.#names.find(name);
    const address = id === 0 ? 0 : this.changes.find(id, this.key(key));
    if (address === 0 || !store.readVersion(address, this.#seen).is(version)) return false;
    return !this.#mapFlags.hasEndedAt(store.pool.words(address), store.pool.at(address));
  }

  /**
   * Makes a recorded SET, DELETE or EXPIRE of the key again, in the map with this id; 0 for no map.
   */
  restore(mutation: Mutation, id: number, key: HashedKey): Outcome {
    const { name, value, contentType } = mutation;
    const { changes } = this;
    const { draft } = changes;
    changes.repeated = mutation;
    draft.operation = mutation.operation;
    draft.origin = mutation.origin;
    draft.partition = key.partition;
    draft.sequence = mutation.sequence;
    draft.version.copyFrom(mutation.version);
    if (mutation.path.length > 0) draft.path.copyFrom(mutation.path);
    draft.maker = mutation.maker;
    draft.expiryMs = mutation.expiryMs;
    draft.maxIdleSeconds = mutation.maxIdleSeconds;
    draft.hits = mutation.hits;
    draft.lastAccessSeconds = mutation.lastAccessSeconds;
    draft.tombstone.copyFrom(mutation.tombstone);
    const outcome =
      draft.operation === SET
        ? changes.put(id, name, key, value, contentType)
        : this.#removeAgain(this.changes.find(id, key), name, key);
    changes.repeated = undefined;
    changes.endMade();
    return outcome;
  }

  #removeAgain(old: number, map: Span, key: HashedKey): Outcome {
    if (old !== 0)
      return this.changes.isRedundant(old) ? APPLIED : this.changes.remove(old, map, key);
    if (this.changes.draft.tombstone.isNone) return APPLIED;
    return this.changes.removeNothing(this.#names.find(map), map, key);
  }
}

/** The number that an absent entry counts as. */
const ZERO = Span.of('0');
