/**
 * The repeated requests to a server, as a generator's options and as the bytes that our own client
 * writes. A key has twelve digits; `{key}` is its placeholder.
 */

export const KEY = '{key}';
export const KEY_BYTES = 12;

/** One kind of request. */
export interface Request {
  readonly method: string;
  readonly target: string;
  /** Length of the body, of type text/plain; without it there is no body. */
  readonly bodyBytes?: number;
  /** Number of successive requests of this kind; default 1. */
  readonly times?: number;
}

/** A request in bytes, and the beginning of a successful response. */
export interface Exchange {
  readonly request: string;
  readonly answer: string;
  /** Maximum number of requests in progress on a connection; default 64. */
  readonly depthMax?: number;
}

export function keyOf(index: number): string {
  return String(index).padStart(KEY_BYTES, '0');
}

export function exchangeOf(request: Request, answer = 'HTTP/1.1 200 '): Exchange {
  const { method, target, bodyBytes } = request;
  const body = 'x'.repeat(bodyBytes ?? 0);
  const fields =
    bodyBytes === undefined ? '' : `Content-Type: text/plain\r\nContent-Length: ${bodyBytes}\r\n`;
  return {
    request: `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n${body}`,
    answer,
  };
}
