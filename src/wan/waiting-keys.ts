/**
 * Index of the waiting records of a lane by key, so that a later event of a key replaces an earlier
 * one: an open hash table of positions. A position that no longer waits is skipped; its slot is
 * reclaimed when the table is rebuilt. The hash has a random seed, so that a client cannot choose
 * keys that collide. Tested by sync-order.spec.ts.
 */
import { randomBytes } from 'node:crypto';
import { Span } from '../base/span.ts';
import { halfSipHash13 } from '../engine/hash.ts';
import { KeyWords } from '../engine/key-words.ts';
import { CLEAR, Mutation } from '../engine/mutation.ts';
import type { Version } from '../engine/version.ts';
import { readEvent } from './event-codec.ts';
import type { Lane } from './lane.ts';

const PLACES_MIN = 64;
const SEED0 = randomBytes(4).readInt32LE();
const SEED1 = randomBytes(4).readInt32LE();
const FREE = -1;

export class WaitingKeys {
  readonly #lane: Lane;
  #positions = new Float64Array(PLACES_MIN).fill(FREE);
  #hashes = new Int32Array(PLACES_MIN);
  #used = 0;
  /** Position up to which `catchUp` has added the lane's records. */
  #caughtUpTo = 0;
  readonly #words = new KeyWords();
  readonly #stored = new Mutation();
  readonly #named = new Span();

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  /** The version of the record that was found last. */
  get version(): Version {
    return this.#stored.version;
  }

  /**
   * Returns the position of the waiting record of the map's key; -1 for none. With `version`, only of a
   * record whose version is not after that.
   */
  find(map: Span, key: Span, version?: Version): number {
    const hash = this.#hash(map, key);
    const mask = this.#positions.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const position = this.#positions[place]!;
      if (position === FREE) return FREE;
      if (this.#hashes[place] !== hash || !this.#lane.isWaiting(position)) continue;
      this.#read(position);
      if (!isSame(this.#stored.name, map) || !isSame(this.#stored.key, key)) continue;
      if (version === undefined || !this.#stored.version.isAfter(version)) return position;
    }
  }

  /**
   * Adds the records appended to the lane since the last call, for a table filled in no other way.
   */
  catchUp(): void {
    const from = this.#caughtUpTo;
    if (from === this.#lane.tail) return;
    const positions: number[] = [];
    this.#lane.eachFrom(from, (position) => positions.push(position) > 0);
    this.#caughtUpTo = this.#lane.tail;
    if (this.#used === 0) return this.reset(positions);
    for (const position of positions) {
      this.#read(position);
      const { operation, name, key } = this.#stored;
      if (operation !== CLEAR) this.add(name, key, position);
    }
  }

  /** Adds the record of the map's key at this position. */
  add(map: Span, key: Span, position: number): void {
    const hash = this.#hash(map, key);
    if (this.#used * 2 >= this.#positions.length) this.#remake();
    this.#put(hash, position);
  }

  /** Replaces the content of the table by the records at these positions. */
  reset(positions: ArrayLike<number> & Iterable<number>): void {
    this.#clear(Math.max(PLACES_MIN, 2 ** Math.ceil(Math.log2(positions.length * 4 + 1))));
    for (const position of positions) {
      this.#read(position);
      const { operation, name, key } = this.#stored;
      if (operation !== CLEAR) this.#put(this.#hash(name, key), position);
    }
    this.#caughtUpTo = this.#lane.tail;
  }

  #remake(): void {
    this.reset(this.#positions.filter((position) => this.#isWaiting(position)));
  }

  #isWaiting(position: number): boolean {
    return position !== FREE && this.#lane.isWaiting(position);
  }

  #clear(places: number): void {
    this.#positions = new Float64Array(places).fill(FREE);
    this.#hashes = new Int32Array(places);
    this.#used = 0;
  }

  #put(hash: number, position: number): void {
    const mask = this.#positions.length - 1;
    let place = hash & mask;
    while (this.#positions[place] !== FREE) place = (place + 1) & mask;
    this.#positions[place] = position;
    this.#hashes[place] = hash;
    this.#used++;
  }

  #read(position: number): void {
    const { chunk, at } = this.#lane.eventAt(position);
    readEvent(chunk, at, chunk.bytes.length, this.#stored);
  }

  #hash(map: Span, key: Span): number {
    const words = this.#words.load(this.#named.copyFrom(map));
    const first = halfSipHash13(SEED0, SEED1, 0, words.words, 0, words.length);
    this.#words.load(this.#named.copyFrom(key));
    return halfSipHash13(SEED0, SEED1, first, words.words, 0, words.length);
  }
}

function isSame(span: Span, other: Span): boolean {
  const { bytes, start, end } = span;
  if (end - start !== other.length) return false;
  return bytes.compare(other.bytes, other.start, other.end, start, end) === 0;
}
