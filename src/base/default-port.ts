/** The port of a member whose configuration or address names none. */
export const DEFAULT_PORT = 5701;
