/** Keeps events back whose changes' answers may not leave yet: their changes may still be lost. */
import { EVERY_PARTITION } from '../engine/engine.ts';
import type { WanEngine } from './wan-engine.ts';

export class AnswerGate {
  readonly #engine: Pick<WanEngine, 'partitionCount' | 'delays'>;
  /** Whether an event was kept back since this was last set to false. */
  hasDelayed = false;
  /** Every partition is durable up to this sequence of a clear. */
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

  /** Each lane has a record of the clear, so what was found is remembered. */
  #delaysClear(sequence: number): boolean {
    if (sequence <= this.#durableClear) return false;
    for (let partition = 0; partition < this.#engine.partitionCount; partition++) {
      if (this.#engine.delays(partition, sequence)) return true;
    }
    this.#durableClear = sequence;
    return false;
  }
}
