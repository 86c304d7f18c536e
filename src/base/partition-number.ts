/**
 * Numbers in place of a partition's: what a result or a response depends on, besides a sequence.
 * Partitions are numbered from 0.
 */

/** Depends on every partition, as the result of a clear does. */
export const EVERY_PARTITION = -1;
/** Depends on no stored data. */
export const NO_PARTITION = -2;
