/**
 * Collects the head of a request from the pieces that the parser reports, and checks the rules that
 * llhttp does not (RFC 9112: Host, a single coding, lengths; the limits). Fills in a Request.
 *
 * Spans are offsets in the parser's input. If the input ends before the request does, the pieces so far
 * are copied to a separate buffer (the carry), and later ones are appended to it. Positions count the
 * bytes from the beginning of the connection, so lengths are exact across inputs.
 * Tested by vectors.spec.ts.
 */
import { growBuffer } from '../base/grow-buffer.ts';
import { NO_BYTES, Span } from '../base/span.ts';
import * as values from './field-values.ts';
import * as fields from './header-fields.ts';
import type { HttpLimits } from './limits.ts';
import { SOURCE } from './methods.ts';
import * as failures from './read-failures.ts';
import { type RequestHead, UNKNOWN_LENGTH } from './request-head.ts';
import type { ServedHosts } from './served-hosts.ts';
import { resolveTarget } from './target.ts';

/** Maximum length of a carry that is reused for the next request, in bytes. */
const CARRY_BYTES_REUSED = 4096;

const IN_TARGET = 0;
const IN_NAME = 1;
const IN_VALUE = 2;

export class HeadReader {
  /** The request to fill in; set between requests. */
  head!: RequestHead;
  readonly #limits: HttpLimits;
  /** The served hosts; undefined for all. */
  readonly #servedHosts: ServedHosts | undefined;
  #state = IN_TARGET;
  /** The input, its start, and the difference between a position and an offset in it. */
  #input: Buffer = NO_BYTES;
  #inputStart = 0;
  #positionBase = 0;
  /** The buffer that the spans refer to: the input or the carry. */
  #source: Buffer = NO_BYTES;
  #carry: Buffer = NO_BYTES;
  /** Bytes used in the carry; -1 while the head is entirely in the input. */
  #carried = -1;
  /** The row of the last field whose name or value was read, and the offsets of both. */
  #field: fields.HeaderField | undefined;
  #nameStart = 0;
  #nameEnd = 0;
  #valueStart = 0;
  #valueEnd = 0;
  #hosts = 0;
  /** The value of Host, or the authority of the target; its start is -1 if there is neither. */
  readonly #host = new Span();
  #codings = 0;
  #targetEndPosition = 0;
  /** Number of spaces before the target at the end of the last input, and the position of that end. */
  #spaces = 0;
  #spacesEndPosition = NOWHERE;
  /** First byte of the protocol name, saved when its input ends; 0 until then. */
  #protocol = 0;
  /** Position of the first field, or -1. */
  #fieldsPosition = -1;
  #valueEndPosition = 0;

  constructor(limits: HttpLimits, servedHosts?: ServedHosts) {
    this.#limits = limits;
    this.#servedHosts = servedHosts;
  }

  /** Sets the buffer that the following pieces refer to. */
  setInput(input: Buffer, start: number, positionBase: number): void {
    this.#input = input;
    this.#inputStart = start;
    this.#positionBase = positionBase;
  }

