/**
 * Parameters in the body of an administrative request: `p1&p2&…`, each written as a form value. The
 * count is checked first, then the credentials (the first two), then the work is done.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { hasOnlyWholeEscapes, PercentDecoder } from './percent.ts';
import type { RestHandler } from './rest-handler.ts';
import type { Action } from './routes.ts';

/** Does the work of a request whose parameters have been read and whose credentials are right. */
export type Work = (handler: RestHandler, parameters: readonly string[]) => void;

/** An action that takes `count` parameters, of which the first two are the credentials. */
export function withParameters(count: number, work: Work): Action {
  return (handler) => {
    const { exchange, services } = handler;
    const parts = splitParameters(exchange.request.body.toBuffer(), count);
    if (parts.length < count) {
      const message = `This endpoint expects at least ${count} parameters`;
      return exchange.respondFailure(400, message);
    }
    const parameters: string[] = [];
    for (const [index, part] of parts.entries()) {
      const parameter = readFormValue(part);
      if (parameter === undefined) {
        return exchange.respondFailure(400, `Cannot read parameter ${index + 1}: a bad escape`);
      }
      parameters.push(parameter);
    }
    if (!isEqualInConstantTime(parameters[0] ?? '', services.clusterName)) {
      return exchange.respondFailure(403, 'unauthenticated');
    }
    work(handler, parameters);
  };
}

/** At most `count` parts; the rest, with its ampersands, stays in the last. Nothing is no part. */
function splitParameters(body: Buffer, count: number): Buffer[] {
  const parts: Buffer[] = [];
  if (body.length === 0) return parts;
  let start = 0;
  while (parts.length < count - 1) {
    const end = body.indexOf(AMPERSAND, start);
    if (end < 0) break;
    parts.push(body.subarray(start, end));
    start = end + 1;
  }
  parts.push(body.subarray(start));
  return parts;
}

/** The text that a form value stands for; undefined for a bad escape. */
function readFormValue(part: Buffer): string | undefined {
  if (!hasOnlyWholeEscapes(part, 0, part.length)) return undefined;
  const spaced = Buffer.from(part);
  for (let at = 0; at < spaced.length; at++) if (spaced[at] === PLUS) spaced[at] = SPACE;
  return PercentDecoder.decode(spaced).toString();
}

function isEqualInConstantTime(seen: string, expected: string): boolean {
  return timingSafeEqual(digestOf(seen), digestOf(expected));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const AMPERSAND = 0x26;
const PLUS = 0x2b;
const SPACE = 0x20;
