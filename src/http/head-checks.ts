/**
 * The checks of HTTP itself between a request's admission by its handler and its content: what the
 * client expects, the length of its content, and its coding. A request that fails one is answered.
 */
import type { Body } from './body.ts';
import type { Exchange } from './exchange.ts';
import type { Request } from './request.ts';
import type { SlotHost } from './slot-host.ts';

/** The most bytes of unwanted content that are read so that the connection can continue. */
export const DROPPED_BYTES_MAX = 1048576;

/** False: the request has been refused because of its head. */
export function passesHeadChecks(exchange: Exchange, body: Body): boolean {
  const { request } = exchange;
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

/** Whether the connection ends instead of dropping the rest of refused content. */
export function endsInsteadOfDropping(
  { contentLength, expectsContinue }: Request,
  hasUnread: boolean,
): boolean {
  return contentLength > DROPPED_BYTES_MAX || (expectsContinue && !hasUnread);
}

/** Refuses content that was dropped: it is longer than permitted, or the budget has no room for it. */
export function refuseContent(exchange: Exchange, body: Body, { inFlight, nowMs }: SlotHost): void {
  if (body.isTooLong) return refuseLength(exchange, body.bytesMax);
  exchange.refuse('NO_ROOM_FOR_CONTENT', { bytesMax: inFlight.bytesMax });
  // Another's may be ended.
  inFlight.relieve(nowMs);
}

function refuseLength(exchange: Exchange, bodyBytesMax: number): void {
  exchange.refuse('CONTENT_TOO_LONG', { bodyBytesMax });
}
