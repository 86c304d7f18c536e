/**
 * The callbacks of llhttp, and the results of these callbacks and of `execute`.
 * Tested by connection.spec.ts.
 */

/** Results of `execute` and of callbacks, by llhttp's numbers. */
export const OK = 0;
export const DATA_AFTER_CLOSE = 5;
export const INVALID_TARGET = 7;
export const INVALID_VERSION = 9;
export const PAUSED = 21;
export const PAUSED_UPGRADE = 22;
/** Returned by a callback that refuses the message, and then by `execute`. */
export const REFUSED = 24;

/** Receives llhttp's callbacks during `execute`. Each returns OK, PAUSED or REFUSED. */
export interface ParserListener {
  onMessageBegin(): number;
  onTarget(address: number, length: number): number;
  onFieldName(address: number, length: number): number;
  onFieldValue(address: number, length: number): number;
  /** `status`: that of a response. */
  onHeadersComplete(keepAlive: boolean, status: number): number;
  onBody(address: number, length: number): number;
  onMessageComplete(): number;
}

/** Ignores every callback; with some of them replaced, it is the listener of a simple parser. */
export const QUIET: ParserListener = {
  onMessageBegin: ok,
  onTarget: ok,
  onFieldName: ok,
  onFieldValue: ok,
  onHeadersComplete: ok,
  onBody: ok,
  onMessageComplete: ok,
};

function ok(): number {
  return OK;
}
