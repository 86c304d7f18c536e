/**
 * Lists of entries and of names, in short calls. Nothing is kept between two calls: a list continues
 * at its place, whatever has changed meanwhile.
 *
 * The entries of a map are listed by partition, then by their hash in the index, which never changes.
 * Entries of one hash are listed by a second hash, so that a call can end between them. An entry is
 * missed only if a call ends between it and another one with the same 64 bits of both hashes. The
 * index contains the entries of all maps, so a list visits those of other maps as well.
 *
 * Names are listed by id. A name keeps its id while it has entries or items.
 *
 * Each element is looked up just before it is passed, so a receiver may change any data. A place
 * consists of little-endian 32-bit words: for entries the partition, the hash and the second hash at
 * which the list continues; for names the last id. The others are 0. Tested by lists.spec.ts.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { EVERY_PARTITION } from '../../base/partition-number.ts';
import { isReservedMap } from '../../base/reserved-map.ts';
import { Span } from '../../base/span.ts';
import {
  type EntryReceiver,
  LIST_COUNT_MAX,
  LIST_PLACE_BYTES,
  LISTED,
  LISTED_BYTES,
  LISTED_ELEMENT_BYTES,
  type NameKind,
  type NameReceiver,
  NOT_COUNTED,
  type Receiver,
} from '../engine.ts';
import { nameKey, ownerAt } from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { Expiry } from './expiry.ts';
import { type HashIndex, WALK_END } from './hash-index.ts';
import type { NameTable } from './name-table.ts';
import type { PagedDoubles } from './paged-array.ts';
import type { QueueOrder } from './queue-order.ts';
import type { Results } from './results.ts';
import type { SharedComponents } from './shared-components.ts';

/** Maximum number of entries, names and partitions that a call visits, in about 0.15 ms. */
const VISITS_MAX = 512;
/** Maximum number of free places of an index that a visit passes. */
const FREE_PLACES_MAX = 64;
/** Larger ids are never allocated. */
const ID_MAX = 2 ** 31 - 2;

/** A place in a list of entries. */
class EntryPlace {
  partition: number;
  hash: number;
  secondHash: number;

  constructor(place: Span) {
    this.partition = wordOf(place, 0);
    this.hash = wordOf(place, 1);
    this.secondHash = wordOf(place, 2);
  }

  /** Moves the place past all entries with hashes below this one, which may be WALK_END. */
  moveTo(hash: number): void {
    if (hash === this.hash) return;
    this.hash = hash;
    this.secondHash = 0;
    if (hash < WALK_END) return;
    this.partition++;
    this.hash = 0;
  }

  /** Moves the place past an entry. */
  movePast(secondHash: number): void {
    this.secondHash = secondHash + 1;
    if (this.secondHash === WALK_END) this.moveTo(this.hash + 1);
  }
}

export class Lists {
  /** See Engine.listRun. */
  readonly run = randomInt(1, 2 ** 32);
  readonly #store: CellStore;
  readonly #mapNames: NameTable;
  readonly #queueNames: NameTable;
  readonly #mapBytes: PagedDoubles;
  readonly #expiry: Expiry;
  readonly #queueOrder: QueueOrder;
  readonly #results: Results;
  /** A key or name that is only compared. */
  readonly #key = new Span();

  constructor(shared: SharedComponents, expiry: Expiry, queueOrder: QueueOrder, results: Results) {
    this.#store = shared.store;
    this.#mapNames = shared.mapNames;
    this.#queueNames = shared.queueNames;
    this.#mapBytes = shared.mapBytes;
    this.#expiry = expiry;
    this.#queueOrder = queueOrder;
    this.#results = results;
  }

