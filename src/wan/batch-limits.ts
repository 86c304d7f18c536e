/** Limits of batches that no setting has. */

/** Bytes of the events of a batch; a longer event goes alone. */
export const BATCH_BYTES_MAX = 4_194_304;
/** Batches under way to an endpoint where the settings name no number of 2 or more. */
export const BATCHES_PER_ENDPOINT = 4;
