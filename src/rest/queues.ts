/** Queue endpoints: offer, poll with a time limit, size (seed section 4, group DATA). */
import { INDEPENDENT } from '../http/application.ts';
import type { RestHandler } from './rest-handler.ts';
import { TEXT_PLAIN } from './text-plain.ts';

/** The longest wait of a poll, in seconds. */
const POLL_SECONDS_MAX = 2 ** 31 - 1;

export function offer(handler: RestHandler): void {
  const { body, contentType } = handler.exchange.request;
  handler.engine.offer(handler.name, body, contentType, handler);
}

/** Offers the last part of the path; the item has no content type. */
export function offerFromPath(handler: RestHandler): void {
  handler.engine.offer(handler.name, handler.key, TEXT_PLAIN, handler);
}

export function size(handler: RestHandler): void {
  handler.engine.queueSize(handler.name, handler);
}

/** Polls. The path's last part is the time to wait, in seconds; zero or less: no wait. */
export function poll(handler: RestHandler): void {
  const { exchange } = handler;
  const text = handler.key.toBuffer().toString('latin1');
  const seconds = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= POLL_SECONDS_MAX)) {
    const seen = JSON.stringify(text);
    const wanted = `an integer up to ${POLL_SECONDS_MAX}`;
    const status = handler.services.dialect.badValueStatus;
    exchange.respondFailure(status, `Cannot poll for ${seen} seconds: not ${wanted}`);
  } else if (exchange.session.hasInputEnded) exchange.respondEmpty(204, INDEPENDENT, 0);
  else handler.take(seconds > 0 && exchange.mayWait ? seconds * 1000 : 0);
}
