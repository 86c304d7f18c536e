/**
 * Holds back events whose changes are not durable yet: until then a crash may undo the change.
 * Tested by publisher.spec.ts.
 */
import { EVERY_PARTITION } from '../base/partition-number.ts';
import type { WanEngine } from './wan-engine.ts';

export class DurableGate {
  readonly #engine: Pick<WanEngine, 'partitionCount' | 'delays'>;
  /** Whether an event was held back since this was last set to false. */
  hasDelayed = false;
  /** Every partition is durable up to the clear with this sequence. */
  #durableClear = 0;

  constructor(engine: Pick<WanEngine, 'partitionCount' | 'delays'>) {
    this.#engine = engine;
  }

  delays(partition: number, sequence: number): boolean {
    const isDelayed =
      partition === EVERY_PARTITION
        ? this.#delaysClear(sequence)
        : this.#engine.delays(partition, sequence);
    if (isDelayed) this.hasDelayed = true;
    return isDelayed;
  }

  /** Remembers the result, because every lane has a record of the clear. */
  #delaysClear(sequence: number): boolean {
    if (sequence <= this.#durableClear) return false;
    for (let partition = 0; partition < this.#engine.partitionCount; partition++) {
      if (this.#engine.delays(partition, sequence)) return true;
    }
    this.#durableClear = sequence;
    return false;
  }
}
