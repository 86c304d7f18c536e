/** A position in the log. */
export interface LogPosition {
  readonly segment: number;
  readonly offset: number;
}
