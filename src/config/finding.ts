/** What is told about a configuration: to the operator, the log or the client that asked for a reload. */

/** With an error or a refused setting a configuration is not used; with the latter it may be printed. */
export type Severity = 'error' | 'refused' | 'warning' | 'note';

export interface Finding {
  /**
   * `conf.yaml:3:7`, or the name of a variable; empty where there is no single place, or where the
   * message itself names the variable or flag.
   */
  readonly place: string;
  readonly severity: Severity;
  /** Without the place. */
  readonly message: string;
}

export function finding(severity: Severity, message: string, place = ''): Finding {
  return { place, severity, message };
}

/** The line that the reader gets. */
export function lineOf({ place, message }: Finding): string {
  return place === '' ? message : `${place}: ${message}`;
}

/** The lines of one severity. */
export function linesOf(findings: readonly Finding[], severity: Severity): string[] {
  return findings.filter((each) => each.severity === severity).map(lineOf);
}
