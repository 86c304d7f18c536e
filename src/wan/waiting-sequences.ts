/**
 * The sequences of the waiting changes in a publisher's queue, by partition: those after `passed`
 * up to `queued`, or none if `passed` has reached `queued`. A lane is in recording order, so the
 * head's progress determines `passed`. Changes that the publisher does not send may fall into the
 * range without being queued. Tested by persistent-queues.spec.ts.
 */
import { EVERY_PARTITION } from '../base/partition-number.ts';

export class WaitingSequences {
  readonly laneCount: number;
  /** Called when changes have left the queue. Must not call the engine. */
  onProgress: () => void = () => {};
  readonly #passed: Float64Array;
  readonly #queued: Float64Array;

  constructor(partitionCount: number, laneCount: number) {
    this.laneCount = laneCount;
    this.#passed = new Float64Array(partitionCount);
    this.#queued = new Float64Array(partitionCount);
  }

  /** Returns the numbers of the partitions whose events are in the lane. */
  partitionsOf(lane: number): readonly number[] {
    const partitions: number[] = [];
    for (let each = lane; each < this.#passed.length; each += this.laneCount) partitions.push(each);
    return partitions;
  }

  /** Records that the change's event is queued; EVERY_PARTITION: in every lane. */
  add(partition: number, sequence: number): void {
    if (partition !== EVERY_PARTITION) return this.#add(partition, sequence);
    for (let each = 0; each < this.#passed.length; each++) this.#add(each, sequence);
  }

  /**
   * Records that the lane's head has passed an event; EVERY_PARTITION: of all the lane's
   * partitions.
   */
  pass(lane: number, partition: number, sequence: number): void {
    if (partition !== EVERY_PARTITION) return this.#pass(partition, sequence);
    for (let each = lane; each < this.#passed.length; each += this.laneCount) {
      this.#pass(each, sequence);
    }
  }

  /** Records that the lane is empty. */
  passAll(lane: number): void {
    for (let each = lane; each < this.#passed.length; each += this.laneCount) {
      this.#pass(each, this.#queued[each]!);
    }
  }

  /** Forgets all sequences. */
  reset(): void {
    this.#passed.fill(0);
    this.#queued.fill(0);
  }

  /**
   * Returns up to which sequence of each partition nothing waits; `sequences` are the current ones.
   */
  marks(sequences: Float64Array): Float64Array {
    return sequences.map((sequence, partition) => {
      const passed = this.#passed[partition]!;
      return this.#queued[partition]! > passed ? passed : sequence;
    });
  }

  /** Returns whether an event of that sequence may wait; EVERY_PARTITION: in any partition. */
  mayHave(partition: number, sequence: number): boolean {
    if (partition !== EVERY_PARTITION) return this.#mayHave(partition, sequence);
    for (let each = 0; each < this.#passed.length; each++) {
      if (this.#mayHave(each, sequence)) return true;
    }
    return false;
  }

  /** A recovered change whose sequence has passed is queued without a mark. */
  #add(partition: number, sequence: number): void {
    const passed = this.#passed[partition]!;
    if (this.#queued[partition]! <= passed) {
      if (sequence <= passed) return;
      // Nothing waits, so the changes in between need not be sent.
      this.#passed[partition] = sequence - 1;
    }
    if (sequence > this.#queued[partition]!) this.#queued[partition] = sequence;
  }

  #pass(partition: number, sequence: number): void {
    if (sequence > this.#passed[partition]!) this.#passed[partition] = sequence;
  }

  #mayHave(partition: number, sequence: number): boolean {
    return sequence > this.#passed[partition]! && sequence <= this.#queued[partition]!;
  }
}
