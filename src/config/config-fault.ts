/** The error of a start or reload with an invalid configuration. Tested by bounds.spec.ts. */
import { type Finding, finding, lineOf } from './finding.ts';

/** The configuration cannot be used; each problem is a line for the operator. */
export class ConfigFault extends Error {
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
