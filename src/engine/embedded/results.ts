/**
 * The engine's results: objects created once and reused. A receiver may call the engine while it
 * reads a result, so there is one object for each depth of such calls. Freed memory is retained
 * while any result is being read: neither the result nor the bytes it refers to change before its
 * receiver returns. A result with data that a failed sink may lose is sent as UNKNOWN.
 * Tested by embedded-engine.spec.ts.
 */
import assert from 'node:assert/strict';
import type { Clock } from '../../base/clock.ts';
import { EVERY_PARTITION, NO_PARTITION } from '../../base/partition-number.ts';
import type { Pin } from '../../base/pin.ts';
import { Span } from '../../base/span.ts';
import {
  APPLIED,
  COUNTED,
  type EntryReceiver,
  FOUND,
  LISTED,
  LISTED_VALUE_BYTES_MAX,
  type NameReceiver,
  NO_HOLD,
  NOT_COUNTED,
  type OperationResult,
  type Outcome,
  REFUSED,
  type Reason,
  type Receiver,
  UNKNOWN,
  UNREACHABLE,
  VALUE_COPY_BYTES_MAX,
} from '../engine.ts';
import { Version } from '../version.ts';
import {
  expiryMsAt,
  maxIdleSecondsAt,
  nameKey,
  nameValue,
  tagAt,
  versionHighAt,
  versionLowAt,
} from './cell.ts';
import type { CellStore } from './cell-store.ts';
import type { ExtentPool } from './extent-pool.ts';
import type { NameTable } from './name-table.ts';
import type { Recorder } from './recorder.ts';
import type { SharedComponents } from './shared-components.ts';

export class EmbeddedResult implements OperationResult {
  outcome: Outcome = APPLIED;
  partition = NO_PARTITION;
  sequence = 0;
  count = 0;
  bytes = NOT_COUNTED;
  hold = NO_HOLD;
  wasPresent = false;
  veto = 0;
  reason: Reason | 0 = 0;
  readonly value = new Span();
  readonly contentType = new Span();
  readonly place = new Span();
  /** The key or name of an element of a list. */
  readonly key = new Span();
  readonly version = new Version();
  readonly #pool: ExtentPool;
  readonly #clock: Clock;
  readonly #contentTypes: NameTable;
  /** Address of the cell that contains `value`. */
  #address = 0;

  constructor({ pool, clock }: CellStore, contentTypes: NameTable) {
    this.#pool = pool;
    this.#clock = clock;
    this.#contentTypes = contentTypes;
  }

