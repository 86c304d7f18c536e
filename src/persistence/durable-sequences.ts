/**
 * The sequence up to which each partition is durable. A sync makes durable all that was recorded before it
 * began: `begin` is called before it, `end` after it. Both cost time only for the partitions that have
 * changed since the sync before, and allocate nothing.
 */
import assert from 'node:assert/strict';
import { EVERY_PARTITION } from '../engine/engine.ts';

export class DurableSequences {
  /** By partition; infinity where everything recorded is durable. */
  readonly #durable: Float64Array;
  /** The last sequence recorded, by partition. */
  readonly #last: Float64Array;
  /** Partitions recorded since the last `begin`, each once. */
  #changed: Int32Array;
  #changedCount = 0;
  readonly #isChanged: Uint8Array;
  /** Partitions of the sync under way. */
  #syncing: Int32Array;
  #syncingCount = 0;
  /** Their last sequences at its beginning, in the same order. */
  readonly #syncingLast: Float64Array;

  constructor(partitionCount: number) {
    this.#durable = new Float64Array(partitionCount).fill(Number.POSITIVE_INFINITY);
    this.#last = new Float64Array(partitionCount);
    this.#changed = new Int32Array(partitionCount);
    this.#isChanged = new Uint8Array(partitionCount);
    this.#syncing = new Int32Array(partitionCount);
    this.#syncingLast = new Float64Array(partitionCount);
  }

  durable(partition: number): number {
    return this.#durable[partition]!;
  }

  record(partition: number, sequence: number): void {
    if (partition !== EVERY_PARTITION) this.#record(partition, sequence);
    else for (let each = 0; each < this.#last.length; each++) this.#record(each, sequence);
  }

  begin(): void {
    if (this.#syncingCount > 0) assert.fail('one sync at a time');
    const before = this.#syncing;
    this.#syncing = this.#changed;
    this.#syncingCount = this.#changedCount;
    this.#changed = before;
    this.#changedCount = 0;
    for (let index = 0; index < this.#syncingCount; index++) {
      const partition = this.#syncing[index]!;
      this.#syncingLast[index] = this.#last[partition]!;
      this.#isChanged[partition] = 0;
    }
  }

  end(): void {
    for (let index = 0; index < this.#syncingCount; index++) {
      const partition = this.#syncing[index]!;
      const sequence = this.#syncingLast[index]!;
      const isAll = this.#last[partition] === sequence;
      this.#durable[partition] = isAll ? Number.POSITIVE_INFINITY : sequence;
    }
    this.#syncingCount = 0;
  }

  /** Asserts that each changed partition is noted once, and that none is durable beyond its last sequence. */
  invariants(): void {
    const changed = this.#changed.subarray(0, this.#changedCount);
    assert.equal(new Set(changed).size, this.#changedCount, 'changed partitions, each once');
    for (const partition of changed) assert.equal(this.#isChanged[partition], 1, 'it is noted');
    const count = this.#isChanged.reduce((sum, isChanged) => sum + isChanged, 0);
    assert.equal(count, this.#changedCount, 'changed partitions');
    const waiting = new Set([...changed, ...this.#syncing.subarray(0, this.#syncingCount)]);
    for (const [partition, durable] of this.#durable.entries()) {
      const isDurable = durable === Number.POSITIVE_INFINITY;
      assert.equal(isDurable, !waiting.has(partition), 'a partition waits for a sync');
      assert.ok(isDurable || durable < this.#last[partition]!, 'a durable sequence');
    }
  }

  #record(partition: number, sequence: number): void {
    if (sequence <= this.#last[partition]!) assert.fail('sequences of a partition rise');
    if (this.#durable[partition] === Number.POSITIVE_INFINITY) {
      this.#durable[partition] = sequence - 1;
    }
    this.#last[partition] = sequence;
    if (this.#isChanged[partition] === 1) return;
    this.#isChanged[partition] = 1;
    this.#changed[this.#changedCount++] = partition;
  }
}
