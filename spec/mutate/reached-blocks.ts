/**
 * Records the blocks that a spec reaches. In a working copy, each block of a mutable file begins
 * with a call of `reach`.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

const reached = new Set<number>();

/** Appends a block's number to a file, which other threads and processes of the spec also write. */
export function reach(block: number): void {
  if (reached.has(block)) return;
  reached.add(block);
  appendFileSync(join(import.meta.dirname, 'reached.txt'), `${block}\n`);
}
