/**
 * The maps. All entries of a partition stand in one index, for all maps: the map is a number in the
 * cell (its id, which a clear ends) and a count of uses in the table of names. Each kind of mutation
 * is made in one place, in four steps. `#draft` is filled, and sinks are asked; memory is allocated,
 * which may be refused; the mutation is made, and cannot fail; the sinks are notified, and a share of
 * the background work is done.
 *
 * Replay makes the same mutations from messages, unless later ones are known.
 */
import type { Span } from '../../base/span.ts';
import {
  APPLIED,
  CONDITION_FAILED,
  type Condition,
  FOREVER,
  type Lifetime,
  MEMORY_FULL,
  type Outcome,
  REFUSED,
} from '../engine.ts';
import { KeyWords } from '../key-words.ts';
import { DELETE, FROM_CLIENT, FROM_REPLAY, Mutation, type Operation, SET } from '../mutation.ts';
import { Version } from '../version.ts';
import {
  bytesAt,
  cellBytes,
  EXPIRES,
  entryFlags,
  KEY_BYTES_MAX,
  nameValue,
  ownerAt,
  tagAt,
  VALUE_BYTES_MAX,
  writeFields,
  writeHead,
  writeValue,
  writeVersion,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Cleaner } from './cleaner.ts';
import { Clears } from './clears.ts';
import type { Expiry } from './expiry.ts';
import { KnownEntries } from './known-entries.ts';
import type { MapLives } from './map-lives.ts';
import type { NameTable } from './name-table.ts';
import type { Partition } from './partition.ts';
import { ReadKey } from './read-key.ts';
import type { Recorder } from './recorder.ts';
import type { SharedComponents } from './shared-components.ts';
import type { Sweeper } from './sweeper.ts';

interface MapComponents {
  readonly cleaner: Cleaner;
  readonly sweeper: Sweeper;
  readonly expiry: Expiry;
}

export class Maps {
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #lives: MapLives;
  readonly #cleaner: Cleaner;
  readonly #sweeper: Sweeper;
  readonly #expiry: Expiry;
  readonly #recorder: Recorder;
  readonly #clears: Clears;
  readonly #known: KnownEntries;
  readonly #key: ReadKey;
  /** The mutation being made. Its spans are set only where there are sinks. */
  readonly #draft = new Mutation();
  /** The version that no caller asks for. */
  readonly #unasked = new Version();
  /** A key that is only hashed. */
  readonly #words = new KeyWords();
  /** The recorded mutation that is being made again, if any. */
  #repeated: Mutation | undefined;

  constructor(shared: SharedComponents, { cleaner, sweeper, expiry }: MapComponents) {
    const { store, mapNames, contentTypes, recorder } = shared;
    this.#store = store;
    this.#names = mapNames;
    this.#contentTypes = contentTypes;
    this.#lives = shared.lives;
    this.#cleaner = cleaner;
    this.#sweeper = sweeper;
    this.#expiry = expiry;
    this.#recorder = recorder;
    this.#clears = new Clears(store, mapNames, sweeper, recorder);
    this.#known = new KnownEntries(store, contentTypes);
    this.#key = new ReadKey(store);
  }

  /** The key, for one of the operations below: it is read, and its partition known. */
  key(span: Span): ReadKey {
    return this.#key.load(span);
  }

  /** Address of the entry's cell, or 0. An entry whose time is over goes. */
  find(map: Span, key: ReadKey): number {
    const id = this.#names.find(map);
    const address = id === 0 ? 0 : this.#look(id, key);
    if (address === 0) return 0;
    const partition = this.#store.partition(key.partition)!;
    if (partition.dueMs === Number.POSITIVE_INFINITY) return address;
    return this.#expiry.read(partition, address) ? address : 0;
  }

  /**
   * APPLIED, CONDITION_FAILED, MEMORY_FULL or REFUSED. `version` is set to the entry's: its new one, or after
   * CONDITION_FAILED its own.
   */
  set(
    map: Span,
    key: ReadKey,
    value: Span,
    contentType: Span,
    lifetime: Lifetime = FOREVER,
    condition: Condition = undefined,
    version = this.#unasked,
  ): Outcome {
    const { clock } = this.#store;
    if (condition !== undefined && !this.#isMet(condition, this.find(map, key), version)) {
      return CONDITION_FAILED;
    }
    const { timeToLiveMs, maxIdleSeconds } = lifetime;
    this.#store.versions.tick();
    const draft = this.#begin(SET, key.partition);
    draft.expiryMs = timeToLiveMs === 0 ? 0 : clock.wall() + timeToLiveMs;
    draft.maxIdleSeconds = maxIdleSeconds;
    const outcome = this.#put(0, map, key, value, contentType);
    version.copyFrom(draft.version);
    return outcome;
  }

