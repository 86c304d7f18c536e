/**
 * The contract with what counts the traffic of HTTP servers. Several servers may share a meter. An
 * *exchange* is one number: the row of the table of paths, the method and the status of a request.
 * Tested by traffic.spec.ts.
 */

export interface TrafficMeter {
  /** Counts responses with one duration, when they have been handed to the carrier. */
  countResponses(exchange: number, count: number, durationMs: number): void;
  /** Counts bytes received from clients, and bytes handed to their carriers. */
  countReceived(bytes: number): void;
  countSent(bytes: number): void;
  /** Called with the first work in a second of the wall clock; `nowMs` is that of the clock. */
  onSecond(nowMs: number): void;
  /** Counts an accepted connection, or one that was refused because there were too many. */
  countConnection(isRefused: boolean): void;
}

/** Counts nothing. */
export const UNMETERED: TrafficMeter = {
  countResponses() {},
  countReceived() {},
  countSent() {},
  countConnection() {},
  onSecond() {},
};

const STATUS_BITS = 10;
const METHOD_BITS = 6;
const UNTIMED = 1 << (STATUS_BITS + METHOD_BITS);
const LATE = UNTIMED << 1;
const ROW_SHIFT = STATUS_BITS + METHOD_BITS + 2;
/** The method of bytes that are not a request. */
export const NO_METHOD = (1 << METHOD_BITS) - 1;

/**
 * Returns the exchange of a request, without its status, by the number of its path and of its method.
 * Both may be combined later, with 0 for the other.
 */
export function exchangeOf(row: number, method: number): number {
  return (row << ROW_SHIFT) | (method << STATUS_BITS);
}

/** The exchange of bytes that are not a request, without its status. */
export const NO_REQUEST = NO_METHOD << STATUS_BITS;

/** Returns the exchange of a request whose duration says nothing about the load, as it may wait. */
export function asUntimed(exchange: number): number {
  return exchange | UNTIMED;
}

/** Returns the exchange of a request that was complete in an earlier turn than its response. */
export function asLate(exchange: number): number {
  return exchange | LATE;
}

export function isLate(exchange: number): boolean {
  return (exchange & LATE) !== 0;
}

/** Returns the exchange with another status. */
export function withStatus(exchange: number, status: number): number {
  return (exchange & ~STATUS_MASK) | status;
}

export function rowOf(exchange: number): number {
  return exchange >>> ROW_SHIFT;
}

/** Returns llhttp's number of the method, or NO_METHOD. */
export function methodOf(exchange: number): number {
  return (exchange >>> STATUS_BITS) & METHOD_MASK;
}

export function statusOf(exchange: number): number {
  return exchange & STATUS_MASK;
}

export function isUntimed(exchange: number): boolean {
  return (exchange & UNTIMED) !== 0;
}

const STATUS_MASK = (1 << STATUS_BITS) - 1;
const METHOD_MASK = (1 << METHOD_BITS) - 1;
