/**
 * The maps. All entries of a partition stand in one index, for all maps: the map is a number in the
 * record (its id, which a clear ends) and a count of uses in the table of names. Each kind of mutation
 * is made in one place, in four steps. `#draft` is filled, and sinks are asked; memory is reserved,
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
import { DELETE, FROM_CLIENT, FROM_REPLAY, Mutation, type Operation, SET } from '../mutation.ts';
import type { Version } from '../version.ts';
import type { Cleaner } from './cleaner.ts';
import { Clears } from './clears.ts';
import type { Expiry } from './expiry.ts';
import { KeyWords } from './key-words.ts';
import { KnownEntries } from './known-entries.ts';
import type { MapLives } from './map-lives.ts';
import type { NameTable } from './name-table.ts';
import type { Partition } from './partition.ts';
import {
  bytesAt,
  EXPIRES,
  entryFlags,
  KEY_BYTES_MAX,
  nameValue,
  ownerAt,
  recordBytes,
  tagAt,
  VALUE_BYTES_MAX,
  writeFields,
  writeHead,
  writeValue,
  writeVersion,
} from './record.ts';
import type { RecordStore } from './record-store.ts';
import type { Recorder } from './recorder.ts';
import type { Sweeper } from './sweeper.ts';

export class Maps {
  readonly #store: RecordStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #lives: MapLives;
  readonly #cleaner: Cleaner;
  readonly #sweeper: Sweeper;
  readonly #expiry: Expiry;
  readonly #recorder: Recorder;
  readonly #clears: Clears;
  readonly #known: KnownEntries;
  readonly #key = new KeyWords();
  /** The mutation being made. Its spans are set only where there are sinks. */
  readonly #draft = new Mutation();
  /** The recorded mutation that is being made again, if any. */
  #repeated: Mutation | undefined;
  /** Hash of `#key` in the map with the id `#hashOf`; 0 for none. */
  #hash = 0;
  #hashOf = 0;
  /** The partition of the last key. */
  partition = 0;

  constructor(
    store: RecordStore,
    names: NameTable,
    contentTypes: NameTable,
    lives: MapLives,
    cleaner: Cleaner,
    sweeper: Sweeper,
    expiry: Expiry,
    recorder: Recorder,
  ) {
    this.#store = store;
    this.#names = names;
    this.#contentTypes = contentTypes;
    this.#lives = lives;
    this.#cleaner = cleaner;
    this.#sweeper = sweeper;
    this.#expiry = expiry;
    this.#recorder = recorder;
    this.#clears = new Clears(store, names, sweeper, recorder);
    this.#known = new KnownEntries(store, contentTypes);
  }

  /** Address of the entry's record, or 0. An entry whose time is over goes. */
  find(map: Span, key: Span): number {
    this.#load(key);
    const id = this.#names.find(map);
    const address = id === 0 ? 0 : this.#look(id);
    if (address === 0) return 0;
    const partition = this.#store.partition(this.partition)!;
    if (partition.dueMs === Number.POSITIVE_INFINITY) return address;
    return this.#expiry.read(partition, address) ? address : 0;
  }

  /** The entry's version: its new one after a set that was made; its own after CONDITION_FAILED. */
  get version(): Version {
    return this.#draft.version;
  }

  /** APPLIED, CONDITION_FAILED, MEMORY_FULL or REFUSED. */
  set(
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
    lifetime: Lifetime = FOREVER,
    condition: Condition = undefined,
  ): Outcome {
    const { clock } = this.#store;
    if (condition !== undefined && !this.#isMet(condition, this.find(map, key))) {
      return CONDITION_FAILED;
    }
    const { timeToLiveMs, maxIdleSeconds } = lifetime;
    this.#load(key);
    this.#store.versions.tick();
    const draft = this.#begin(SET);
    draft.expiryMs = timeToLiveMs === 0 ? 0 : clock.wall() + timeToLiveMs;
    draft.maxIdleSeconds = maxIdleSeconds;
    return this.#put(0, map, key, value, contentType);
  }

  /** APPLIED, also where there was no such entry; CONDITION_FAILED or REFUSED. */
  delete(map: Span, key: Span, condition: Condition = undefined): Outcome {
    const address = this.find(map, key);
    if (condition !== undefined && !this.#isMet(condition, address)) return CONDITION_FAILED;
    if (address === 0) return APPLIED;
    if (this.#recorder.isActive) this.#store.versions.tick();
    const draft = this.#begin(DELETE);
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
    this.#load(key);
    const address = id === 0 ? 0 : this.#look(id);
    return address !== 0 && store.readVersion(address, this.#draft.replaced).is(version);
  }

  /** The hash by which the entry of a map with that id is found. */
  hash(id: number, key: Span): number {
    this.#hashOf = 0;
    return this.#store.hash(id, this.#key.load(key));
  }

  /** Makes a recorded SET, DELETE or EXPIRE again, in the map with that id; `hash` is the entry's. */
  restore(mutation: Mutation, id: number, hash: number): Outcome {
    const { name, key, value, contentType } = mutation;
    const draft = this.#draft;
    this.#load(key);
    this.#hash = hash;
    this.#hashOf = id;
    this.#repeated = mutation;
    draft.operation = mutation.operation;
    draft.origin = mutation.origin;
    draft.sequence = mutation.sequence;
    draft.version.copyFrom(mutation.version);
    if (mutation.path.length > 0) draft.path.copyFrom(mutation.path);
    draft.expiryMs = mutation.expiryMs;
    draft.maxIdleSeconds = mutation.maxIdleSeconds;
    const outcome =
      draft.operation === SET
        ? this.#put(id, name, key, value, contentType)
        : this.#removeAgain(this.#look(id), name, key);
    this.#repeated = undefined;
    // A caller's mutations have no path.
    if (draft.path.length > 0) draft.path.clear();
    return outcome;
  }

  /** Makes a recorded CLEAR again, of the map with that id, if it exists. */
  restoreClear(mutation: Mutation, id: number): Outcome {
    return this.#clears.restore(mutation, id);
  }

  /** Whether the entry of that record, 0 for none, meets the condition; the draft gets its version. */
  #isMet(condition: Version, address: number): boolean {
    return this.#store.readVersion(address, this.#draft.version).is(condition);
  }

  #load(key: Span): void {
    this.partition = this.#store.partitionOf(this.#key.load(key));
    this.#hashOf = 0;
  }

  /** A caller's mutation of the entry of `#key`, with the version given. */
  #begin(operation: Operation): Mutation {
    const { versions } = this.#store;
    const draft = this.#draft;
    draft.operation = operation;
    draft.origin = FROM_CLIENT;
    draft.version.set(versions.low, versions.high);
    draft.sequence = this.#store.next(this.partition);
    return draft;
  }

  /** Address of the record of `#key` in the map with that id, or 0. */
  #look(id: number): number {
    const store = this.#store;
    if (this.#hashOf !== id) {
      this.#hash = store.hash(id, this.#key);
      this.#hashOf = id;
    }
    return store.partition(this.partition)?.find(id, this.#hash, this.#key) ?? 0;
  }

  /** Whether the draft is made again, and the stored entry says that it need not be. */
  #isKnown(address: number): boolean {
    const change = this.#repeated;
    return change !== undefined && address !== 0 && this.#known.isKnown(change, address);
  }

  #removeAgain(old: number, map: Span, key: Span): Outcome {
    return old === 0 || this.#isKnown(old) ? APPLIED : this.#remove(old, map, key);
  }

  /** Puts the entry of `#key` into the map with that id, or 0 to open it by its name. */
  #put(known: number, map: Span, key: Span, value: Span, contentType: Span): Outcome {
    if (key.length > KEY_BYTES_MAX || value.length > VALUE_BYTES_MAX) return MEMORY_FULL;
    let outcome = this.#tryPut(known, map, key, value, contentType);
    // The write may have the memory of cleared or expired entries that are left.
    if (outcome === MEMORY_FULL && this.#sweeper.help()) {
      if (this.#draft.origin !== FROM_REPLAY)
        this.#draft.sequence = this.#store.next(this.partition);
      outcome = this.#tryPut(known, map, key, value, contentType);
    }
    return outcome;
  }

  #tryPut(known: number, map: Span, key: Span, value: Span, contentType: Span): Outcome {
    const id = known === 0 ? this.#names.open(map) : known;
    if (id === 0) return MEMORY_FULL;
    const type = contentType.length === 0 ? 0 : this.#contentTypes.open(contentType);
    let outcome: Outcome = MEMORY_FULL;
    if (type !== 0 || contentType.length === 0) {
      const old = this.#look(id);
      const isKnown = this.#isKnown(old);
      outcome = isKnown ? APPLIED : this.#write(id, type, old, map, key, value, contentType);
      if (outcome === APPLIED && !isKnown) return APPLIED;
      if (type !== 0) this.#contentTypes.dropUnused(type);
    }
    this.#names.dropUnused(id);
    this.#cleaner.payForNames();
    return outcome;
  }

  /** Writes the entry of `#key`, whose record was looked up, as the draft tells. */
  #write(
    id: number,
    type: number,
    old: number,
    map: Span,
    key: Span,
    value: Span,
    contentType: Span,
  ): Outcome {
    const store = this.#store;
    const pool = store.pool;
    const draft = this.#draft;
    const recorder = this.#recorder;
    const isRecorded = recorder.isActiveFor(draft.origin);
    const partition = store.openPartition(this.partition);
    const isNewMap = old === 0 && this.#names.uses(id) === 0;
    if (isRecorded) {
      draft.value.copyFrom(value);
      draft.contentType.copyFrom(contentType);
      if (!this.#admits(id, isNewMap, old, map, key)) return REFUSED;
    }
    const flags = entryFlags(draft.expiryMs, draft.maxIdleSeconds);
    const length = recordBytes(flags, this.#key.length, value.length);
    const address = this.#reserve(partition, old, length);
    if (address === 0) {
      if (isRecorded) recorder.abandon(draft);
      return MEMORY_FULL;
    }
    const oldType = old === 0 ? 0 : tagAt(pool.words(old), pool.at(old));
    const words = pool.words(address);
    const at = pool.at(address);
    writeHead(words, at, flags, id, type, this.#key, value.length);
    writeVersion(words, at, draft.version.low, draft.version.high);
    if ((flags & EXPIRES) !== 0) {
      writeFields(words, at, draft.expiryMs, draft.maxIdleSeconds, store.readMs);
      this.#expiry.add(partition, address);
    }
    writeValue(words, pool.bytes(address), at, value);
    if (isRecorded) nameValue(words, pool.bytes(address), at, draft.value);
    if (old === 0) {
      partition.insert(this.#hash, address);
      if (isNewMap) this.#lives.set(id, draft.version);
      this.#names.use(id);
    } else if (old !== address) {
      partition.replace(this.#hash, old, address);
      partition.log.kill(old);
    }
    if (type !== 0) this.#contentTypes.use(type);
    if (oldType !== 0) this.#contentTypes.release(oldType);
    this.#end(partition);
    return APPLIED;
  }

  /** The address for the new record: that of the old one where possible; 0 without memory. */
  #reserve(partition: Partition, old: number, length: number): number {
    const pool = this.#store.pool;
    if (old === 0) return partition.makeRoom() ? partition.log.allocate(length, false) : 0;
    const fits = bytesAt(pool.words(old), pool.at(old)) === length;
    return fits && pool.writable(old) ? old : partition.log.allocate(length, false);
  }

  /** Removes the entry of `#key`, whose record was looked up and exists, as the draft tells. */
  #remove(address: number, map: Span, key: Span): Outcome {
    const store = this.#store;
    const partition = store.partition(this.partition)!;
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    const id = ownerAt(words, at);
    const type = tagAt(words, at);
    if (this.#recorder.isActiveFor(this.#draft.origin)) {
      this.#draft.value.clear();
      this.#draft.contentType.clear();
      if (!this.#admits(id, false, address, map, key)) return REFUSED;
    }
    partition.remove(this.#hash, address);
    this.#names.release(id);
    if (type !== 0) this.#contentTypes.release(type);
    this.#end(partition);
    return APPLIED;
  }

  /** Whether the sinks consent to the change of the entry. */
  #admits(id: number, isNewMap: boolean, old: number, map: Span, key: Span): boolean {
    const draft = this.#draft;
    draft.partition = this.partition;
    draft.name.copyFrom(map);
    draft.key.copyFrom(key);
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
