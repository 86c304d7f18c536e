/** The state of a request's slot, as bits of one number to save CPU cache per request under way. */

/** The slot has a request, answered or not. */
export const TAKEN = 1;
/** Content has been announced and not completely received. */
export const BODY_PENDING = 1 << 1;
/** The client waits for `100 Continue`, or may not have received it yet. */
export const INVITING = 1 << 2;
/** `100 Continue` has been written. */
export const INVITED = 1 << 3;
/** The request waits for an item, so that its client is watched. */
export const AWAITS_ITEM = 1 << 4;
/** The response always ends the connection. */
export const ENDS_CONNECTION = 1 << 5;
/** The bytes are not a request, or its head is incomplete. */
export const UNREADABLE = 1 << 6;
/** The request has begun to run. */
export const BEGUN = 1 << 7;
export const RUNNING = 1 << 8;
/** The request retains a copy of its bytes. */
export const RETAINS_BYTES = 1 << 9;
/** Fields other than this number differ from an unused slot and are not set by a new request. */
export const DIRTY = 1 << 10;
/** The copy of its head is in a buffer of its own. */
export const LONG_HEAD = 1 << 11;
