/** A place in a text of the operator: a file or a variable. */

export interface Place {
  /** The file's name, or the name of a variable of the environment, with a line of 0. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

/** `file:line:column`, or the name of a variable. */
export function formatPlace({ file, line, column }: Place): string {
  return line === 0 ? file : `${file}:${line}:${column}`;
}
