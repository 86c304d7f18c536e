/**
 * In the place of the package thread-stream, by which pino would write the log from a thread of its own: it
 * is not used, and would be loaded at each start (Makefile).
 */
export {};
