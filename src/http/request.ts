/**
 * A request as the handler sees it: numbers and spans on the bytes received, filled in by the parser
 * and reused for the connection's next request. Valid until the request is answered. Spans may lie in
 * the input area that all connections share, so the connection gives a request that outlives its turn
 * bytes of its own.
 */
import { Span } from '../base/span.ts';
import { KeptBytes } from './kept-bytes.ts';

export class Request {
  /** One of the method numbers. */
  method = 0;
  /** 10 or 11. */
  version = 0;
  /** Whether the connection may continue after this request (RFC 9112 section 9.3). */
  keepAlive = false;
  /** Path and query, beginning with a slash, or the asterisk; raw bytes, escapes as sent. */
  readonly target = new Span();
  /** Offset in target's bytes of the first `?`, or target's end. */
  pathEnd = 0;
  /** Whether the path has a `%`. */
  escaped = false;
  /** As sent; empty when there is none. */
  readonly contentType = new Span();
  /** Value of Authorization as sent; empty when there is none. */
  readonly authorization = new Span();
  /** Whether either of the two may have bytes. */
  hasFields = false;
  /** Bytes of content announced; 0 for none; UNKNOWN_LENGTH when chunked. */
  contentLength = 0;
  /** Expect: 100-continue in HTTP/1.1. */
  expectsContinue = false;
  /** The content; complete when the handler runs. */
  readonly body = new Span();
  /** An expectation other than 100-continue, or ''. */
  unknownExpectation = '';
  /** The Content-Encoding sent, or ''. */
  contentEncoding = '';
  readonly #kept = new KeptBytes();

  get hasBody(): boolean {
    return this.contentLength !== 0;
  }

  /** Copies the head, so that it outlives the turn; returns how far the target was moved. */
  keepHead(): number {
    const { target, contentType, authorization, hasFields } = this;
    const { start } = target;
    const fieldBytes = hasFields ? contentType.length + authorization.length : 0;
    this.#kept.begin(target.length + fieldBytes);
    this.#kept.keep(target);
    if (hasFields) {
      this.#kept.keep(contentType);
      this.#kept.keep(authorization);
    }
    const shift = target.start - start;
    this.pathEnd += shift;
    return shift;
  }

  /** The request is over: what was copied of it is not used any more. */
  forgetHead(): void {
    this.#kept.end();
  }
}

export const UNKNOWN_LENGTH = -1;