  entries(map: Span, prefix: Span, from: Span, count: number, receiver: EntryReceiver): void {
    checkArguments(from, count);
    const results = this.#results;
    const { partitionCount, clock } = this.#store;
    const wallMs = clock.wall();
    const place = new EntryPlace(from);
    let id = this.#mapNames.find(map);
    let rest = count;
    let bytes = 0;
    for (let visits = 0; visits < VISITS_MAX && rest > 0 && bytes < LISTED_BYTES; visits++) {
      if (id === 0 || place.partition >= partitionCount) return this.#send(undefined, receiver);
      const { partition } = place;
      const address = this.#next(id, place);
      if (address === 0 || !this.#isListed(address, prefix, wallMs)) continue;
      if (results.mayLose(partition)) break;
      bytes += LISTED_ELEMENT_BYTES + results.sendEntry(address, partition, receiver);
      rest--;
      // The receiver may have cleared the map.
      id = this.#mapNames.find(map);
    }
    this.#send(placeOf(place.partition, place.hash, place.secondHash), receiver);
  }

  names(kind: NameKind, prefix: Span, from: Span, count: number, receiver: NameReceiver): void {
    checkArguments(from, count);
    const results = this.#results;
    const names = kind === 'map' ? this.#mapNames : this.#queueNames;
    let id = Math.min(wordOf(from, 0), ID_MAX);
    let rest = count;
    let bytes = 0;
    for (let visits = 0; visits < VISITS_MAX && rest > 0 && bytes < LISTED_BYTES; visits++) {
      const next = names.next(id);
      if (next === 0) return this.#send(undefined, receiver);
      const size = kind === 'map' ? names.uses(next) : this.#queueOrder.available(next);
      names.name(next, this.#key);
      const isHidden = kind === 'map' && isReservedMap(this.#key);
      const isListed = size > 0 && !isHidden && this.#key.beginsWith(prefix);
      if (isListed && results.mayLose(EVERY_PARTITION)) break;
      id = next;
      if (!isListed) continue;
      const mapBytes = kind === 'map' ? this.#mapBytes.get(id) : NOT_COUNTED;
      bytes += LISTED_ELEMENT_BYTES + results.sendName(names, id, size, mapBytes, receiver);
      rest--;
    }
    this.#send(placeOf(id), receiver);
  }

  /** Sends the result of a call, with the next place; undefined at the end of the list. */
  #send(place: Buffer | undefined, receiver: Receiver): void {
    const result = this.#results.blank.set(LISTED, EVERY_PARTITION);
    if (place !== undefined) result.place.set(place, 0, LIST_PLACE_BYTES);
    this.#results.send(receiver);
  }

  /**
   * Visits one entry, or a few free places, of the place's partition, and moves the place past them.
   * Returns the entry's address; 0 if there was no entry, or one that is not the map's.
   */
  #next(map: number, place: EntryPlace): number {
    const index = this.#store.partition(place.partition)?.index;
    const hash = index === undefined ? WALK_END : index.next(place.hash, FREE_PLACES_MAX);
    place.moveTo(hash);
    if (index === undefined || hash === WALK_END) return 0;
    const at = index.first(hash | 0);
    if (at >= 0 && (place.secondHash > 0 || index.after(at, hash | 0) >= 0)) {
      return this.#nextOfHash(index, map, place);
    }
    place.moveTo(hash + 1);
    return at >= 0 && this.#isOf(map, index.address(at)) ? index.address(at) : 0;
  }

  /**
   * Visits the entries of the place's hash, and moves the place past the map's first one by second
   * hash. Returns that entry's address; 0 if there is none.
   */
  #nextOfHash(index: HashIndex, map: number, place: EntryPlace): number {
    const store = this.#store;
    const { hash } = place;
    let next = 0;
    let lowest = WALK_END;
    for (let at = index.first(hash | 0); at >= 0; at = index.after(at, hash | 0)) {
      const address = index.address(at);
      if (!this.#isOf(map, address)) continue;
      const secondHash = store.secondHashAt(store.pool.words(address), store.pool.at(address));
      if (secondHash < place.secondHash || secondHash >= lowest) continue;
      lowest = secondHash;
      next = address;
    }
    if (next === 0) place.moveTo(hash + 1);
    else place.movePast(lowest);
    return next;
  }

  #isOf(map: number, address: number): boolean {
    const { pool } = this.#store;
    return ownerAt(pool.words(address), pool.at(address)) === map;
  }

  /** Whether the entry exists at this time, and its key begins with the prefix. */
  #isListed(address: number, prefix: Span, wallMs: number): boolean {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    if (this.#expiry.dueMs(words, at) <= wallMs) return false;
    nameKey(words, pool.bytes(address), at, this.#key);
    return this.#key.beginsWith(prefix);
  }
}

function placeOf(first: number, second = 0, third = 0): Buffer {
  const place = Buffer.alloc(LIST_PLACE_BYTES);
  place.writeUInt32LE(first, 0);
  place.writeUInt32LE(second, 4);
  place.writeUInt32LE(third, 8);
  return place;
}

/** Returns an unsigned word of a place. */
function wordOf({ bytes, start }: Span, index: number): number {
  return bytes.readUInt32LE(start + 4 * index);
}

function checkArguments(place: Span, count: number): void {
  if (place.length !== LIST_PLACE_BYTES) assert.fail(`a place of ${place.length} bytes`);
  if (!(count >= 1 && count <= LIST_COUNT_MAX)) assert.fail(`a list of ${count} elements`);
}
