/**
 * A thread that checks the records of a segment while those of the segment before are applied: the checks
 * are a tenth of a long recovery. Recovery trusts only the records that the thread has found whole. From
 * the place where the thread stops, or where there is no thread, recovery checks by itself.
 */
import { Worker } from 'node:worker_threads';
import type { Page } from './page.ts';
import { RECORD_BYTES_MIN } from './record-codec.ts';

/** As text: the member is one file, and there is no other file for a thread. */
const PROGRAM = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ memory, module, walk }) => {
  const { exports } = new WebAssembly.Instance(module, { of: { memory } });
  parentPort.postMessage(exports.walk(...walk));
});
`;

export class RecordChecker {
  readonly #thread = new Worker(PROGRAM, { eval: true, execArgv: [] });
  /** Callbacks of the checks that are not answered yet, in order. */
  readonly #answers: ((end: number) => void)[] = [];
  #hasEnded = false;

  constructor() {
    this.#thread.on('message', (end: number) => this.#answers.shift()?.(end));
    this.#thread.on('error', () => {});
    this.#thread.on('exit', () => {
      this.#hasEnded = true;
      for (const answer of this.#answers.splice(0)) answer(0);
    });
  }

  /**
   * Resolves with the offset behind the whole records from `at` on, 0 where nothing is known. The caller
   * does not write to the page until then, as its memory is shared.
   */
  async wholeEnd({ memory }: Page, at: number, end: number, seed: number): Promise<number> {
    if (this.#hasEnded || memory?.shared === undefined) return 0;
    const { shared, start } = memory;
    this.#thread.postMessage({
      ...shared,
      walk: [start + at, start + end, ~seed, RECORD_BYTES_MIN],
    });
    const found = await new Promise<number>((resolve) => this.#answers.push(resolve));
    return Math.max(found - start, 0);
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
