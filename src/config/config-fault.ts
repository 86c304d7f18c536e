/** The error of a start or a reload whose configuration is wrong. */

/** The configuration cannot be used; each problem is a line for the operator. */
export class ConfigFault extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}
