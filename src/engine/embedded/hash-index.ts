/**
 * The index of a partition's cells: an open-addressing table of (hash, address) pairs in one typed
 * array, for all maps of the partition. It does not read cells: among several entries with one
 * hash, the caller chooses.
 *
 * The table uses linear probing from the upper bits of the hash. So a larger or smaller table has
 * all entries in the same order and is filled in one pass from front to back; a removal moves later
 * entries of its run back instead of leaving a mark. Growing reads no cell: the longest step while
 * growing to 184,502 entries, a partition's share of 50,000,000, takes 2 to 7 ms (bench:
 * cell-store).
 *
 * A walk over all entries (`walk`) proceeds by ranges of hashes: an entry that exists throughout is
 * visited exactly once, however the table is changed and resized between the steps.
 */
import assert from 'node:assert/strict';

const BITS_MIN = 4;
const BITS_MAX = 28;
const PAIR_BYTES = 8;
/** End of a walk over all entries; all hashes are below it. */
export const WALK_END = 2 ** 32;

/**
 * Called by a walk for each entry: returns true to remove it. Must not change the table otherwise.
 */
export interface Visitor {
  visit(address: number): boolean;
}

export class HashIndex {
  /** Number of entries. */
  count = 0;
  #bits = BITS_MIN;
  /** The shift from a hash to a place, and the mask of places in the table. */
  #shift = 32 - BITS_MIN;
  #mask = (1 << BITS_MIN) - 1;
  #table = new Int32Array(2 << BITS_MIN);

  static bytes(bits: number): number {
    return PAIR_BYTES << bits;
  }

