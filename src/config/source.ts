/**
 * The source of a value, named as the user wrote it, and its place. Tested by environment.spec.ts.
 */

export interface Source {
  readonly kind: 'default' | 'file' | 'environment' | 'flag';
  /** `--port`, `conf.yaml:3:7`, `GRID_CLUSTERNAME`; empty for a default. */
  readonly name: string;
  /** Calculation of a default: `70 % of 256 MiB, container`. */
  readonly from?: string;
}

export const DEFAULT: Source = { kind: 'default', name: '' };

/** Returns the source of a value at the place. */
export function sourceAt(at: Place): Source {
  return { kind: at.line === 0 ? 'environment' : 'file', name: formatPlace(at) };
}

/** A place in a configuration file or in an environment variable. */
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
