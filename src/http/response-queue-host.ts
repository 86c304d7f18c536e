/** The parts of the server that the queues of its connections' responses share. */

import type { AnswerDelay } from './answer-delay.ts';
import type { OutputArena } from './arena.ts';
import type { InFlightBudget } from './in-flight.ts';

export interface ResponseQueueHost {
  readonly arena: OutputArena;
  readonly inFlight: InFlightBudget;
  readonly delay: AnswerDelay | undefined;
  /** While it is set, the text that leaves in the place of every response that has not left. */
  readonly substitute: string | undefined;
  /** The time of this turn, in milliseconds. */
  readonly nowMs: number;
}
