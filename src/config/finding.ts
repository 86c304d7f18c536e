/**
 * A finding about a configuration, for the operator, the log, or the client that requested a
 * reload, and the error with the findings of an invalid configuration. Tested by environment.spec.ts.
 */

/**
 * A configuration with an `error` or `refused` finding is not used; with only `refused` it can be
 * printed.
 */
export type Severity = 'error' | 'refused' | 'warning' | 'note';

export interface Finding {
  /**
   * `conf.yaml:3:7`, or the name of a variable. Empty if there is no single place, or if the
   * message itself names the variable or flag.
   */
  readonly place: string;
  readonly severity: Severity;
  /** Message without the place. */
  readonly message: string;
}

/** A warning about settings of the original that this member does not use. */
export interface UnusedFinding extends Finding {
  /** Whether a function is lost for which the settings ask; otherwise they have no meaning here. */
  readonly isLoss: boolean;
  /** Message below a heading, without the place. */
  readonly listed: string;
}

export function isUnused(each: Finding): each is UnusedFinding {
  return 'isLoss' in each;
}

export function finding(severity: Severity, message: string, place = ''): Finding {
  return { place, severity, message };
}

/** Returns the line for the reader, with the place. */
export function lineOf({ place, message }: Pick<Finding, 'place' | 'message'>): string {
  return place === '' ? message : `${place}: ${message}`;
}

/** Returns the lines of one severity. */
export function linesOf(findings: readonly Finding[], severity: Severity): string[] {
  return findings.filter((each) => each.severity === severity).map(lineOf);
}

/** The configuration cannot be used; each problem is a line for the operator. */
export class ConfigFault extends Error {
  /** Always `ConfigFault`. */
  override readonly name = 'ConfigFault';
  /** Always `CONFIG_INVALID`. */
  readonly code = 'CONFIG_INVALID';
  /** One line for each problem, with its place. */
  readonly problems: readonly string[];
  /** @internal */
  readonly findings: readonly Finding[];

  /** @internal */
  constructor(findings: readonly Finding[]) {
    const problems = findings.map(lineOf);
    super(problems.join('\n'));
    this.problems = problems;
    this.findings = findings;
  }
}

/** Returns a fault that has no place in a file or variable. */
export function configFault(message: string): ConfigFault {
  return new ConfigFault([finding('error', message)]);
}
