/**
 * The contract with what counts the traffic of HTTP servers. Several servers may share a meter. An
 * *exchange* is one number: the row of the table of paths, the method and the status of a request.
 * Tested by traffic.spec.ts.
 */
import { CONNECT, OPTIONS } from './methods.ts';

export interface TrafficMeter {
  /** Counts responses with one duration, when they have been handed to the carrier. */
  countResponses(exchange: number, count: number, durationMs: number): void;
  /** Counts bytes received from clients, and bytes handed to their carriers. */
  countReceived(bytes: number): void;
  countSent(bytes: number): void;
  /** Counts an accepted connection, or one that was refused because there were too many. */
  countConnection(isRefused: boolean): void;
}

/** Counts nothing. */
export const UNMETERED: TrafficMeter = {
  countResponses() {},
  countReceived() {},
  countSent() {},
  countConnection() {},
};

/** The method of any other request, and of bytes that are not a request, as numbers of an exchange. */
export const OTHER_METHOD = CONNECT;
export const NO_METHOD = OPTIONS + 1;
/** Number of methods of an exchange. */
export const METHOD_COUNT = NO_METHOD + 1;

const STATUS_BITS = 10;
const METHOD_BITS = 3;
const UNTIMED = 1 << (STATUS_BITS + METHOD_BITS);
const ROW_SHIFT = STATUS_BITS + METHOD_BITS + 1;

/**
 * Returns the exchange of a request. `row`: the number of its path, 0 for none. `method`: llhttp's number.
 * `isUntimed`: whether its duration says nothing about the load, as it may wait.
 */
export function exchangeOf(
  row: number,
  method: number,
  status: number,
  isUntimed: boolean,
): number {
  const known = method <= OPTIONS ? method : OTHER_METHOD;
  return (row << ROW_SHIFT) | (isUntimed ? UNTIMED : 0) | (known << STATUS_BITS) | status;
}

/** Returns the exchange of bytes that are not a request. */
export function exchangeWithoutRequest(status: number): number {
  return (NO_METHOD << STATUS_BITS) | status;
}

/** Returns the exchange with another status. */
export function withStatus(exchange: number, status: number): number {
  return (exchange & ~STATUS_MASK) | status;
}

export function rowOf(exchange: number): number {
  return exchange >>> ROW_SHIFT;
}

/** Returns the number of the method, below METHOD_COUNT. */
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
