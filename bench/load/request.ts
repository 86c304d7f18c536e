/**
 * What is asked of a server, over and over: as a generator takes it, and as the bytes that a client of
 * our own writes. A key is twelve digits; `{key}` stands for it.
 */

export const KEY = '{key}';
export const KEY_BYTES = 12;

/** One kind of request. */
export interface Request {
  readonly method: string;
  readonly target: string;
  /** Length of the body, which is of type text/plain; without it there is none. */
  readonly bodyBytes?: number;
  /** How many of this kind follow each other; 1 unless told. */
  readonly times?: number;
}

/** A request in bytes, and how an answer that tells of success begins. */
export interface Exchange {
  readonly request: string;
  readonly answer: string;
  /** How many may be on their way on a connection; 64 unless told. */
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
  return { request: `${method} ${target} HTTP/1.1\r\nHost: x\r\n${fields}\r\n${body}`, answer };
}