  /** Begins a request. */
  begin(): void {
    const head = this.head;
    this.#state = IN_TARGET;
    this.#field = undefined;
    this.releaseCarry();
    this.#source = this.#input;
    this.#carried = -1;
    this.#hosts = 0;
    this.#codings = 0;
    this.#spacesEndPosition = NOWHERE;
    this.#protocol = 0;
    this.#targetEndPosition = NOWHERE;
    this.#fieldsPosition = -1;
    head.target.set(this.#input, -1, -1);
    head.clearFields();
    this.#host.start = -1;
    head.contentLength = 0;
    head.unservedHost = undefined;
  }

  onTarget(start: number, length: number): failures.ReadFailure {
    const { target } = this.head;
    if (target.start < 0 && this.#spacesBefore(start) > 1) return failures.SPACES_REPEATED;
    const at = this.#place(start, length);
    if (target.start < 0) target.start = at;
    target.end = at + length;
    this.#targetEndPosition = this.#positionBase + start + length;
    return target.end - target.start > this.#limits.targetBytesMax ? failures.TARGET_TOO_LONG : 0;
  }

  onName(start: number, length: number): failures.ReadFailure {
    if (this.#state === IN_NAME) {
      this.#nameEnd = this.#place(start, length) + length;
      return 0;
    }
    if (this.#fieldsPosition < 0) this.#fieldsPosition = this.#positionBase + start;
    const failure = this.#state === IN_VALUE ? this.#endField() : 0;
    this.#state = IN_NAME;
    this.#nameStart = this.#place(start, length);
    this.#nameEnd = this.#nameStart + length;
    return failure;
  }

  onValue(start: number, length: number): void {
    this.#valueEndPosition = this.#positionBase + start + length;
    if (this.#state === IN_NAME) {
      // The parser reports an empty value only after the end of its line.
      if (length === 0) this.#valueEndPosition -= LINE_END_BYTES;
      this.#state = IN_VALUE;
      this.#field = fields.fieldOf(this.#source, this.#nameStart, this.#nameEnd);
      if (this.#field === undefined) return;
      this.#valueStart = this.#place(start, length);
      this.#valueEnd = this.#valueStart + length;
    } else if (this.#field !== undefined) {
      this.#valueEnd = this.#place(start, length) + length;
    }
  }

  /** Called when the input, up to `end`, has been read and the head is incomplete. */
  suspend(end: number): failures.ReadFailure {
    if (this.head.target.start < 0 && this.#countSpaces(end) > 1) {
      return failures.SPACES_REPEATED;
    }
    if (this.#protocol === 0) this.#protocol = this.#protocolBefore(end);
    if (this.#carried < 0) this.#moveToCarry();
    const fieldBytes =
      this.#fieldsPosition < 0 ? 0 : this.#positionBase + end - this.#fieldsPosition;
    return fieldBytes > this.#limits.headerBytesMax + EMPTY_LINE_BYTES
      ? failures.FIELDS_TOO_LONG
      : 0;
  }

  /** Checks the complete head. The input extends to `end`. */
  complete(end: number): failures.ReadFailure {
    const head = this.head;
    const failure = this.#state === IN_VALUE ? this.#endField() : 0;
    if (failure !== 0) return failure;
    if (head.version !== 11 && head.version !== 10) return failures.VERSION_UNKNOWN;
    if (this.#protocol === 0) this.#protocol = this.#protocolBefore(end);
    if (this.#protocol === SPACE) return failures.SPACES_REPEATED;
    if (this.#protocol !== 0x48 || head.method === SOURCE) return failures.PROTOCOL_UNKNOWN;
    if (this.#hosts === 0 && head.version === 11) return failures.HOST_MISSING;
    if (head.version === 10 && this.#codings > 0) return failures.CODING_IN_HTTP_1_0;
    if (this.fieldBytes > this.#limits.headerBytesMax) return failures.FIELDS_TOO_LONG;
    if (head.hasBody && this.#carried < 0 && !this.#isBodyBefore(end)) this.#moveToCarry();
    const unresolved = resolveTarget(head, this.#host);
    if (unresolved === 0) this.#checkHost();
    return unresolved;
  }

  /** Memory that the head takes besides the input, in bytes. */
  get heldBytes(): number {
    return this.#carried < 0 ? 0 : this.#carry.length + this.head.occurrenceBytes;
  }

  /** Releases a long carry once the head is no longer needed. Returns whether there was one. */
  releaseCarry(): boolean {
    if (this.#carry.length <= CARRY_BYTES_REUSED) return false;
    this.#carry = NO_BYTES;
    this.#source = NO_BYTES;
    this.#host.clear();
    return true;
  }

  /** Whether the request line is being read: no field has begun. */
  get isInLine(): boolean {
    return this.#state === IN_TARGET;
  }

  /** Whether the last field read is Proxy-Connection, which the parser treats as Connection. */
  get isAtProxyConnection(): boolean {
    return this.#field === fields.PROXY_CONNECTION;
  }

  /** Length of all fields with their line ends, in bytes; exact once the head is complete. */
  get fieldBytes(): number {
    if (this.#fieldsPosition < 0) return 0;
    return this.#valueEndPosition + LINE_END_BYTES - this.#fieldsPosition;
  }

  /** Position of the first byte after the head, if it is complete and has fields. */
  get endPosition(): number {
    return this.#valueEndPosition + LINE_END_BYTES + EMPTY_LINE_BYTES;
  }

  /** Whether the content ends by `end`, so that the head need not outlive the input. */
  #isBodyBefore(end: number): boolean {
    const { contentLength } = this.head;
    if (contentLength === UNKNOWN_LENGTH) return false;
    return this.endPosition + contentLength <= this.#positionBase + end;
  }

  /** Processes the last field, whose value is complete. */
  #endField(): failures.ReadFailure {
    const field = this.#field;
    if (field === undefined) return 0;
    const head = this.head;
    const bytes = this.#source;
    const start = this.#valueStart;
    const end = values.trimmedEnd(bytes, start, this.#valueEnd);
    switch (field) {
      case fields.HOST:
        if (++this.#hosts > 1) return failures.HOST_REPEATED;
        this.#host.bytes = bytes;
        this.#host.start = start;
        this.#host.end = end;
        return values.isHost(bytes, start, end) ? 0 : failures.HOST_INVALID;
      case fields.CONTENT_LENGTH:
        head.contentLength = values.decimal(bytes, start, end);
        return 0;
      case fields.TRANSFER_ENCODING:
        head.contentLength = UNKNOWN_LENGTH;
        if (++this.#codings > 1) return failures.CODING_REPEATED;
        return values.equalsIgnoringCase(bytes, start, end, CHUNKED) ? 0 : failures.CODING_UNKNOWN;
      case fields.PROXY_CONNECTION:
        return 0;
      default:
        return head.addField(field, bytes, start, end);
    }
  }

  /**
   * Checks whether the host is served, and stores its place for fields that are compared with it. An HTTP/1.0
   * request without a host is served.
   */
  #checkHost(): void {
    const { head } = this;
    const { bytes, start, end } = this.#host;
    if (start < 0) return;
    if ((head.fieldBits & fields.WITH_HOST) !== 0) head.addField(fields.HOST, bytes, start, end);
    if (this.#servedHosts?.serves(bytes, start, end) === false)
      head.unservedHost = values.shown(this.#host);
  }

  /** Returns the offset of the piece in the spans' buffer; if that is the carry, appends it. */
  #place(start: number, length: number): number {
    return this.#carried < 0 ? start : this.#append(this.#input, start, start + length);
  }

  #append(bytes: Buffer, start: number, end: number): number {
    const at = this.#carried;
    const used = at + end - start;
    const carry = growBuffer(this.#carry, at, used);
    bytes.copy(carry, at, start, end);
    this.#carry = carry;
    this.#carried = used;
    this.#source = carry;
    this.head.target.bytes = carry;
    this.head.rebaseFields(carry);
    this.#host.bytes = carry;
    return at;
  }

  #moveToCarry(): void {
    const { target } = this.head;
    const input = this.#source;
    this.#carry = growBuffer(this.#carry, 0, this.#bytesToMove());
    this.#carried = 0;
    // The fields first, because an append makes them refer to the carry.
    this.head.retainFields(this);
    if (target.start >= 0) this.#moveSpan(target, input);
    if (this.#host.start >= 0) this.#moveSpan(this.#host, input);
    if (this.#state === IN_NAME) {
      this.#nameStart = this.#append(input, this.#nameStart, this.#nameEnd);
      this.#nameEnd = this.#carried;
    } else if (this.#state === IN_VALUE && this.#field !== undefined) {
      this.#valueStart = this.#append(input, this.#valueStart, this.#valueEnd);
      this.#valueEnd = this.#carried;
    }
  }

  /** Returns the length of the parts of the head so far that are still needed, in bytes. */
  #bytesToMove(): number {
    const { target, fieldBytes } = this.head;
    const hostBytes = this.#host.start < 0 ? 0 : this.#host.length;
    const spans = target.length + fieldBytes + hostBytes;
    if (this.#state === IN_NAME) return spans + this.#nameEnd - this.#nameStart;
    const isInValue = this.#state === IN_VALUE && this.#field !== undefined;
    return isInValue ? spans + this.#valueEnd - this.#valueStart : spans;
  }

  /** Copies the bytes of the span to the carry and makes the span refer to the copy. */
  retain(span: Span): void {
    this.#moveSpan(span, span.bytes);
    span.bytes = this.#carry;
  }

  #moveSpan(span: Span, input: Buffer): void {
    span.start = this.#append(input, span.start, span.end);
    span.end = this.#carried;
  }

  /** Returns the number of spaces at the end of the input, `end`. They are counted once. */
  #countSpaces(end: number): number {
    const position = this.#positionBase + end;
    if (position !== this.#spacesEndPosition) {
      this.#spaces = this.#spacesBefore(end);
      this.#spacesEndPosition = position;
    }
    return this.#spaces;
  }

  /** Returns the number of spaces before the address, which no part of the target precedes. */
  #spacesBefore(address: number): number {
    const start = this.#inputStart;
    let at = address;
    while (at > start && this.#input[at - 1] === SPACE) at--;
    const isSplit = at === start && this.#positionBase + start === this.#spacesEndPosition;
    return address - at + (isSplit ? this.#spaces : 0);
  }

  /** Returns the byte after the space that follows the target, if it is in this input; otherwise 0. */
  #protocolBefore(end: number): number {
    const at = this.#targetEndPosition + 1 - this.#positionBase;
    return at >= this.#inputStart && at < end ? (this.#input[at] as number) : 0;
  }
}

const CHUNKED = Buffer.from('chunked');
const SPACE = 0x20;
const LINE_END_BYTES = 2;
const EMPTY_LINE_BYTES = 2;
/** A position before all others, so that no input has the bytes after it. */
const NOWHERE = -2;
