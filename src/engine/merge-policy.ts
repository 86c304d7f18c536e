/**
 * The merge policies: which of two entries of one key stays, the one that is here or the one that another
 * data set sends. The sender's reference to its replication names the policy, and each event carries it.
 * StoredEngine.merge (stored-engine.ts) has the rules.
 */

/** What comes wins always. */
export const PASS_THROUGH = 0;
/** What comes wins only where there is no entry. */
export const PUT_IF_ABSENT = 1;
/** The later version wins. */
export const LATEST_UPDATE = 2;
/** What comes wins where it has been read as often, or more often. */
export const HIGHER_HITS = 3;
/** What comes wins where it was read as late, or later. */
export const LATEST_ACCESS = 4;
/** What comes wins where its time to live ends as late, or later; no end is the latest. */
export const EXPIRATION_TIME = 5;

export type MergePolicy = 0 | 1 | 2 | 3 | 4 | 5;
