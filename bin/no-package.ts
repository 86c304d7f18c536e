/**
 * In the place of packages that others would load and that are not used here: writers of the log in
 * threads of their own, for example (Makefile).
 */
export {};
