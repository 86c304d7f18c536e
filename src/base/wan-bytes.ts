/** Memory of WAN replication beside its queues, by the limit of these. */

const EXCEPTION_SHARE = 1 / 4;
const EXCEPTION_BYTES_MAX = 67_108_864;

/**
 * Bytes by which a recovery may exceed the limit of all queues, and bytes of batches that a target has
 * acknowledged on receipt and not applied: each.
 */
export function exceptionBytes(queueBytesMax: number): number {
  return Math.min(EXCEPTION_BYTES_MAX, Math.floor(queueBytesMax * EXCEPTION_SHARE));
}
