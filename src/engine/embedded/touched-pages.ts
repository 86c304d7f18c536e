/**
 * Has the system find memory for the pages of a buffer while the event loop does other work: a thread
 * of Node's pool reads zeros into it. Whoever is the first to write to a page waits 4 µs for it.
 */
import { close, open, read } from 'node:fs';

/** Where there is none, nothing is touched. */
const ZEROS = '/dev/zero';

/** Calls `done` in a later turn. Nobody else writes to the buffer, of zeros, until then. */
export function touchPages(buffer: ArrayBuffer, done: () => void): void {
  open(ZEROS, (failure, descriptor) => {
    if (failure !== null) return done();
    read(descriptor, new Uint8Array(buffer), 0, buffer.byteLength, null, () => {
      close(descriptor, () => done());
    });
  });
}
