/**
 * The doors that HTTP itself has between a request's admission by its handler and its content: what
 * the client expects, how much it sends, in which coding. Whoever does not pass is answered.
 */
import { INDEPENDENT } from './application.ts';
import type { Exchange } from './exchange.ts';
import type { InFlightBudget } from './in-flight.ts';
import type { HttpLimits } from './limits.ts';

/** False: the request has been refused for what its head says. */
export function passesDoors(exchange: Exchange, limits: HttpLimits): boolean {
  const { request } = exchange;
  if (request.unknownExpectation !== '') {
    exchange.respondFailure(417, `Cannot meet Expect "${request.unknownExpectation}"`);
  } else if (request.contentLength > limits.bodyBytesMax) {
    exchange.respondEmpty(413, INDEPENDENT, 0);
  } else if (request.contentEncoding !== '') {
    const message = `Cannot take Content-Encoding "${request.contentEncoding}": send it as it is`;
    exchange.respondFailure(415, message);
  }
  return !exchange.isAnswered;
}

/** Refuses content for which the budget has no room; another's may have to go. */
export function refuseForCrowd(exchange: Exchange, inFlight: InFlightBudget, nowMs: number): void {
  const message =
    `Cannot take the content of a request: all connections together may have ` +
    `${inFlight.bytesMax} bytes under way`;
  exchange.respondFailure(503, message);
  inFlight.relieve(nowMs);
}
