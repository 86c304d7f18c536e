/**
 * The merge policies. A policy decides which of two entries of a key is stored: the current one or
 * the incoming one, which another data set sends. The sender's replication reference names the
 * policy, and each event carries it. StoredEngine.merge (stored-engine.ts) describes the rules.
 * Tested by wan/server-replications.spec.ts.
 */

/** The incoming entry always wins. */
export const PASS_THROUGH = 0;
/** The incoming entry wins only if there is no current entry. */
export const PUT_IF_ABSENT = 1;
/** The later version wins. */
export const LATEST_UPDATE = 2;
/** The incoming entry wins if it has been read at least as often. */
export const HIGHER_HITS = 3;
/** The incoming entry wins if its last read is at least as recent. */
export const LATEST_ACCESS = 4;
/**
 * The incoming entry wins if its time to live ends at the same time or later; no end is the latest.
 */
export const EXPIRATION_TIME = 5;

export type MergePolicy = 0 | 1 | 2 | 3 | 4 | 5;

/** Whether the current entry may win although it is earlier, so that its removal has to be merged first. */
export function keepsEarlier(policy: number): boolean {
  return policy === PUT_IF_ABSENT || policy === EXPIRATION_TIME;
}
