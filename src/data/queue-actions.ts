/**
 * Queue endpoints: offer, poll with a time limit, size (seed section 4, group DATA).
 * Tested by surface/dialect.spec.ts.
 */
import { INDEPENDENT } from '../http/response-delay.ts';
import type { Call } from '../surface/route.ts';
import { TEXT_PLAIN } from '../surface/text-plain.ts';

/** Maximum time for which a poll waits, in seconds. */
const POLL_SECONDS_MAX = 2 ** 31 - 1;

export function offer(call: Call): void {
  const { body, contentType } = call.exchange.request;
  call.services.data.engine.offer(call.name, body, contentType, call);
}

/** Offers the last part of the path as an item without a content type. */
export function offerFromPath(call: Call): void {
  call.services.data.engine.offer(call.name, call.key, TEXT_PLAIN, call);
}

export function size(call: Call): void {
  call.services.data.engine.queueSize(call.name, call);
}

/**
 * Polls the queue. The last part of the path is the time to wait, in seconds; zero or less means no
 * wait.
 */
export function poll(call: Call): void {
  const { exchange } = call;
  const text = call.key.toBuffer().toString('latin1');
  const seconds = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= POLL_SECONDS_MAX)) {
    const seen = JSON.stringify(text);
    const values = { seen, most: POLL_SECONDS_MAX };
    const { badValueStatus } = call.services.dialect;
    exchange.refuse('POLL_TIME_INVALID', values, undefined, badValueStatus);
  } else if (exchange.session.hasInputEnded) exchange.respondEmpty(204, INDEPENDENT, 0);
  else call.poll(seconds > 0 && exchange.mayWait ? seconds * 1000 : 0);
}
