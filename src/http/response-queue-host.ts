/** The part of the server that the response queues of its connections share. */

import type { OutputArena } from './arena.ts';
import type { InFlightBudget } from './in-flight.ts';
import type { ResponseDelay } from './response-delay.ts';

export interface ResponseQueueHost {
  readonly arena: OutputArena;
  readonly inFlight: InFlightBudget;
  readonly delay: ResponseDelay | undefined;
  /** The text to send in place of every unsent response, while it is set. */
  readonly substitute: string | undefined;
  /** The time of this turn, in ms. */
  readonly nowMs: number;
}
