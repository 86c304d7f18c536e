/** Bytes that are sent without a copy. `release` is called once, when the last byte has been sent. */
export interface Pin {
  /**
   * Whether their memory counts as stored data; otherwise only the pin keeps it allocated, and the budget
   * for bytes in flight counts it.
   */
  readonly isCounted: boolean;
  release(): void;
}