  /** APPLIED, also where there was no such entry; CONDITION_FAILED, with its `version`, or REFUSED. */
  delete(
    map: Span,
    key: ReadKey,
    condition: Condition = undefined,
    version = this.#unasked,
  ): Outcome {
    const address = this.find(map, key);
    if (condition !== undefined && !this.#isMet(condition, address, version)) {
      return CONDITION_FAILED;
    }
    if (address === 0) return APPLIED;
    if (this.#recorder.isActive) this.#store.versions.tick();
    const draft = this.#begin(DELETE, key.partition);
    draft.expiryMs = 0;
    draft.maxIdleSeconds = 0;
    return this.#remove(address, map, key);
  }

  /** APPLIED, also where there was no such map, or REFUSED. */
  clear(map: Span): Outcome {
    return this.#clears.clear(map);
  }

  /** Entries of the map. */
  size(map: Span): number {
    const id = this.#names.find(map);
    if (id === 0) return 0;
    this.#expiry.finish();
    return this.#names.address(id) === 0 ? 0 : this.#names.uses(id);
  }

  /** Whether the entry is stored in that very version. */
  isStored({ name, key, version }: Mutation): boolean {
    const store = this.#store;
    const id = this.#names.find(name);
    const address = id === 0 ? 0 : this.#look(id, this.key(key));
    return address !== 0 && store.readVersion(address, this.#draft.replaced).is(version);
  }

  /** The hash by which the entry of a map with that id is found. */
  hash(id: number, key: Span): number {
    return this.#store.hash(id, this.#words.load(key));
  }

  /** Makes a recorded SET, DELETE or EXPIRE again, in the map with that id; `hash` is the entry's. */
  restore(mutation: Mutation, id: number, hash: number): Outcome {
    const { name, value, contentType } = mutation;
    const draft = this.#draft;
    const key = this.key(mutation.key);
    key.setHash(id, hash);
    this.#repeated = mutation;
    draft.operation = mutation.operation;
    draft.origin = mutation.origin;
    draft.partition = key.partition;
    draft.sequence = mutation.sequence;
    draft.version.copyFrom(mutation.version);
    if (mutation.path.length > 0) draft.path.copyFrom(mutation.path);
    draft.expiryMs = mutation.expiryMs;
    draft.maxIdleSeconds = mutation.maxIdleSeconds;
    const outcome =
      draft.operation === SET
        ? this.#put(id, name, key, value, contentType)
        : this.#removeAgain(this.#look(id, key), name, key);
    this.#repeated = undefined;
    // A caller's mutations have no path.
    if (draft.path.length > 0) draft.path.clear();
    return outcome;
  }

  /** Makes a recorded CLEAR again, of the map with that id, if it exists. */
  restoreClear(mutation: Mutation, id: number): Outcome {
    return this.#clears.restore(mutation, id);
  }

  /** Whether the entry of that cell, 0 for none, meets the condition; `version` is set to its own. */
  #isMet(condition: Version, address: number, version: Version): boolean {
    return this.#store.readVersion(address, version).is(condition);
  }

  /** A caller's mutation of an entry of the partition, with the version given. */
  #begin(operation: Operation, partition: number): Mutation {
    const { versions } = this.#store;
    const draft = this.#draft;
    draft.operation = operation;
    draft.origin = FROM_CLIENT;
    draft.version.set(versions.low, versions.high);
    draft.partition = partition;
    draft.sequence = this.#store.next(partition);
    return draft;
  }

