/**
 * A thread that verifies the checksums of a segment while the records of the previous one are
 * applied: verification takes a tenth of a long recovery. Recovery trusts only the records that the
 * thread has verified. It verifies the remaining ones itself, or all if there is no thread.
 */
import { Worker } from 'node:worker_threads';
import type { Viewed } from '../base/copy-bytes.ts';
import { CONTROL_RECORD_BYTES } from './record-codec.ts';

/**
 * The thread's program: `checkRecord` for one record after another. It is a string because the member
 * is bundled into one file.
 */
const PROGRAM = `
const { parentPort } = require('node:worker_threads');
const { crc32 } = require('node:zlib');
parentPort.on('message', ({ memory, start, end, seed, least }) => {
  const bytes = Buffer.from(memory);
  let at = start;
  while (end - at >= least) {
    const next = at + Math.ceil((bytes.readUInt32LE(at + 4) + 4) / 8) * 8;
    if (next - at < least || next > end) break;
    if (crc32(bytes.subarray(at + 4, next), seed) !== bytes.readUInt32LE(at)) break;
    at = next;
  }
  parentPort.postMessage(at);
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
   * Resolves with the offset after the valid records that start at `start`, or 0 if it is unknown. The
   * caller must not write to the memory until then, as it must be shared.
   */
  async validEnd({ bytes }: Viewed, start: number, end: number, seed: number): Promise<number> {
    if (this.#hasEnded) return 0;
    const memory = bytes.buffer;
    this.#thread.postMessage({ memory, start, end, seed: seed >>> 0, least: CONTROL_RECORD_BYTES });
    return await new Promise<number>((resolve) => this.#callbacks.push(resolve));
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
