/**
 * Limits of batches, and of the clocks of their senders, that cannot be configured.
 * Tested by restored-queue.spec.ts.
 */

/**
 * Maximum size of the events of a batch, in bytes. A longer event is sent in a batch of its own.
 */
export const BATCH_BYTES_MAX = 4_194_304;
const BATCHES_PER_ENDPOINT = 4;

/**
 * Returns the configured limit of batches in flight per endpoint, or the default if it is below 2.
 */
export function batchesPerEndpoint(maxConcurrentInvocations: number): number {
  return maxConcurrentInvocations < 2 ? BATCHES_PER_ENDPOINT : maxConcurrentInvocations;
}

/**
 * Lead of another member's clock from which its versions are refused, in ms: they would set this
 * clock ahead for ever.
 */
export const AHEAD_MS_MAX = 86_400_000;
