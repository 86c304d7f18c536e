/**
 * The mutations that remove and return a queue's items, for the sinks. One object is reused for
 * all; without sinks only its sequence is set. Tested by embedded-engine.spec.ts.
 */
import { Mutation, type Operation, REMOVE, RETURN } from '../mutation.ts';
import { isAfter } from '../version.ts';
import { nameValue, tagAt, versionHighAt, versionLowAt, writeVersion } from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { NameTable } from './name-table.ts';
import type { PagedIntegers } from './paged-array.ts';
import type { Recorder } from './recorder.ts';
import type { SharedComponents } from './shared-components.ts';

export class ItemMutations {
  /** The mutation being made. */
  readonly draft = new Mutation();
  readonly #store: CellStore;
  readonly #names: NameTable;
  readonly #contentTypes: NameTable;
  readonly #recorder: Recorder;
  /** Partitions by queue. */
  readonly #partitions: PagedIntegers;

  /** `partitions` contains the partition of each queue. */
  constructor(shared: SharedComponents, partitions: PagedIntegers) {
    this.#store = shared.store;
    this.#names = shared.queueNames;
    this.#contentTypes = shared.contentTypes;
    this.#recorder = shared.recorder;
    this.#partitions = partitions;
  }

  /** Begins a caller's mutation: the partition's next, with a version of its own. */
  begin(operation: Operation, partition: number): void {
    this.#store.versions.tick();
    this.#store.begin(this.draft, operation, partition);
  }

  /** Begins to make a recorded mutation again. */
  repeat(mutation: Mutation): void {
    const { draft } = this;
    draft.operation = mutation.operation;
    draft.origin = mutation.origin;
    draft.partition = mutation.partition;
    draft.sequence = mutation.sequence;
    draft.version.copyFrom(mutation.version);
    if (mutation.path.length > 0) draft.path.copyFrom(mutation.path);
  }

  /** Ends the repetition of a recorded mutation: callers' mutations have no path. */
  endRepeat(): void {
    if (this.draft.path.length > 0) this.draft.path.clear();
  }

  /** Whether the item may be removed; if so, recordRemoval must follow at once. */
  admitsRemoval(id: number, item: number): boolean {
    if (!this.#recorder.recordsQueues) {
      this.draft.sequence = this.#store.next(this.#partitions.get(id));
      return true;
    }
    this.begin(REMOVE, this.#partitions.get(id));
    return this.admitsAgain(id, item);
  }

  /** Whether the sinks consent to a removal that is made again. */
  admitsAgain(id: number, item: number): boolean {
    if (!this.#recorder.recordsQueues) return true;
    const { draft } = this;
    draft.item = item;
    this.#names.name(id, draft.name);
    draft.value.clear();
    draft.contentType.clear();
    return this.#recorder.admitsOfQueue(draft);
  }

  /** Records the removal that was consented to. Returns whether its result is delayed. */
  recordRemoval(id: number): boolean {
    const partition = this.#partitions.get(id);
    const { sequence } = this.draft;
    this.#store.raise(partition, sequence);
    if (!this.#recorder.recordsQueues) return false;
    this.#recorder.record(this.draft);
    return this.#recorder.delays(partition, sequence);
  }

  /**
   * Repeats the return of an item that has already returned: it keeps the later of the two
   * versions.
   */
  repeatReturn(address: number): void {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    const { low, high } = this.draft.version;
    if (!isAfter(low, high, versionLowAt(words, at), versionHighAt(words, at))) return;
    writeVersion(words, at, low, high);
  }

  /** Records the return of the item with this cell. Returns false if a sink refuses. */
  recordReturn(id: number, item: number, address: number): boolean {
    const { pool } = this.#store;
    const words = pool.words(address);
    const at = pool.at(address);
    const { draft } = this;
    this.begin(RETURN, this.#partitions.get(id));
    draft.item = item;
    this.#names.name(id, draft.name);
    nameValue(words, pool.bytes(address), at, draft.value);
    this.#contentTypes.name(tagAt(words, at), draft.contentType);
    if (!this.#recorder.admitsOfQueue(draft)) return false;
    writeVersion(words, at, draft.version.low, draft.version.high);
    this.#store.raise(draft.partition, draft.sequence);
    this.#recorder.record(draft);
    return true;
  }
}
