/**
 * The checks of HTTP between the admission of a request by its handler and its content: the Expect field,
 * and the length and coding of the content. A request that fails a check is refused.
 * Tested by refusals.spec.ts.
 */
import type { Exchange } from './exchange.ts';
import type { Request } from './request.ts';
import type { HttpServer } from './server.ts';

/** Maximum amount of unwanted content that is read to let the connection continue, in bytes. */
export const DROPPED_BYTES_MAX = 1048576;

/** Returns whether the head passes; if not, the request has been refused. */
export function passesContentChecks(exchange: Exchange): boolean {
  const { body, request } = exchange;
  if (!request.hasFields && !request.hasBody) return true;
  if (request.unknownExpectation !== '') {
    exchange.refuse('EXPECTATION_UNKNOWN', { expectation: request.unknownExpectation });
  } else if (request.contentLength > 0 && request.contentLength > body.bytesMax) {
    refuseLength(exchange, body.bytesMax);
  } else if (request.contentEncoding !== '') {
    exchange.refuse('CONTENT_CODED', { coding: request.contentEncoding });
  }
  return !exchange.isAnswered;
}

/** Whether the connection ends, rather than reading and dropping the rest of refused content. */
export function endsInsteadOfDropping(
  { contentLength, expectsContinue }: Request,
  hasUnread: boolean,
): boolean {
  return contentLength > DROPPED_BYTES_MAX || (expectsContinue && !hasUnread);
}

/** Refuses content that was dropped, because it is too long or the budget has no room for it. */
export function refuseContent(exchange: Exchange, { inFlight, nowMs }: HttpServer): void {
  const { body } = exchange;
  if (body.isTooLong) return refuseLength(exchange, body.bytesMax);
  exchange.refuse('NO_ROOM_FOR_CONTENT', { bytesMax: inFlight.bytesMax });
  // Other content may be ended to make room.
  inFlight.relieve(nowMs);
}

function refuseLength(exchange: Exchange, bodyBytesMax: number): void {
  exchange.refuse('CONTENT_TOO_LONG', { bodyBytesMax });
}
