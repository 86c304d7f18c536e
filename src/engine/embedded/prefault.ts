/**
 * Touches the pages of a buffer while the event loop does other work: a thread of Node's pool reads
 * zeros into it. The first write to an untouched page waits 4 µs for the system (bench: refill).
 * Tested by slab-stock.spec.ts.
 */
import { close, open, read } from 'node:fs';

/** A source of zeros. If this file does not exist, nothing is touched. */
const ZEROS = '/dev/zero';

/**
 * Touches the pages, and calls `done` in a later turn. Until then only this function writes to the
 * buffer, and only zeros.
 */
export function prefaultPages(buffer: ArrayBuffer, done: () => void): void {
  open(ZEROS, (failure, descriptor) => {
    if (failure !== null) return done();
    read(descriptor, new Uint8Array(buffer), 0, buffer.byteLength, null, () => {
      close(descriptor, () => done());
    });
  });
}
