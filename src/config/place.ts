/** A place in a configuration file or in an environment variable. Tested by member/load.spec.ts. */

export interface Place {
  /** Name of the file, or of an environment variable, whose line is 0. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

/** Returns `file:line:column`, or the name of a variable. */
export function formatPlace({ file, line, column }: Place): string {
  return line === 0 ? file : `${file}:${line}:${column}`;
}
