/**
 * The lines of a request's content (NDJSON), in their order. Empty lines, also of white space, are
 * skipped. The content may be moved between two steps, so that places are offsets. A step is short,
 * whatever the content is. Tested by bulk-actions.spec.ts.
 */
import { Span } from '../base/span.ts';
import { LINE_BYTES_MAX } from './json-lines.ts';

/** Maximum number of lines. */
export const LINES_MAX = 10_000;
/** Maximum amount of white space that a step skips, in bytes. */
const SKIPPED_BYTES_MAX = 16_384;

/** A line was found. */
export const LINE = 1;
/** White space was skipped. */
const SKIPPED = 2;
/** No line is left. */
export const NO_LINE = 3;

export class RequestLines {
  /** The line found last, without its end. */
  readonly line = new Span();
  /** Number of lines found. */
  count = 0;
  readonly #content: Span;
  /** Offsets of the next byte, and of the beginning of its line. */
  #at = 0;
  #lineStart = 0;

  constructor(content: Span) {
    this.#content = content;
  }

  /** Whether too many lines were found, or the last one is too long. */
  get fault(): 'LINES_TOO_MANY' | 'LINE_TOO_LONG' | undefined {
    if (this.count > LINES_MAX) return 'LINES_TOO_MANY';
    return this.line.length > LINE_BYTES_MAX ? 'LINE_TOO_LONG' : undefined;
  }

  /** Looks for the next line. */
  step(): typeof LINE | typeof SKIPPED | typeof NO_LINE {
    const { bytes, start, end } = this.#content;
    let at = start + this.#at;
    let lineStart = start + this.#lineStart;
    const pauseAt = Math.min(end, at + SKIPPED_BYTES_MAX);
    while (at < pauseAt && isWhiteSpace(bytes[at]!)) {
      if (bytes[at++] === LINE_FEED) lineStart = at;
    }
    if (at === pauseAt) {
      this.#at = at - start;
      this.#lineStart = lineStart - start;
      return at === end ? NO_LINE : SKIPPED;
    }
    const next = bytes.indexOf(LINE_FEED, at);
    const lineEnd = next < 0 || next > end ? end : next;
    this.line.set(bytes, lineStart, lineEnd);
    this.count++;
    this.#at = Math.min(lineEnd + 1, end) - start;
    this.#lineStart = this.#at;
    return LINE;
  }
}

/** Whether the byte is white space of JSON (RFC 8259 section 2). */
export function isWhiteSpace(byte: number): boolean {
  return byte === 0x20 || byte === LINE_FEED || byte === 0x0d || byte === 0x09;
}

const LINE_FEED = 0x0a;
