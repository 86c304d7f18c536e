/** Limits of batches that no setting has. */

/** Bytes of the events of a batch; a longer event goes alone. */
export const BATCH_BYTES_MAX = 4_194_304;
const BATCHES_PER_ENDPOINT = 4;

/** Batches under way to an endpoint: as many as the settings say, where that is 2 or more. */
export function batchesPerEndpoint(maxConcurrentInvocations: number): number {
  return maxConcurrentInvocations < 2 ? BATCHES_PER_ENDPOINT : maxConcurrentInvocations;
}
