/** The limits at which a connection runs no further requests, as too many of its answers wait. */
import type { ConnectionHost } from './connection-host.ts';
import type { ConnectionRequests } from './connection-requests.ts';
import type { ResponseQueue } from './response-queue.ts';

/** Requests are not run while more bytes than this wait to be sent; less where the budget is used up. */
const UNSENT_BYTES_MAX = 1048576;
const UNSENT_BYTES_CROWD = 65536;

/** Whether the most answers wait: those to be sent, and those that wait for their place. */
export function isFull(
  responses: ResponseQueue,
  { keptBytes }: ConnectionRequests,
  { inFlight, limits }: ConnectionHost,
): boolean {
  if (responses.isEmpty && keptBytes === 0) return false;
  const isCrowd = inFlight.isFull;
  return (
    responses.unsentBytes + keptBytes > (isCrowd ? UNSENT_BYTES_CROWD : UNSENT_BYTES_MAX) ||
    responses.delayedCount >= limits.pipelineMax ||
    (isCrowd && (responses.holdsCopies || keptBytes > 0))
  );
}
