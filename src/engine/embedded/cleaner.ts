/**
 * Reclaims the space of dead cells. It chooses the sparsest extent of a partition and empties it by
 * moving its live cells to the head of the log. Writes and deletes do that work, in proportion to
 * their bytes, so it keeps up with any load and no call does much. Without writes nothing runs.
 * Moving a cell changes no value, no version and no sequence, only addresses.
 *
 * With the threshold of CellLog, emptying an extent with a live share `u` costs u / (1 - u) bytes
 * moved for each byte reclaimed. Random overwriting settles at 2.7 bytes moved for each byte
 * written, so four for each byte written and each byte killed are enough.
 */

import {
  bytesAt,
  isDeadAt,
  KIND_ENTRY,
  KIND_ITEM,
  KIND_NAME,
  KIND_RING,
  kindAt,
  numberKeyAt,
  ownerAt,
  tagAt,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { NameTable } from './name-table.ts';
import type { Partition } from './partition.ts';
import type { RingBuffers } from './ring-buffer.ts';
import type { SharedComponents } from './shared-components.ts';

const MOVED_PER_WRITTEN = 4;
/** Cost of reading a cell's header, in bytes moved. */
const HEADER_COST_BYTES = 64;
/** Maximum number of bytes moved in one call. */
const STEP_BYTES_MAX = 262144;
/** Live bytes below which a partition is cleaned at once, whatever is owed: little is moved. */
const LITTLE_BYTES = 4096;

export class Cleaner {
  readonly #store: CellStore;
  readonly #maps: NameTable;
  readonly #queues: NameTable;
  readonly #contentTypes: NameTable;
  readonly #rings: RingBuffers;

  constructor({ store, mapNames, queueNames, contentTypes, rings }: SharedComponents) {
    this.#store = store;
    this.#maps = mapNames;
    this.#queues = queueNames;
    this.#contentTypes = contentTypes;
    this.#rings = rings;
  }

  /** Does the work owed for writes to the partition and to the partitions of names. */
  pay(partition: Partition): void {
    this.#clean(partition);
    this.payForNames();
  }

  /** Does only the work owed for names. */
  payForNames(): void {
    const { debtors } = this.#store;
    while (debtors.length > 0) this.#clean(debtors.pop()!);
  }

  /** Packs the partition's cells until no further extent can be freed. */
  condense(partition: Partition): void {
    const { log } = partition;
    // Each extent is emptied at most once: its cells may not fit into fewer extents.
    for (let rest = log.sealedCount; rest > 0 && log.canPack; rest--) {
      if (log.victim === 0 && !log.chooseEmptiest()) return;
      while (log.victim !== 0) if (this.#next(partition) === 0) return;
    }
    log.owed = 0;
  }

  #clean(partition: Partition): void {
    const { log } = partition;
    partition.evacuate();
    if (log.victim !== 0 || log.needsCleaning) {
      const owed = log.liveBytes < LITTLE_BYTES ? STEP_BYTES_MAX : log.owed * MOVED_PER_WRITTEN;
      let budget = Math.min(owed, STEP_BYTES_MAX);
      while (budget > 0 && (log.victim !== 0 || (log.needsCleaning && log.chooseVictim()))) {
        const cost = this.#next(partition);
        if (cost === 0) break;
        budget -= cost;
      }
    }
    log.owed = 0;
  }

  /** Processes the victim's next cell. Returns the cost, or 0 if there is no memory. */
  #next(partition: Partition): number {
    const { pool } = this.#store;
    const { log } = partition;
    const address = pool.address(log.victim, log.victimDone);
    const words = pool.words(address);
    const at = pool.at(address);
    const length = bytesAt(words, at);
    if (isDeadAt(words, at)) {
      log.victimDone += length;
      return HEADER_COST_BYTES;
    }
    // Left to the sweeper, the entries of cleared maps would be moved first: a clear would use more
    // than twice the processor time.
    if (kindAt(words, at) === KIND_ENTRY && this.#maps.address(ownerAt(words, at)) === 0) {
      log.victimDone += length;
      const type = tagAt(words, at);
      partition.remove(this.#store.hashAt(words, at), address);
      if (type !== 0) this.#contentTypes.release(type);
      return HEADER_COST_BYTES;
    }
    const to = log.allocate(length, true);
    if (to === 0) return 0;
    log.victimDone += length;
    pool.copy(address, to, length);
    this.#moved(partition, address, to);
    log.kill(address);
    return HEADER_COST_BYTES + length;
  }

  /** Updates the references to a moved cell. */
  #moved(partition: Partition, from: number, to: number): void {
    const { pool } = this.#store;
    const words = pool.words(to);
    const at = pool.at(to);
    switch (kindAt(words, at)) {
      case KIND_ENTRY:
        partition.replace(this.#store.hashAt(words, at), from, to);
        return;
      case KIND_NAME:
        partition.replace(this.#store.hashAt(words, at), from, to);
        this.#table(ownerAt(words, at)).moved(tagAt(words, at), to);
        return;
      case KIND_ITEM:
        this.#rings.set(ownerAt(words, at), numberKeyAt(words, at), to);
        return;
      case KIND_RING:
        this.#rings.moved(ownerAt(words, at), tagAt(words, at), to);
        return;
    }
  }

  #table(owner: number): NameTable {
    if (owner === this.#maps.owner) return this.#maps;
    return owner === this.#queues.owner ? this.#queues : this.#contentTypes;
  }
}
