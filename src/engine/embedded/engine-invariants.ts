/**
 * Asserts that all structures of an embedded engine are consistent: every live cell is referenced
 * as its kind requires, every count matches the things counted, every allocated byte has exactly
 * one owner. All of this holds between two calls of the engine. The check takes time in proportion
 * to all data, so only the specs call it.
 */
import assert from 'node:assert/strict';
import {
  bytesAt,
  dueMsAt,
  KIND_ENTRY,
  KIND_ITEM,
  KIND_NAME,
  KIND_RING,
  kindAt,
  numberKeyAt,
  ownerAt,
  tagAt,
} from './cell.ts';
import type { EngineComponents } from './engine-components.ts';
import { EXTENT_BYTES } from './slabs.ts';

/** Asserts the invariants, which also hold during a replay. */
export function assertInvariants(components: EngineComponents): void {
  new InvariantChecker(components).check();
}

const NONE: ReadonlySet<number> = new Set();

class InvariantChecker {
  readonly #components: EngineComponents;
  /** Addresses of the live cells of each kind that no reference has been found to yet. */
  readonly #live = new Map<number, Set<number>>();
  /** Addresses of long cells that a reference has been found to. */
  readonly #long = new Set<number>();
  /** Extents of logs and tables. */
  readonly #extents = new Set<number>();
  /** Number of uses by id: entries of maps, and cells of each content type. */
  readonly #entries = new Map<number, number>();
  readonly #bytes = new Map<number, number>();
  readonly #typed = new Map<number, number>();

  constructor(components: EngineComponents) {
    this.#components = components;
    for (const kind of [KIND_ENTRY, KIND_ITEM, KIND_NAME, KIND_RING])
      this.#live.set(kind, new Set());
  }

  check(): void {
    const { store, mapNames, queueNames, contentTypes, sweeper, recorder } = this.#components;
    const { retainedMaps, mapBytes } = this.#components;
    recorder.invariants();
    this.#components.tombstones.invariants();
    for (let number = 0; number < store.partitionCount; number++) {
      const partition = store.partition(number);
      partition?.log.invariants(this.#extents, (address) => this.#addLive(address));
    }
    for (let number = 0; number < store.partitionCount; number++) this.#checkIndex(number);
    const retired = sweeper.invariants();
    this.#checkQueues();
    const usesOf = (map: number) => (this.#entries.get(map) ?? 0) + (retainedMaps.has(map) ? 1 : 0);
    mapNames.invariants(retired, usesOf);
    for (const map of mapNames.ids.used()) {
      if (retired.has(map)) continue;
      assert.equal(mapBytes.get(map), this.#bytes.get(map) ?? 0, 'bytes of a map');
    }
    queueNames.invariants(NONE, () => 1);
    contentTypes.invariants(NONE, (type) => this.#typed.get(type) ?? 0);
    for (const [kind, left] of this.#live) {
      assert.equal(left.size, 0, `live cells of kind ${kind} without a reference`);
    }
    this.#checkBytes();
  }

  #addLive(address: number): void {
    const { pool } = this.#components.store;
    this.#live.get(kindAt(pool.words(address), pool.at(address)))!.add(address);
  }

  /** Records that a reference to the cell was found. */
  #refer(address: number, kind: number): void {
    const { pool } = this.#components.store;
    const words = pool.words(address);
    if (kindAt(words, pool.at(address)) !== kind) assert.fail('kind of a cell');
    if (pool.extent(address) === 0) {
      assert.ok(!this.#long.has(address), 'one reference to a long cell');
      this.#long.add(address);
      return;
    }
    if (!this.#live.get(kind)!.delete(address)) assert.fail('one reference to a live cell');
  }

  #checkIndex(number: number): void {
    const { store, sweeper } = this.#components;
    const partition = store.partition(number);
    if (partition === undefined) return;
    assert.equal(partition.number, number, 'number of a partition');
    const dueMs = sweeper.knownDueMs(partition);
    partition.index?.invariants((hash, address) => {
      const words = store.pool.words(address);
      const at = store.pool.at(address);
      const kind = kindAt(words, at);
      if (kind !== KIND_ENTRY && kind !== KIND_NAME) assert.fail('kind of a cell in an index');
      this.#refer(address, kind);
      if (store.hashAt(words, at) !== hash) assert.fail('hash of an entry');
      if (store.partitionOfKeyAt(words, at) !== number) assert.fail('partition of a key');
      if (kind === KIND_NAME) return;
      this.#checkEntry(address, dueMs);
    });
  }

  #checkEntry(address: number, dueMs: number): void {
    const { store, mapNames } = this.#components;
    const words = store.pool.words(address);
    const at = store.pool.at(address);
    const type = tagAt(words, at);
    if (type !== 0) count(this.#typed, type);
    const map = ownerAt(words, at);
    if (!mapNames.ids.isUsed(map)) assert.fail('the map of an entry');
    if (mapNames.address(map) === 0) return;
    count(this.#entries, map);
    count(this.#bytes, map, bytesAt(words, at));
    if (dueMsAt(words, at) < dueMs) assert.fail('an entry expires before its partition is visited');
  }

  #checkQueues(): void {
    const { store, queues, queueNames, waiters, rings } = this.#components;
    const { pool } = store;
    const ids = [...queueNames.ids.used()];
    let itemCount = 0;
    waiters.invariants(ids);
    queues.order.holds.invariants(ids);
    for (const id of ids) {
      const partition = queues.partitionOf(id);
      itemCount += queues.order.available(id);
      rings.invariants(id, (part, number) => {
        this.#refer(part, KIND_RING);
        const at = pool.at(part);
        const fields = [ownerAt(pool.words(part), at), tagAt(pool.words(part), at)];
        assert.deepEqual(fields, [id, number | 0], 'queue and number of a part');
      });
      queues.invariants(id, (address, item) => {
        this.#refer(address, KIND_ITEM);
        const words = pool.words(address);
        const at = pool.at(address);
        if (ownerAt(words, at) !== id) assert.fail('queue of an item');
        if (numberKeyAt(words, at) !== item) assert.fail('number of an item');
        if (tagAt(words, at) !== 0) count(this.#typed, tagAt(words, at));
      });
      const cell = queueNames.address(id);
      assert.equal(store.partitionOfKeyAt(pool.words(cell), pool.at(cell)), partition);
      assert.ok(store.sequences[partition]! >= rings.end(id) - 1, 'numbers of items');
    }
    assert.equal(queues.order.count, itemCount, 'available items');
  }

  #checkBytes(): void {
    const { store, mapNames, queueNames, contentTypes, rings, tombstones } = this.#components;
    const { pool, meter } = store;
    const partitions = Array.from({ length: store.partitionCount }, (_, each) =>
      store.partition(each),
    );
    const tables = partitions.flatMap((partition) => partition?.table ?? []);
    let bytes = this.#extents.size * EXTENT_BYTES;
    for (const table of tables) bytes += table.bytes;
    for (const { ids } of [mapNames, queueNames, contentTypes]) bytes += ids.columnBytes;
    bytes += rings.listBytes + tombstones.bytes;
    pool.tables.invariants(tables, this.#extents);
    bytes += pool.invariants(this.#extents, this.#long);
    assert.equal(meter.bytes, bytes, 'allocated bytes');
  }
}

function count(uses: Map<number, number>, id: number, by = 1): void {
  uses.set(id, (uses.get(id) ?? 0) + by);
}
