/** The memory of buffers, for tests that look for leaks. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectGarbage } from '../src/base/collect-garbage.ts';

/** Number of turns in which no buffer is freed, after which none is expected to be. */
const IDLE_TURNS = 5;

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

/**
 * Returns the bytes of buffers before a test, once several turns of the event loop have freed none:
 * earlier tests may have left some that are freed only when their handles are closed.
 */
export async function initialBufferBytes(): Promise<number> {
  let bytes = bufferBytes();
  for (let turns = 0; turns < IDLE_TURNS; turns++) {
    await nextTurn();
    const left = bufferBytes();
    if (left < bytes) turns = -1;
    bytes = left;
  }
  return bytes;
}
