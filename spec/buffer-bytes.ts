/** The memory of buffers, for tests that look for leaks. */
import { collectGarbage } from '../src/base/collect-garbage.ts';

/** Collects garbage until no more buffers are freed. Returns the bytes of those in use. */
export function bufferBytes(): number {
  let bytes = Number.POSITIVE_INFINITY;
  for (;;) {
    collectGarbage();
    const { arrayBuffers } = process.memoryUsage();
    if (arrayBuffers >= bytes) return bytes;
    bytes = arrayBuffers;
  }
}
