/**
 * What the process's exit code tells whoever started it.
 */

/** Everything was done and answered. */
export const EXIT_CLEAN = 0;
/** A failure while running, or a stop that cut something off. */
export const EXIT_FAILED = 1;
/** Wrong flags or configuration; nothing was started. */
export const EXIT_USAGE = 2;
/** The address, port or data directory can't be used. */
export const EXIT_NOT_USABLE = 3;

// What client commands end with, beside EXIT_CLEAN and EXIT_USAGE.

/** There is no such entry or item, the queue is full, the health part says no. */
export const EXIT_ABSENT = 1;
/** The member does not answer. */
export const EXIT_UNREACHABLE = 3;
/** The member refuses: the message says why. */
export const EXIT_REFUSED = 4;

/** Standard output does not take the answer; of the commands about a member's own files it is EXIT_FAILED. */
export const EXIT_NOT_PRINTED = 5;

/**
 * The reader of standard output has ended: 128 and the number of SIGPIPE, as a shell has it of
 * other tools.
 */
export const EXIT_CLOSED_PIPE = 141;

export type ExitCode = 0 | 1 | 2 | 3 | 4 | 5 | 141;
