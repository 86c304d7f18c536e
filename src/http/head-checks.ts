/**
 * The checks of HTTP itself between a request's admission by its handler and its content: what the
 * client expects, the length of its content, and its coding. A request that fails one is answered.
 */

import type { Exchange } from './exchange.ts';
import type { InFlightBudget } from './in-flight.ts';
import type { HttpLimits } from './limits.ts';
import type { Request } from './request.ts';
import { INDEPENDENT } from './response-hold.ts';

/** The most bytes of unwanted content that are read so that the connection can continue. */
export const DROPPED_BYTES_MAX = 1048576;

/** False: the request has been refused because of its head. */
export function passesHeadChecks(exchange: Exchange, limits: HttpLimits): boolean {
  const { request } = exchange;
  if (request.unknownExpectation !== '') {
    refuse(exchange, 417, `Cannot meet Expect "${request.unknownExpectation}"`);
  } else if (request.contentLength > limits.bodyBytesMax) {
    refuseLength(exchange, limits);
  } else if (request.contentEncoding !== '') {
    const message = `Cannot take Content-Encoding "${request.contentEncoding}": send it as it is`;
    refuse(exchange, 415, message);
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

/** Refuses content that is longer than permitted. */
export function refuseLength(exchange: Exchange, { bodyBytesMax }: HttpLimits): void {
  exchange.reason = `the content is longer than body-bytes-max, ${bodyBytesMax} bytes`;
  exchange.respondEmpty(413, INDEPENDENT, 0);
}

/** Refuses content for which the budget has no room; another's may be ended. */
export function refuseForCrowd(exchange: Exchange, inFlight: InFlightBudget, nowMs: number): void {
  const message =
    `Cannot take the content of a request: all connections together may have ` +
    `${inFlight.bytesMax} bytes under way`;
  refuse(exchange, 503, message);
  inFlight.relieve(nowMs);
}

function refuse(exchange: Exchange, status: number, message: string): void {
  exchange.reason = message;
  exchange.respondFailure(status, message);
}
