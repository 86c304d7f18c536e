/**
 * A request as seen by its handler: numbers, and spans of the received bytes. The parser fills it in, and
 * it is reused for the next request of the connection. It is valid until the request is answered. Spans
 * may refer to the input area that all connections share, so the bytes of a request that outlives its
 * turn are copied. Tested by vectors.spec.ts.
 */
import { Span } from '../base/span.ts';
import type { BrowserFields } from './browser-fields.ts';
import type { Places } from './retained-bytes.ts';

export class Request {
  // The fields below are used by every request and are adjacent in memory.
  /** The number of the method (methods.ts). */
  method = 0;
  /** The version: 10 for HTTP/1.0, 11 for HTTP/1.1. */
  version = 0;
  /**
   * Whether the connection may continue after this request (RFC 9112 section 9.3). False for CONNECT, and
   * after bytes or a fault of the member that end the connection.
   */
  keepAlive = false;
  /** Length of the content, in bytes; UNKNOWN_LENGTH if chunked. */
  contentLength = 0;
  /** Whether the request may have any of the header fields below. */
  hasFields = false;
  /** The path, beginning with a slash, and query; or the asterisk. Raw bytes and escapes are unchanged. */
  readonly target = new Span();
  /** Offset of the first `?` in the target's bytes, or the target's end. */
  pathEnd = 0;
  /** Whether the path contains a `%`. */
  escaped = false;
  /** The value of Content-Type as sent; empty if absent. */
  readonly contentType = new Span();
  /** The value of Authorization as sent; empty if absent. */
  readonly authorization = new Span();
  /** Whether the request has `Expect: 100-continue`, in HTTP/1.1. */
  expectsContinue = false;
  /** An expectation other than 100-continue, or ''. */
  unknownExpectation = '';
  /** The value of Content-Encoding, or ''. */
  contentEncoding = '';
  /** The fields that only browsers send; undefined if there are none. */
  browser: BrowserFields | undefined;
  /** The requested host, truncated, if the listener does not serve it. */
  unservedHost: string | undefined;
  /** The content, which is complete when the handler runs. */
  readonly body = new Span();

  get hasBody(): boolean {
    return this.contentLength !== 0;
  }

  /** Number of bytes that `retainHead` copies. */
  get headBytes(): number {
    const { length } = this.target;
    return this.hasFields ? length + this.contentType.length + this.authorization.length : length;
  }

  /** Releases all of the head but its path. */
  retainPath(): void {
    this.target.end = this.pathEnd;
    this.contentType.clear();
    this.authorization.clear();
  }

  /** Releases the bytes of the head, when the request is over. */
  releaseHead(): void {
    this.target.clear();
    this.contentType.clear();
    this.authorization.clear();
  }

  /** Returns the first `length` bytes of the target as text, with raw bytes escaped. */
  targetText(length: number): string {
    const { bytes, start } = this.target;
    const text = bytes.toString('latin1', start, start + length);
    return text.replace(/[\x80-\xff]/g, (byte) => `%${hexadecimal(byte.charCodeAt(0))}`);
  }

  /** Copies the head, so that it outlives the turn. */
  retainHead(places: Places): void {
    const { target } = this;
    const { start } = target;
    places.retain(target);
    if (this.hasFields) {
      places.retain(this.contentType);
      places.retain(this.authorization);
    }
    this.pathEnd += target.start - start;
  }
}

function hexadecimal(byte: number): string {
  return byte.toString(16).toUpperCase();
}

export const UNKNOWN_LENGTH = -1;
