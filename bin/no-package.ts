/**
 * In the place of packages that others would load and that are not used here, as writers of the log in
 * threads of their own (Makefile).
 */
export {};
