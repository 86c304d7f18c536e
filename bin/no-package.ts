/**
 * Replaces, in the bundle, packages that dependencies would load but that are not used, such as log
 * writers in separate threads (see Makefile).
 */
export {};
