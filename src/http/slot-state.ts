/** The state of a request's slot: bits of one number, as each request under way takes it into the caches. */

/** It has a request, answered or not. */
export const TAKEN = 1;
/** It has content that has not come whole. */
export const BODY_PENDING = 1 << 1;
/** `100 Continue` is on its way. */
export const INVITING = 1 << 2;
export const INVITED = 1 << 3;
/** It waits for an item: its client is watched. */
export const AWAITS_ITEM = 1 << 4;
/** Its response ends the connection in any case. */
export const ENDS_CONNECTION = 1 << 5;
/** The bytes are not a request, or not the whole head of one. */
export const UNREADABLE = 1 << 6;
/** It has begun to run. */
export const BEGUN = 1 << 7;
export const RUNNING = 1 << 8;
/** It has bytes of its own. */
export const OWNS_BYTES = 1 << 9;
/** Something else than this number differs from an unused slot, and a new request does not set it. */
export const DIRTY = 1 << 10;
