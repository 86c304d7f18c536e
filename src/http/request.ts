/**
 * A request as the handler sees it: numbers and spans on the bytes received, filled in by the parser
 * and reused for the connection's next request. Valid until the request is answered. Spans may lie in
 * the input area that all connections share, so the connection gives a request that outlives its turn
 * bytes of its own.
 */
import { Span } from '../base/span.ts';
import type { BrowserFields } from './browser-fields.ts';
import type { Places } from './kept-bytes.ts';

export class Request {
  // What every request uses lies together, from here on.
  /** One of the method numbers. */
  method = 0;
  /** 10 or 11. */
  version = 0;
  /** Whether the connection may continue after this request (RFC 9112 section 9.3). */
  keepAlive = false;
  /** Bytes of content announced; 0 for none; UNKNOWN_LENGTH when chunked. */
  contentLength = 0;
  /** Whether it may have one of the fields that are named below. */
  hasFields = false;
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
  /** Expect: 100-continue in HTTP/1.1. */
  expectsContinue = false;
  /** An expectation other than 100-continue, or ''. */
  unknownExpectation = '';
  /** The Content-Encoding sent, or ''. */
  contentEncoding = '';
  /** The fields that only browsers send; undefined where there are none. */
  browser: BrowserFields | undefined;
  /** The value of Host, or the authority of the target, cut, where the listener does not serve it. */
  unservedHost: string | undefined;
  /** The content; complete when the handler runs. */
  readonly body = new Span();

  get hasBody(): boolean {
    return this.contentLength !== 0;
  }

  /** Bytes that `keepHead` copies. */
  get headBytes(): number {
    const { length } = this.target;
    return this.hasFields ? length + this.contentType.length + this.authorization.length : length;
  }

  /** Leaves only the path of the head: it is not read any further. */
  keepPath(): void {
    this.target.end = this.pathEnd;
    this.contentType.clear();
    this.authorization.clear();
  }

  /** The request is over: releases the bytes of its head. */
  forget(): void {
    this.target.clear();
    this.contentType.clear();
    this.authorization.clear();
  }

  /** The first bytes of the target as text, in which those of 0x80 and above are escapes. */
  targetText(length: number): string {
    const { bytes, start } = this.target;
    const text = bytes.toString('latin1', start, start + length);
    return text.replace(/[\x80-\xff]/g, (byte) => `%${hexadecimal(byte.charCodeAt(0))}`);
  }

  /** Moves the head to a copy, so that it outlives the turn. */
  keepHead(places: Places): void {
    const { target } = this;
    const { start } = target;
    places.keep(target);
    if (this.hasFields) {
      places.keep(this.contentType);
      places.keep(this.authorization);
    }
    this.pathEnd += target.start - start;
  }
}

function hexadecimal(byte: number): string {
  return byte.toString(16).toUpperCase();
}

export const UNKNOWN_LENGTH = -1;