  get timeToLiveMs(): number {
    const address = this.#address;
    if (address === 0) return 0;
    const expiryMs = expiryMsAt(this.#pool.words(address), this.#pool.at(address));
    // The time may have ended since the entry was found; 0 would mean no limit.
    return expiryMs === 0 ? 0 : Math.max(expiryMs - this.#clock.wall(), 1);
  }

  get maxIdleSeconds(): number {
    const address = this.#address;
    return address === 0 ? 0 : maxIdleSecondsAt(this.#pool.words(address), this.#pool.at(address));
  }

  /** Sets only an outcome, of a partition at a sequence. */
  set(outcome: Outcome, partition = NO_PARTITION, sequence = 0): this {
    this.#begin(outcome, partition, sequence);
    this.#address = 0;
    this.value.clear();
    this.contentType.clear();
    return this;
  }

  setCount(count: number, partition: number, sequence: number): this {
    this.set(COUNTED, partition, sequence);
    this.count = count;
    return this;
  }

  /** REFUSED, with the sink's code: it depends on no partition, as nothing has changed. */
  setRefused(veto: number): this {
    this.set(REFUSED);
    this.veto = veto;
    return this;
  }

  setUnreachable(reason: Reason): this {
    this.set(UNREACHABLE);
    this.reason = reason;
    return this;
  }

  /** FOUND: refers to the bytes of the cell. */
  setFound(address: number, partition: number, sequence: number): this {
    const pool = this.#pool;
    this.#begin(FOUND, partition, sequence);
    this.#setBytes(address, pool.words(address), pool.at(address));
    return this;
  }

  /** FOUND: refers to the entry of the cell. */
  setEntry(address: number, partition: number, sequence: number): this {
    const pool = this.#pool;
    const words = pool.words(address);
    const at = pool.at(address);
    this.#begin(FOUND, partition, sequence);
    this.#setBytes(address, words, at);
    this.version.set(versionLowAt(words, at), versionHighAt(words, at));
    return this;
  }

  pin(): Pin {
    assert(this.outcome === FOUND && this.value.length > VALUE_COPY_BYTES_MAX);
    return new CellPin(this.#pool, this.#address);
  }

  #setBytes(address: number, words: Int32Array, at: number): void {
    this.#address = address;
    nameValue(words, this.#pool.bytes(address), at, this.value);
    this.#contentTypes.name(tagAt(words, at), this.contentType);
  }

  #begin(outcome: Outcome, partition: number, sequence: number): void {
    this.outcome = outcome;
    this.partition = partition;
    this.sequence = sequence;
    this.count = 0;
    this.bytes = NOT_COUNTED;
    this.hold = NO_HOLD;
    this.veto = 0;
    this.reason = 0;
    this.wasPresent = false;
    this.version.clear();
    if (this.place.end > 0) this.place.clear();
  }
}

export class Results {
  readonly #store: CellStore;
  readonly #pool: ExtentPool;
  readonly #sequences: Float64Array;
  readonly #contentTypes: NameTable;
  readonly #recorder: Recorder;
  readonly #byDepth: EmbeddedResult[];
  #depth = 0;

  constructor({ store, contentTypes, recorder }: SharedComponents) {
    this.#store = store;
    this.#pool = store.pool;
    this.#sequences = store.sequences;
    this.#contentTypes = contentTypes;
    this.#recorder = recorder;
    this.#byDepth = [new EmbeddedResult(store, contentTypes)];
  }

  /** The object to fill and send next. */
  get blank(): EmbeddedResult {
    const result = this.#byDepth[this.#depth];
    if (result !== undefined) return result;
    const deeper = new EmbeddedResult(this.#store, this.#contentTypes);
    this.#byDepth.push(deeper);
    return deeper;
  }

  /** Whether the result has data that a failed sink may lose. */
  isDoubtful({ partition, sequence }: EmbeddedResult): boolean {
    const recorder = this.#recorder;
    if (partition === NO_PARTITION) return false;
    if (partition !== EVERY_PARTITION) return recorder.mayLose(partition, sequence);
    return this.#sequences.some((last, each) => recorder.mayLose(each, last));
  }

  /** Whether a failed sink may lose data of this partition, or of EVERY_PARTITION. */
  mayLose(partition: number): boolean {
    if (!this.#recorder.hasFailed) return false;
    return this.isDoubtful(this.blank.set(LISTED, partition, this.#sequences[partition] ?? 0));
  }

  /** Sends `blank` to the receiver. */
  send(receiver: Receiver): void {
    const result = this.#byDepth[this.#depth]!;
    if (this.#recorder.hasFailed && this.isDoubtful(result)) result.set(UNKNOWN);
    this.#beginReading();
    try {
      receiver.onResult(result);
    } finally {
      this.#endReading();
    }
  }

  /** Sends an entry of a list, in this partition. Returns its bytes, as far as they are sent. */
  sendEntry(address: number, partition: number, receiver: EntryReceiver): number {
    const pool = this.#pool;
    const entry = this.blank.setEntry(address, partition, this.#sequences[partition]!);
    const { key, value } = entry;
    const { length } = value;
    nameKey(pool.words(address), pool.bytes(address), pool.at(address), key);
    if (length > LISTED_VALUE_BYTES_MAX || receiver.hasNoValues === true) value.clear();
    const bytes = key.length + value.length;
    this.#beginReading();
    try {
      receiver.onEntry(key, entry, length);
    } finally {
      this.#endReading();
    }
    return bytes;
  }

  /** Sends a name of a list. Returns its length. */
  sendName(
    names: NameTable,
    id: number,
    size: number,
    bytes: number,
    receiver: NameReceiver,
  ): number {
    const { key } = this.blank;
    names.name(id, key);
    const { length } = key;
    this.#beginReading();
    try {
      receiver.onName(key, size, bytes);
    } finally {
      this.#endReading();
    }
    return length;
  }

  #beginReading(): void {
    this.#depth++;
    this.#pool.retainFreed();
  }

  #endReading(): void {
    this.#depth--;
    this.#pool.reuseFreed();
  }
}

class CellPin implements Pin {
  readonly isCounted = true;
  readonly #pool: ExtentPool;
  readonly #address: number;
  #released = false;

  constructor(pool: ExtentPool, address: number) {
    this.#pool = pool;
    this.#address = address;
    pool.pin(address);
  }

  release(): void {
    assert(!this.#released, 'the pin is already released');
    this.#released = true;
    this.#pool.unpin(this.#address);
  }
}
