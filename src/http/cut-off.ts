/** What clients do not get because their server ends at once. */
export interface CutOff {
  /** Connections with unanswered requests, unsent responses or unread input. */
  readonly connections: number;
  /**
   * Requests that were read, the last one of a connection perhaps in part, and whose responses the system
   * has not taken in full.
   */
  readonly requests: number;
  /** Bytes of responses that the system has not taken, or not delivered. */
  readonly responseBytes: number;
}

/** The numbers in words; undefined if nothing was cut off. */
export function describeCutOff({
  connections,
  requests,
  responseBytes,
}: CutOff): string | undefined {
  if (connections === 0) return undefined;
  return (
    `${connections} connections: ${requests} requests or more not answered in full, ` +
    `${responseBytes} bytes of responses not delivered`
  );
}