  /** Address of the cell of the key in the map with that id, or 0. */
  #look(id: number, key: ReadKey): number {
    return this.#store.partition(key.partition)?.find(id, key.hash(id), key.words) ?? 0;
  }

  /** Whether the draft is made again, and the stored entry says that it need not be. */
  #isKnown(address: number): boolean {
    const change = this.#repeated;
    return change !== undefined && address !== 0 && this.#known.isKnown(change, address);
  }

  #removeAgain(old: number, map: Span, key: ReadKey): Outcome {
    return old === 0 || this.#isKnown(old) ? APPLIED : this.#remove(old, map, key);
  }

  /** Puts the entry into the map with that id, or 0 to open it by its name. */
  #put(known: number, map: Span, key: ReadKey, value: Span, contentType: Span): Outcome {
    if (key.span.length > KEY_BYTES_MAX || value.length > VALUE_BYTES_MAX) return MEMORY_FULL;
    let outcome = this.#tryPut(known, map, key, value, contentType);
    // The write may have the memory of cleared or expired entries that are left.
    if (outcome === MEMORY_FULL && this.#sweeper.help()) {
      const { origin } = this.#draft;
      if (origin !== FROM_REPLAY) this.#draft.sequence = this.#store.next(key.partition);
      outcome = this.#tryPut(known, map, key, value, contentType);
    }
    return outcome;
  }

  #tryPut(known: number, map: Span, key: ReadKey, value: Span, contentType: Span): Outcome {
    const id = known === 0 ? this.#names.open(map) : known;
    if (id === 0) return MEMORY_FULL;
    const type = contentType.length === 0 ? 0 : this.#contentTypes.open(contentType);
    let outcome: Outcome = MEMORY_FULL;
    if (type !== 0 || contentType.length === 0) {
      const old = this.#look(id, key);
      const isKnown = this.#isKnown(old);
      outcome = isKnown ? APPLIED : this.#write(id, type, old, map, key, value, contentType);
      if (outcome === APPLIED && !isKnown) return APPLIED;
      if (type !== 0) this.#contentTypes.dropUnused(type);
    }
    this.#names.dropUnused(id);
    this.#cleaner.payForNames();
    return outcome;
  }

  /** Writes the entry, whose cell was looked up, as the draft tells. */
  #write(
    id: number,
    type: number,
    old: number,
    map: Span,
    key: ReadKey,
    value: Span,
    contentType: Span,
  ): Outcome {
    const store = this.#store;
    const pool = store.pool;
    const draft = this.#draft;
    const recorder = this.#recorder;
    const isRecorded = recorder.isActiveFor(draft.origin);
    const partition = store.openPartition(key.partition);
    const isNewMap = old === 0 && this.#names.uses(id) === 0;
    if (isRecorded) {
      draft.value.copyFrom(value);
      draft.contentType.copyFrom(contentType);
      if (!this.#admits(id, isNewMap, old, map, key)) return REFUSED;
    }
    const flags = entryFlags(draft.expiryMs, draft.maxIdleSeconds);
    const length = cellBytes(flags, key.words.length, value.length);
    const address = this.#allocate(partition, old, length);
    if (address === 0) {
      if (isRecorded) recorder.abandon(draft);
      return MEMORY_FULL;
    }
    const oldType = old === 0 ? 0 : tagAt(pool.words(old), pool.at(old));
    const words = pool.words(address);
    const at = pool.at(address);
    writeHead(words, at, flags, id, type, key.words, value.length);
    writeVersion(words, at, draft.version.low, draft.version.high);
    if ((flags & EXPIRES) !== 0) {
      writeFields(words, at, draft.expiryMs, draft.maxIdleSeconds, store.readMs);
      this.#expiry.add(partition, address);
    }
    writeValue(words, pool.bytes(address), at, value);
    if (isRecorded) nameValue(words, pool.bytes(address), at, draft.value);
    if (old === 0) {
      partition.insert(key.hash(id), address);
      if (isNewMap) this.#lives.set(id, draft.version);
      this.#names.use(id);
    } else if (old !== address) {
      partition.replace(key.hash(id), old, address);
      partition.log.kill(old);
    }
    if (type !== 0) this.#contentTypes.use(type);
    if (oldType !== 0) this.#contentTypes.release(oldType);
    this.#end(partition);
    return APPLIED;
  }

  /** The address for the new cell: that of the old one where possible; 0 without memory. */
  #allocate(partition: Partition, old: number, length: number): number {
    const pool = this.#store.pool;
    if (old === 0) return partition.makeRoom() ? partition.log.allocate(length, false) : 0;
    const fits = bytesAt(pool.words(old), pool.at(old)) === length;
    return fits && pool.writable(old) ? old : partition.log.allocate(length, false);
  }

  /** Removes the entry, whose cell was looked up and exists, as the draft tells. */
  #remove(address: number, map: Span, key: ReadKey): Outcome {
    const store = this.#store;
    const partition = store.partition(key.partition)!;
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    const id = ownerAt(words, at);
    const type = tagAt(words, at);
    if (this.#recorder.isActiveFor(this.#draft.origin)) {
      this.#draft.value.clear();
      this.#draft.contentType.clear();
      if (!this.#admits(id, false, address, map, key)) return REFUSED;
    }
    partition.remove(key.hash(id), address);
    this.#names.release(id);
    if (type !== 0) this.#contentTypes.release(type);
    this.#end(partition);
    return APPLIED;
  }

  /** Whether the sinks consent to the change of the entry. */
  #admits(id: number, isNewMap: boolean, old: number, map: Span, key: ReadKey): boolean {
    const draft = this.#draft;
    draft.name.copyFrom(map);
    draft.key.copyFrom(key.span);
    if (isNewMap) draft.life.copyFrom(draft.version);
    else this.#lives.get(id, draft.life);
    this.#store.readVersion(old, draft.replaced);
    return this.#recorder.admits(draft);
  }

  /** The mutation has been made. */
  #end(partition: Partition): void {
    this.#store.raise(partition.number, this.#draft.sequence);
    this.#recorder.tell(this.#draft);
    this.#cleaner.pay(partition);
    this.#sweeper.pay(partition);
  }
}
