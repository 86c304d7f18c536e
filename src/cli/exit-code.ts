/** The exit codes of the process. */

/** All work was done, and every request got its response. */
export const EXIT_CLEAN = 0;
/** A failure while running, or a stop that cut off connections or writes. */
export const EXIT_FAILED = 1;
/** Wrong flags or configuration; nothing was started. */
export const EXIT_USAGE = 2;
/** The address, port or data directory can't be used. */
export const EXIT_NOT_USABLE = 3;

// The exit codes of client commands, in addition to EXIT_CLEAN and EXIT_USAGE.

/** The entry or item does not exist, the queue is full, or the health check failed. */
export const EXIT_ABSENT = 1;
/** The member does not respond. */
export const EXIT_UNREACHABLE = 3;
/** The member refuses the request; the message contains the reason. */
export const EXIT_REFUSED = 4;

/**
 * Standard output cannot be written. The commands for files of a member end with EXIT_FAILED
 * instead.
 */
export const EXIT_NOT_PRINTED = 5;

/**
 * The reader of standard output has closed it: 128 plus the number of SIGPIPE, as shells report it for
 * other programs.
 */
export const EXIT_CLOSED_PIPE = 141;

/** One of these, or that of a command that `gridnode cp lock` has run. */
export type ExitCode = number;
