/**
 * The checks of HTTP between the admission of a request by its handler and its content: the Expect field,
 * and the length and coding of the content. A request that fails a check is refused.
 * Tested by refusals.spec.ts.
 */
import type { Exchange } from './exchange.ts';
import { isListOf, shown } from './field-values.ts';
import { CONTENT_ENCODING, EXPECT, type HeaderField } from './header-fields.ts';
import type { Request } from './request.ts';
import type { HttpServer } from './server.ts';

/** Maximum amount of unwanted content that is read to let the connection continue, in bytes. */
export const DROPPED_BYTES_MAX = 1048576;

/** Returns whether the head passes; if not, the request has been refused. */
export function passesContentChecks(exchange: Exchange): boolean {
  const { body, request } = exchange;
  if (request.fieldBits === 0 && !request.hasBody) return true;
  const { contentLength } = request;
  const expectation = request.version === 11 ? lastOther(request, EXPECT, CONTINUE) : '';
  if (expectation !== '') exchange.refuse('EXPECTATION_UNKNOWN', { expectation });
  else if (contentLength > 0 && contentLength > body.bytesMax)
    refuseLength(exchange, body.bytesMax);
  else {
    const coding = lastOther(request, CONTENT_ENCODING, NOTHING);
    if (coding !== '') exchange.refuse('CONTENT_CODED', { coding });
  }
  return !exchange.isAnswered;
}

/** Whether the request has `Expect: 100-continue`. HTTP/1.0 has no expectations. */
export function expectsContinue(request: Request): boolean {
  if (request.version !== 11) return false;
  for (let at = request.occurrence(EXPECT); at >= 0; at = request.occurrence(EXPECT, at)) {
    const { bytes, start, end } = request.valueAt(at);
    if (isListOf(bytes, start, end, CONTINUE)) return true;
  }
  return false;
}

/** Whether the connection ends, rather than reading and dropping the rest of refused content. */
export function endsInsteadOfDropping(request: Request, hasUnread: boolean): boolean {
  return request.contentLength > DROPPED_BYTES_MAX || (!hasUnread && expectsContinue(request));
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

/** Returns the last value of the field that is not empty and not a list of `served`, shortened; or ''. */
function lastOther(request: Request, row: HeaderField, served: Buffer): string {
  let other = -1;
  for (let at = request.occurrence(row); at >= 0; at = request.occurrence(row, at)) {
    const { bytes, start, end } = request.valueAt(at);
    if (start < end && !isListOf(bytes, start, end, served)) other = at;
  }
  return other < 0 ? '' : shown(request.valueAt(other));
}

const CONTINUE = Buffer.from('100-continue');
const NOTHING = Buffer.alloc(0);
