/**
 * The checks of HTTP between the admission of a request by its handler and its content: the Expect field,
 * and the length and coding of the content. A request that fails a check is refused.
 * Tested by refusals.spec.ts.
 */

import type { Span } from '../base/span.ts';
import { isListOf, shown } from './field-values.ts';
import { CONTENT_ENCODING, EXPECT } from './header-fields.ts';
import type { Request } from './request.ts';
import type { RequestHead } from './request-head.ts';
import type { HttpServer } from './server.ts';

/** Maximum amount of unwanted content that is read to let the connection continue, in bytes. */
export const DROPPED_CONTENT_BYTES_MAX = 1048576;

/** Returns whether the head passes; if not, the request has been refused. */
export function passesContentChecks(request: Request): boolean {
  const { body, head } = request;
  if (head.fieldBits === 0 && !head.hasBody) return true;
  const { contentLength } = head;
  const expectation = head.version === 11 ? head.findLast(EXPECT, isUnknown) : undefined;
  if (expectation !== undefined)
    request.refuse('EXPECTATION_UNKNOWN', { expectation: shown(expectation) });
  else if (contentLength > 0 && contentLength > body.bytesMax) refuseLength(request, body.bytesMax);
  else {
    const coding = head.findLast(CONTENT_ENCODING, isPresent);
    if (coding !== undefined) request.refuse('CONTENT_CODED', { coding: shown(coding) });
  }
  return !request.isAnswered;
}

/** Whether the request has `Expect: 100-continue`. HTTP/1.0 has no expectations. */
export function expectsContinue(head: RequestHead): boolean {
  return head.version === 11 && head.findLast(EXPECT, isContinue) !== undefined;
}

/** Whether the connection ends, rather than reading and dropping the rest of refused content. */
export function endsInsteadOfDropping(head: RequestHead, hasUnread: boolean): boolean {
  return head.contentLength > DROPPED_CONTENT_BYTES_MAX || (!hasUnread && expectsContinue(head));
}

/** Refuses content that was dropped, because it is too long or the budget has no room for it. */
export function refuseContent(request: Request, { inFlight, nowMs }: HttpServer): void {
  const { body } = request;
  if (body.isTooLong) return refuseLength(request, body.bytesMax);
  request.refuse('NO_ROOM_FOR_CONTENT', { bytesMax: inFlight.bytesMax });
  // Other content may be ended to make room.
  inFlight.relieve(nowMs);
}

function refuseLength(request: Request, bodyBytesMax: number): void {
  request.refuse('CONTENT_TOO_LONG', { bodyBytesMax });
}

function isContinue({ bytes, start, end }: Span): boolean {
  return isListOf(bytes, start, end, CONTINUE);
}

function isUnknown(expectation: Span): boolean {
  return isPresent(expectation) && !isContinue(expectation);
}

function isPresent({ length }: Span): boolean {
  return length > 0;
}

const CONTINUE = Buffer.from('100-continue');
