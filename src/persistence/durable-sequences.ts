/**
 * The sequence up to which each partition is durable. A sync makes durable everything recorded
 * before it began: `begin` is called before it, `end` after it. Both take time only for the
 * partitions that have changed since the previous sync, and allocate nothing.
 * Tested by crash.spec.ts.
 */
import assert from 'node:assert/strict';
import { EVERY_PARTITION } from '../base/partition-number.ts';

export class DurableSequences {
  /** The durable sequence of each partition; infinity if everything recorded is durable. */
  readonly #durable: Float64Array;
  /** The last recorded sequence of each partition. */
  readonly #last: Float64Array;
  /** Partitions that have changed since the last `begin`, without duplicates. */
  #changed: Int32Array;
  #changedCount = 0;
  readonly #isChanged: Uint8Array;
  /** Partitions that the running sync makes durable. */
  #syncing: Int32Array;
  #syncingCount = 0;
  /** Their last sequences at the start of the sync, in the same order. */
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

  /**
   * Asserts that each changed partition is listed once, and that none is durable beyond its last
   * sequence.
   */
  invariants(): void {
    const changed = this.#changed.subarray(0, this.#changedCount);
    assert.equal(new Set(changed).size, this.#changedCount, 'changed partitions are unique');
    for (const partition of changed)
      assert.equal(this.#isChanged[partition], 1, 'flag of a changed partition');
    const count = this.#isChanged.reduce((sum, isChanged) => sum + isChanged, 0);
    assert.equal(count, this.#changedCount, 'changed partitions');
    const waiting = new Set([...changed, ...this.#syncing.subarray(0, this.#syncingCount)]);
    for (const [partition, durable] of this.#durable.entries()) {
      const isDurable = durable === Number.POSITIVE_INFINITY;
      assert.equal(isDurable, !waiting.has(partition), 'a changed partition is not durable');
      assert.ok(
        isDurable || durable < this.#last[partition]!,
        'the durable sequence is lower than the last',
      );
    }
  }

  #record(partition: number, sequence: number): void {
    if (sequence <= this.#last[partition]!) assert.fail('the sequences of a partition increase');
    if (this.#durable[partition] === Number.POSITIVE_INFINITY) {
      this.#durable[partition] = sequence - 1;
    }
    this.#last[partition] = sequence;
    if (this.#isChanged[partition] === 1) return;
    this.#isChanged[partition] = 1;
    this.#changed[this.#changedCount++] = partition;
  }
}
