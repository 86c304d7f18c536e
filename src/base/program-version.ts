/**
 * The version of this program. A test compares it with package.json; reading that file at run time
 * would depend on the location of the compiled files.
 */
export const VERSION = '0.1.0';
