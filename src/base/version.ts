/**
 * The version of this program. The same as in package.json, by a test: reading it from there would
 * depend on where the compiled files lie.
 */
export const VERSION = '0.1.0';
