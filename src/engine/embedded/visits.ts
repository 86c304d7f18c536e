/**
 * Visits all data of a partition, in steps (see StoredEngine.visit). The walk covers the
 * partition's index by ranges of hashes, so an entry that remains is visited, however the index
 * changes between the steps. Entries are passed to the visitor at once. Names of queues are noted,
 * and their items are passed, from the ring, before the walk continues.
 */
import { FROM_CLIENT, Mutation, OFFER, SET } from '../mutation.ts';
import type { StoredVisitor, VisitCursor } from '../stored-engine.ts';
import {
  dueMsAt,
  expiryMsAt,
  hitsAt,
  KIND_ENTRY,
  KIND_NAME,
  kindAt,
  lastAccessSecondsAt,
  makerAt,
  maxIdleSecondsAt,
  nameKey,
  nameValue,
  ownerAt,
  tagAt,
  versionHighAt,
  versionLowAt,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import { type Visitor, WALK_END } from './hash-index.ts';
import type { MapFlags } from './map-flags.ts';
import type { NameTable } from './name-table.ts';
import type { PagedPairs } from './paged-array.ts';
import type { Queues } from './queues.ts';
import type { RingBuffers } from './ring-buffer.ts';
import type { SharedComponents } from './shared-components.ts';

export class Visits {
  readonly #store: CellStore;
  readonly #maps: NameTable;
  readonly #queueNames: NameTable;
  readonly #contentTypes: NameTable;
  readonly #lives: PagedPairs;
  readonly #rings: RingBuffers;
  readonly #queues: Queues;
  readonly #mapFlags: MapFlags;
  readonly #walker: Visitor = { visit: (address) => this.#visitCell(address) };
  readonly #stored = new Mutation();
  /** The cursor of the current step. */
  #cursor: VisitCursor | undefined;
  #visitor: StoredVisitor | undefined;
  #wallMs = 0;

  constructor(shared: SharedComponents, queues: Queues) {
    this.#store = shared.store;
    this.#maps = shared.mapNames;
    this.#queueNames = shared.queueNames;
    this.#contentTypes = shared.contentTypes;
    this.#lives = shared.lives;
    this.#rings = shared.rings;
    this.#queues = queues;
    this.#mapFlags = shared.mapFlags;
  }

  visit(number: number, cursor: VisitCursor, budget: number, visitor: StoredVisitor): boolean {
    const store = this.#store;
    this.#cursor = cursor;
    this.#visitor = visitor;
    this.#wallMs = store.clock.wall();
    this.#stored.origin = FROM_CLIENT;
    this.#stored.partition = number;
    this.#stored.sequence = store.sequences[number]!;
    let rest = budget;
    while (rest > 0 && cursor.queues.length > 0) rest = this.#visitQueue(number, cursor, rest);
    if (rest > 0 && cursor.place < WALK_END) {
      const partition = store.partition(number);
      cursor.place =
        partition === undefined ? WALK_END : partition.walk(cursor.place, rest, this.#walker);
    }
    this.#cursor = undefined;
    this.#visitor = undefined;
    return cursor.place < WALK_END || cursor.queues.length > 0;
  }

  /** Handles a cell of the walk, and leaves it in place. */
  #visitCell(address: number): false {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    const owner = ownerAt(words, at);
    const kind = kindAt(words, at);
    if (kind === KIND_NAME && owner === this.#queueNames.owner) {
      this.#cursor!.queues.push(tagAt(words, at));
      this.#cursor!.item = 0;
    } else if (kind === KIND_ENTRY && this.#maps.address(owner) !== 0) {
      const isVisible = dueMsAt(words, at) > this.#wallMs && !this.#mapFlags.hasEndedAt(words, at);
      if (isVisible) this.#passEntry(address, owner);
    }
    return false;
  }

  #passEntry(address: number, map: number): void {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    const stored = this.#stored;
    stored.operation = SET;
    this.#maps.name(map, stored.name);
    nameKey(words, pool.bytes(address), at, stored.key);
    this.#lives.get(map, stored.life);
    stored.item = 0;
    stored.expiryMs = expiryMsAt(words, at);
    stored.maxIdleSeconds = maxIdleSecondsAt(words, at);
    stored.hits = hitsAt(words, at);
    stored.lastAccessSeconds = lastAccessSecondsAt(words, at);
    stored.maker = makerAt(words, at);
    this.#pass(address);
  }

  /** Passes items of the last queue found to the visitor; returns the rest of the budget. */
  #visitQueue(number: number, cursor: VisitCursor, budget: number): number {
    const queues = this.#queues;
    const queue = cursor.queues.at(-1)!;
    let rest = budget;
    if (this.#queueNames.address(queue) !== 0 && queues.partitionOf(queue) === number) {
      const end = this.#rings.end(queue);
      let item = Math.max(cursor.item, this.#rings.first(queue));
      for (; item < end && rest > 0; item++, rest--) {
        if (queues.order.isAvailable(queue, item))
          this.#passItem(this.#rings.get(queue, item), queue, item);
      }
      cursor.item = item;
      if (item < end) return 0;
    }
    cursor.queues.pop();
    cursor.item = 0;
    return rest;
  }

  #passItem(address: number, queue: number, item: number): void {
    const stored = this.#stored;
    stored.operation = OFFER;
    this.#queueNames.name(queue, stored.name);
    stored.key.clear();
    stored.life.clear();
    stored.item = item;
    stored.expiryMs = 0;
    stored.maxIdleSeconds = 0;
    stored.hits = 0;
    stored.lastAccessSeconds = 0;
    stored.maker = 0;
    this.#pass(address);
  }

  #pass(address: number): void {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    const stored = this.#stored;
    nameValue(words, pool.bytes(address), at, stored.value);
    stored.version.set(versionLowAt(words, at), versionHighAt(words, at));
    this.#contentTypes.name(tagAt(words, at), stored.contentType);
    this.#visitor!.onStored(stored);
  }
}
