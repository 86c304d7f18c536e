/**
 * Which changes of each partition wait in a publisher's queue, by their sequences: those behind `passed` up
 * to `queued`, or none where `passed` has reached that. In a lane events are in the order of their recording,
 * so what the head of the lane has passed tells it. Changes that the publisher does not send are in between
 * without being there.
 */
import { EVERY_PARTITION } from '../engine/engine.ts';

export class WaitingSequences {
  readonly laneCount: number;
  /** Called when changes have passed; must not call the engine. */
  onProgress: () => void = () => {};
  readonly #passed: Float64Array;
  readonly #queued: Float64Array;

  constructor(partitionCount: number, laneCount: number) {
    this.laneCount = laneCount;
    this.#passed = new Float64Array(partitionCount);
    this.#queued = new Float64Array(partitionCount);
  }

  /** Numbers of the partitions whose events are in the lane. */
  partitionsOf(lane: number): readonly number[] {
    const partitions: number[] = [];
    for (let each = lane; each < this.#passed.length; each += this.laneCount) partitions.push(each);
    return partitions;
  }

  /** The change's event is queued; EVERY_PARTITION: in every lane. */
  add(partition: number, sequence: number): void {
    if (partition !== EVERY_PARTITION) return this.#add(partition, sequence);
    for (let each = 0; each < this.#passed.length; each++) this.#add(each, sequence);
  }

  /** The head of the lane has passed an event; EVERY_PARTITION: of every partition of the lane. */
  pass(lane: number, partition: number, sequence: number): void {
    if (partition !== EVERY_PARTITION) return this.#pass(partition, sequence);
    for (let each = lane; each < this.#passed.length; each += this.laneCount) {
      this.#pass(each, sequence);
    }
  }

  /** The lane is empty. */
  passAll(lane: number): void {
    for (let each = lane; each < this.#passed.length; each += this.laneCount) {
      this.#pass(each, this.#queued[each]!);
    }
  }

  /** Nothing waits, and no sequence is known. */
  reset(): void {
    this.#passed.fill(0);
    this.#queued.fill(0);
  }

  /** Up to which sequence of each partition nothing waits, where the partitions have `sequences`. */
  marks(sequences: Float64Array): Float64Array {
    return sequences.map((sequence, partition) => {
      const passed = this.#passed[partition]!;
      return this.#queued[partition]! > passed ? passed : sequence;
    });
  }

  /** Whether an event of that sequence may wait; EVERY_PARTITION: in any partition. */
  mayHave(partition: number, sequence: number): boolean {
    if (partition !== EVERY_PARTITION) return this.#mayHave(partition, sequence);
    for (let each = 0; each < this.#passed.length; each++) {
      if (this.#mayHave(each, sequence)) return true;
    }
    return false;
  }

  /** What comes again, as it was known, may have a sequence that has passed, and waits without a mark. */
  #add(partition: number, sequence: number): void {
    const passed = this.#passed[partition]!;
    if (this.#queued[partition]! <= passed) {
      if (sequence <= passed) return;
      // Nothing waits, so what came between need not be sent.
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
