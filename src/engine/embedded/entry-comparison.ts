/**
 * Determines whether a replayed change of an entry is already recorded, or was ended by a recorded
 * one: the entry is stored as another change has left it, and compareChanges (../mutation.ts)
 * selects that one, or the two are equal. Tested by embedded-engine.spec.ts.
 */
import { compareChanges, Mutation, SET } from '../mutation.ts';
import { Version } from '../version.ts';
import { expiryMsAt, maxIdleSecondsAt, nameValue, tagAt } from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { NameTable } from './name-table.ts';

export class EntryComparison {
  readonly #store: CellStore;
  readonly #contentTypes: NameTable;
  readonly #version = new Version();
  /** The change that left the entry; the fields that compareChanges needs are set. */
  readonly #stored = new Mutation();

  constructor(store: CellStore, contentTypes: NameTable) {
    this.#store = store;
    this.#contentTypes = contentTypes;
  }

  /** Whether the change need not be made. `address`: the cell of the change's entry. */
  isRedundant(change: Mutation, address: number): boolean {
    const stored = this.#store.readVersion(address, this.#version);
    if (change.version.isAfter(stored)) return false;
    // Changes rarely have equal versions: only then the cell is read.
    return !change.version.is(stored) || compareChanges(change, this.#read(address)) <= 0;
  }

  /** Compares the change and the entry of the cell by compareChanges. */
  compare(change: Mutation, address: number): number {
    this.#store.readVersion(address, this.#version);
    return compareChanges(change, this.#read(address));
  }

  #read(address: number): Mutation {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    const stored = this.#stored;
    stored.operation = SET;
    stored.version.copyFrom(this.#version);
    stored.expiryMs = expiryMsAt(words, at);
    stored.maxIdleSeconds = maxIdleSecondsAt(words, at);
    nameValue(words, pool.bytes(address), at, stored.value);
    this.#contentTypes.name(tagAt(words, at), stored.contentType);
    return stored;
  }
}
