/** A position in the log. */
export interface LogPlace {
  readonly segment: number;
  readonly offset: number;
}
