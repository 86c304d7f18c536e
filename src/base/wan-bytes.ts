/**
 * Memory that WAN replication may use in addition to its queues, derived from their limit.
 * Tested by wan/wan-json.spec.ts.
 */

const EXCEPTION_SHARE = 1 / 4;
const EXCEPTION_BYTES_MAX = 67_108_864;

/**
 * Returns the number of bytes by which a recovery may exceed the limit of all queues. The batches
 * that a target has acknowledged on receipt but not applied may also have this many bytes.
 */
export function exceptionBytes(queueBytesMax: number): number {
  return Math.min(EXCEPTION_BYTES_MAX, Math.floor(queueBytesMax * EXCEPTION_SHARE));
}
