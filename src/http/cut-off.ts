/** The losses of clients whose server ends immediately. */
import { counted } from '../base/quantities.ts';

export interface CutOff {
  /** Number of connections with unanswered requests, unsent responses or unread input. */
  readonly connections: number;
  /**
   * Number of requests read, the last of a connection perhaps in part, whose responses the kernel has not
   * accepted completely.
   */
  readonly requests: number;
  /** Bytes of responses that the kernel has not accepted or not delivered. */
  readonly responseBytes: number;
}

/** Describes the losses for the log; undefined if there are none. */
export function describeCutOff({
  connections,
  requests,
  responseBytes,
}: CutOff): string | undefined {
  if (connections === 0) return undefined;
  return (
    `${counted(connections, 'connection')}: at least ${counted(requests, 'request')} not fully ` +
    `answered, ${counted(responseBytes, 'byte')} of responses not delivered`
  );
}
