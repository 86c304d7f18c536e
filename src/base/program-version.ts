/**
 * The version of this program. A test compares it with package.json: reading it from there would depend
 * on the place of the compiled files.
 */
export const VERSION = '0.1.0';
