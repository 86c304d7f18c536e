/**
 * The limits for waiting responses beyond which a connection runs no further requests.
 * Tested by held-bytes.spec.ts.
 */
import type { ConnectionRequests } from './connection-requests.ts';
import type { ResponseQueue } from './response-queue.ts';
import type { HttpServer } from './server.ts';

/**
 * Maximum size of the waiting responses of a connection, in bytes; the lower one applies to a full
 * budget.
 */
const UNSENT_BYTES_MAX = 1048576;
const UNSENT_BYTES_MAX_FULL = 65536;

/** Whether the limit is reached, for responses to be sent and those waiting for earlier ones. */
export function isFull(
  responses: ResponseQueue,
  { bufferedBytes }: ConnectionRequests,
  { inFlight, limits }: HttpServer,
): boolean {
  if (responses.isEmpty && bufferedBytes === 0) return false;
  const isBudgetFull = inFlight.isFull;
  return (
    responses.unsentBytes + bufferedBytes >
      (isBudgetFull ? UNSENT_BYTES_MAX_FULL : UNSENT_BYTES_MAX) ||
    responses.delayedCount >= limits.pipelineMax ||
    (isBudgetFull && (responses.holdsCopies || bufferedBytes > 0))
  );
}
