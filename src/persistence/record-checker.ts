/**
 * A thread that verifies the checksums of a segment while the records of the previous one are
 * applied: verification takes a tenth of a long recovery. Recovery trusts only the records that the
 * thread has verified. It verifies the remaining ones itself, or all if there is no thread.
 */
import { Worker } from 'node:worker_threads';
import type { Page } from './page.ts';
import { RECORD_BYTES_MIN } from './record-codec.ts';

/** The thread's program. It is a string because the member is bundled into one file. */
const PROGRAM = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ memory, module, walk }) => {
  const { exports } = new WebAssembly.Instance(module, { of: { memory } });
  parentPort.postMessage(exports.walk(...walk));
});
`;

export class RecordChecker {
  readonly #thread = new Worker(PROGRAM, { eval: true, execArgv: [] });
  /** Callbacks of the pending checks, in order. */
  readonly #callbacks: ((end: number) => void)[] = [];
  #hasEnded = false;

  constructor() {
    this.#thread.on('message', (end: number) => this.#callbacks.shift()?.(end));
    this.#thread.on('error', () => {});
    this.#thread.on('exit', () => {
      this.#hasEnded = true;
      for (const answer of this.#callbacks.splice(0)) answer(0);
    });
  }

  /**
   * Resolves with the offset after the valid records that start at `at`, or 0 if it is unknown. The
   * caller must not write to the page until then, as its memory is shared.
   */
  async validEnd({ memory }: Page, at: number, end: number, seed: number): Promise<number> {
    if (this.#hasEnded || memory?.shared === undefined) return 0;
    const { shared, start } = memory;
    this.#thread.postMessage({
      ...shared,
      walk: [start + at, start + end, ~seed, RECORD_BYTES_MIN],
    });
    const found = await new Promise<number>((resolve) => this.#callbacks.push(resolve));
    return Math.max(found - start, 0);
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