  /** Size of the table, in bytes. */
  get bytes(): number {
    return HashIndex.bytes(this.#bits);
  }

  /** Size of the table, as a power of two. */
  get bits(): number {
    return this.#bits;
  }

  /** The size, as a power of two, that fits one more entry. */
  get bitsToInsert(): number {
    const full = (this.count + 1) * 4 > 3 << this.#bits;
    return full ? this.#bits + 1 : this.#bits;
  }

  /**
   * The size that fits the entries left after removals: a table that is less than a fifth full
   * shrinks.
   */
  get bitsToShrink(): number {
    let bits = this.#bits;
    while (bits > BITS_MIN && this.count * 5 < 1 << bits) bits--;
    return bits;
  }

  /** The smallest size that fits the entries. */
  get bitsToFit(): number {
    let bits = this.#bits;
    while (bits > BITS_MIN && this.count * 4 <= 3 << (bits - 1)) bits--;
    return bits;
  }

  /** The memory of the table; a different array after the table has been resized or moved. */
  get words(): Int32Array {
    return this.#table;
  }

  /** Returns the first place of an entry with this hash, or -1. Places are valid until a change. */
  first(hash: number): number {
    return this.#search(hash >>> this.#shift, hash);
  }

  /** Returns the next place after `place` of an entry with this hash, or -1. */
  after(place: number, hash: number): number {
    return this.#search((place + 1) & this.#mask, hash);
  }

  /** Returns the place of an entry, which must exist. */
  find(hash: number, address: number): number {
    let place = this.first(hash);
    while (place >= 0 && this.address(place) !== address) place = this.after(place, hash);
    if (place < 0) assert.fail('the entry does not exist');
    return place;
  }

  address(place: number): number {
    return this.#table[2 * place + 1]!;
  }

  setAddress(place: number, address: number): void {
    this.#table[2 * place + 1] = address;
  }

  /** Adds an entry; there must be room for it (see bitsToInsert). */
  insert(hash: number, address: number): void {
    if (this.count >= this.#mask) assert.fail('the index has no room for the entry');
    put(this.#table, this.#bits, hash, address);
    this.count++;
  }

  remove(place: number): void {
    const table = this.#table;
    const mask = this.#mask;
    const shift = this.#shift;
    let hole = place;
    for (let at = (hole + 1) & mask; table[2 * at + 1] !== 0; at = (at + 1) & mask) {
      // An entry may move back, but not before its own first place.
      const home = table[2 * at]! >>> shift;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      table[2 * hole] = table[2 * at]!;
      table[2 * hole + 1] = table[2 * at + 1]!;
      hole = at;
    }
    table[2 * hole + 1] = 0;
    this.count--;
  }

  /**
   * Moves all entries into another table, whose size fits them and whose words are 0. Returns the
   * old table.
   */
  resize(bits: number, table = new Int32Array(2 << bits)): Int32Array<ArrayBuffer> {
    if (bits > BITS_MAX) throw new RangeError(`Cannot make an index of 2^${bits} places`);
    const from = this.#table;
    for (let at = 0; at < from.length; at += 2) {
      const address = from[at + 1]!;
      if (address !== 0) put(table, bits, from[at]!, address);
    }
    this.#table = table;
    this.#bits = bits;
    this.#shift = 32 - bits;
    this.#mask = (1 << bits) - 1;
    return from;
  }

  /**
   * Passes the entries whose unsigned hash is at least `from` to the visitor: about `places` of the
   * table per call. Returns where to continue; WALK_END after the last entry.
   */
  walk(from: number, places: number, visitor: Visitor): number {
    const shift = this.#shift;
    const width = 2 ** shift;
    const mask = this.#mask;
    const start = Math.floor(from / width);
    const end = Math.min((start + places) * width, WALK_END);
    const last = Math.floor((end - 1) / width);
    // Entries with these hashes may be stored after their places, up to the end of the run.
    for (let at = start; ; at++) {
      const place = at & mask;
      for (;;) {
        const address = this.#table[2 * place + 1]!;
        const hash = this.#table[2 * place]! >>> 0;
        if (address === 0 || hash < from || hash >= end) break;
        // An entry at the front that belongs to the table's end is visited only past the end.
        if (hash >>> shift > place !== at > mask || !visitor.visit(address)) break;
        this.remove(place);
      }
      if (at >= last && this.#table[2 * place + 1] === 0) return end;
    }
  }

  /**
   * Returns the lowest unsigned hash of an entry from `from` on; WALK_END if there is none. After
   * `freeMax` free places it returns another hash, below which there is no entry from `from` on.
   */
  next(from: number, freeMax: number): number {
    const table = this.#table;
    const shift = this.#shift;
    const mask = this.#mask;
    let lowest = WALK_END;
    for (let at = from >>> shift, free = 0; ; at++) {
      const place = at & mask;
      const hash = table[2 * place]! >>> 0;
      if (table[2 * place + 1] !== 0) {
        // As in `walk`, the front of the table may have entries that belong to its end.
        const isInOrder = hash >>> shift > place === at > mask;
        if (isInOrder && hash >= from && hash < lowest) lowest = hash;
      } else if (lowest < WALK_END || at >= mask) return lowest;
      else if (++free === freeMax) return (at + 1) * 2 ** shift;
    }
  }

  /**
   * Asserts that each entry is found by its hash. Calls `each` with hash and address. O(places).
   */
  invariants(each: (hash: number, address: number) => void): void {
    let count = 0;
    for (let place = 0; place <= this.#mask; place++) {
      const address = this.address(place);
      if (address === 0) continue;
      count++;
      const hash = this.#table[2 * place]!;
      if (this.find(hash, address) !== place) assert.fail('the place of an entry');
      each(hash, address);
    }
    assert.equal(count, this.count, 'entries of an index');
    assert.equal(this.#table.length, 2 << this.#bits, 'places of an index');
    assert.ok(count * 4 <= 3 << this.#bits, 'free places of an index');
  }

  #search(from: number, hash: number): number {
    const table = this.#table;
    const mask = this.#mask;
    for (let place = from; ; place = (place + 1) & mask) {
      if (table[2 * place + 1] === 0) return -1;
      if (table[2 * place] === hash) return place;
    }
  }
}

function put(table: Int32Array, bits: number, hash: number, address: number): void {
  const mask = (1 << bits) - 1;
  let place = hash >>> (32 - bits);
  while (table[2 * place + 1] !== 0) place = (place + 1) & mask;
  table[2 * place] = hash;
  table[2 * place + 1] = address;
}
