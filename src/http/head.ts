/**
 * Collects the head of a request from the pieces that the parser reports, and checks the rules that
 * llhttp leaves open (RFC 9112: Host, one coding, lengths; the limits). Fills in a Request.
 *
 * Spans are offsets in the parser's input. Where that ends before the request does, the pieces so far
 * move to a buffer of its own (the carry), and the following ones are appended there. Positions count
 * the bytes of the connection from its beginning, so lengths are exact across inputs.
 */
import { grownBuffer } from '../base/grown-buffer.ts';
import { Span } from '../base/span.ts';
import { BrowserFields } from './browser-fields.ts';
import * as fields from './fields.ts';
import type { HttpLimits } from './limits.ts';
import { SOURCE } from './methods.ts';
import { type Request, UNKNOWN_LENGTH } from './request.ts';
import type { ServedHosts } from './served-hosts.ts';
import { resolveTarget } from './target.ts';
import * as verdicts from './verdicts.ts';

/** The longest carry that is kept for the next request, in bytes. */
const CARRY_BYTES_KEPT = 4096;
/** The longest value of another field that is read into a text, for messages, in bytes. */
const SHOWN_BYTES_MAX = 200;

const IN_TARGET = 0;
const IN_NAME = 1;
const IN_VALUE = 2;

export class Head {
  /** The request that is filled in; set between requests. */
  request!: Request;
  readonly #limits: HttpLimits;
  /** The hosts that are served; undefined for all. */
  readonly #servedHosts: ServedHosts | undefined;
  #state = IN_TARGET;
  /** The input, its beginning, and the difference between a position and an offset in it. */
  #input: Buffer = NOTHING;
  #inputStart = 0;
  #positionBase = 0;
  /** The buffer of the spans: the input or the carry. */
  #source: Buffer = NOTHING;
  #carry: Buffer = NOTHING;
  /** Bytes used in the carry; -1 while the head lies in the input. */
  #carried = -1;
  /** The last field whose name or value was read, and the places of these. */
  #field = fields.OTHER_FIELD;
  #nameStart = 0;
  #nameEnd = 0;
  #valueStart = 0;
  #valueEnd = 0;
  #hosts = 0;
  /** The value of Host, or the authority of the target; while it begins at -1 there is none. */
  readonly #host = new Span();
  #codings = 0;
  #contentTypes = 0;
  #authorizations = 0;
  #targetEndPosition = 0;
  /** Spaces before the target at the end of the last input, and the position of that end. */
  #spaces = 0;
  #spacesEndPosition = NOWHERE;
  /** First byte of the protocol's name, once the input that has it is left; otherwise 0. */
  #protocol = 0;
  /** Position of the first field, or -1. */
  #fieldsPosition = -1;
  #valueEndPosition = 0;

  constructor(limits: HttpLimits, servedHosts?: ServedHosts) {
    this.#limits = limits;
    this.#servedHosts = servedHosts;
  }

  /** The following pieces lie in `input`, from `start` on. */
  setInput(input: Buffer, start: number, positionBase: number): void {
    this.#input = input;
    this.#inputStart = start;
    this.#positionBase = positionBase;
  }

  /** A request begins in the input. */
  begin(): void {
    const request = this.request;
    this.#state = IN_TARGET;
    this.#field = fields.OTHER_FIELD;
    this.leave();
    this.#source = this.#input;
    this.#carried = -1;
    this.#hosts = 0;
    this.#codings = 0;
    this.#contentTypes = 0;
    this.#authorizations = 0;
    this.#spacesEndPosition = NOWHERE;
    this.#protocol = 0;
    this.#targetEndPosition = NOWHERE;
    this.#fieldsPosition = -1;
    request.target.set(this.#input, -1, -1);
    request.contentType.set(this.#input, 0, 0);
    request.authorization.set(this.#input, 0, 0);
    this.#host.start = -1;
    request.hasFields = true;
    request.contentLength = 0;
    request.expectsContinue = false;
    request.unknownExpectation = '';
    request.contentEncoding = '';
    request.browser = undefined;
    request.unservedHost = undefined;
  }

  onTarget(start: number, length: number): verdicts.Verdict {
    const { target } = this.request;
    if (target.start < 0 && this.#spacesBefore(start) > 1) return verdicts.SPACES_REPEATED;
    const at = this.#place(start, length);
    if (target.start < 0) target.start = at;
    target.end = at + length;
    this.#targetEndPosition = this.#positionBase + start + length;
    return target.end - target.start > this.#limits.targetBytesMax ? verdicts.TARGET_TOO_LONG : 0;
  }

  onName(start: number, length: number): verdicts.Verdict {
    if (this.#state === IN_NAME) {
      this.#nameEnd = this.#place(start, length) + length;
      return 0;
    }
    if (this.#fieldsPosition < 0) this.#fieldsPosition = this.#positionBase + start;
    const verdict = this.#state === IN_VALUE ? this.#endField() : 0;
    this.#state = IN_NAME;
    this.#nameStart = this.#place(start, length);
    this.#nameEnd = this.#nameStart + length;
    return verdict;
  }

  onValue(start: number, length: number): void {
    this.#valueEndPosition = this.#positionBase + start + length;
    if (this.#state === IN_NAME) {
      // The parser reports an empty value when it has seen the line's end.
      if (length === 0) this.#valueEndPosition -= LINE_END_BYTES;
      this.#state = IN_VALUE;
      this.#field = fields.fieldOf(this.#source, this.#nameStart, this.#nameEnd);
      if (this.#field === fields.OTHER_FIELD) return;
      this.#valueStart = this.#place(start, length);
      this.#valueEnd = this.#valueStart + length;
    } else if (this.#field !== fields.OTHER_FIELD) {
      this.#valueEnd = this.#place(start, length) + length;
    }
  }

  /** The input ends, before `end`, inside the head. */
  suspend(end: number): verdicts.Verdict {
    if (this.request.target.start < 0 && this.#countSpaces(end) > 1) {
      return verdicts.SPACES_REPEATED;
    }
    if (this.#protocol === 0) this.#protocol = this.#protocolBefore(end);
    if (this.#carried < 0) this.#moveToCarry();
    const fieldBytes =
      this.#fieldsPosition < 0 ? 0 : this.#positionBase + end - this.#fieldsPosition;
    return fieldBytes > this.#limits.headerBytesMax + EMPTY_LINE_BYTES
      ? verdicts.FIELDS_TOO_LONG
      : 0;
  }

  /** The head is complete, in an input that ends before `end`. */
  complete(end: number): verdicts.Verdict {
    const request = this.request;
    const verdict = this.#state === IN_VALUE ? this.#endField() : 0;
    if (verdict !== 0) return verdict;
    if (request.version !== 11 && request.version !== 10) return verdicts.VERSION_UNKNOWN;
    if (this.#protocol === 0) this.#protocol = this.#protocolBefore(end);
    if (this.#protocol === SPACE) return verdicts.SPACES_REPEATED;
    if (this.#protocol !== 0x48 || request.method === SOURCE) return verdicts.PROTOCOL_UNKNOWN;
    if (this.#hosts === 0 && request.version === 11) return verdicts.HOST_MISSING;
    if (request.version === 10) {
      if (this.#codings > 0) return verdicts.CODING_IN_HTTP_1_0;
      request.expectsContinue = false;
      request.unknownExpectation = '';
    }
    if (this.fieldBytes > this.#limits.headerBytesMax) return verdicts.FIELDS_TOO_LONG;
    if (request.hasBody && this.#carried < 0 && !this.#isBodyBefore(end)) this.#moveToCarry();
    const unresolved = resolveTarget(request, this.#host);
    if (unresolved === 0) this.#checkHost();
    return unresolved;
  }

  /** Bytes of memory that the head takes beside the input. */
  get heldBytes(): number {
    return this.#carried < 0 ? 0 : this.#carry.length;
  }

  /** The head is no longer needed. Returns whether it was in a long carry, which is released. */
  leave(): boolean {
    if (this.#carry.length <= CARRY_BYTES_KEPT) return false;
    this.#carry = NOTHING;
    this.#source = NOTHING;
    this.#host.clear();
    return true;
  }

  /** Whether no field has begun. */
  get isInLine(): boolean {
    return this.#state === IN_TARGET;
  }

  /** Whether the last field read is one that the parser takes for Connection. */
  get isAtProxyConnection(): boolean {
    return this.#field === fields.PROXY_CONNECTION;
  }

  /** All fields with their line ends, in bytes; exact once the head is complete. */
  get fieldBytes(): number {
    if (this.#fieldsPosition < 0) return 0;
    return this.#valueEndPosition + LINE_END_BYTES - this.#fieldsPosition;
  }

  /** Position of the first byte after a complete head that has fields. */
  get endPosition(): number {
    return this.#valueEndPosition + LINE_END_BYTES + EMPTY_LINE_BYTES;
  }

  /** Whether the content ends before `end`, so that the head need not outlive the input. */
  #isBodyBefore(end: number): boolean {
    const { contentLength } = this.request;
    if (contentLength === UNKNOWN_LENGTH) return false;
    return this.endPosition + contentLength <= this.#positionBase + end;
  }

  /** The value of the last field read is complete. */
  #endField(): verdicts.Verdict {
    if (this.#field === fields.OTHER_FIELD) return 0;
    const request = this.request;
    const bytes = this.#source;
    const start = this.#valueStart;
    const end = fields.trimmedEnd(bytes, start, this.#valueEnd);
    switch (this.#field) {
      case fields.HOST:
        if (++this.#hosts > 1) return verdicts.HOST_REPEATED;
        this.#host.bytes = bytes;
        this.#host.start = start;
        this.#host.end = end;
        return fields.isHost(bytes, start, end) ? 0 : verdicts.HOST_INVALID;
      case fields.CONTENT_TYPE:
        request.contentType.start = start;
        request.contentType.end = end;
        return ++this.#contentTypes > 1 ? verdicts.CONTENT_TYPE_REPEATED : 0;
      case fields.AUTHORIZATION:
        request.authorization.start = start;
        request.authorization.end = end;
        return ++this.#authorizations > 1 ? verdicts.AUTHORIZATION_REPEATED : 0;
      case fields.CONTENT_LENGTH:
        request.contentLength = fields.decimal(bytes, start, end);
        return 0;
      case fields.TRANSFER_ENCODING:
        request.contentLength = UNKNOWN_LENGTH;
        if (++this.#codings > 1) return verdicts.CODING_REPEATED;
        return fields.equalsIgnoringCase(bytes, start, end, CHUNKED) ? 0 : verdicts.CODING_UNKNOWN;
      case fields.CONTENT_ENCODING:
        if (start < end) request.contentEncoding = shown(bytes, start, end);
        return 0;
      case fields.PROXY_CONNECTION:
        return 0;
      case fields.ORIGIN:
      case fields.SEC_FETCH_SITE:
      case fields.SEC_FETCH_MODE:
      case fields.UPGRADE_INSECURE_REQUESTS:
      case fields.ACCESS_CONTROL_REQUEST_HEADERS:
        this.#endBrowserField(bytes, start, end);
        return 0;
      default:
        if (fields.isListOf(bytes, start, end, CONTINUE)) request.expectsContinue = true;
        else if (start < end) request.unknownExpectation = shown(bytes, start, end);
        return 0;
    }
  }

  /** Other programs send Sec-Fetch-Mode, too (Node's fetch does), but only browsers navigate. */
  #endBrowserField(bytes: Buffer, start: number, end: number): void {
    const isMode = this.#field === fields.SEC_FETCH_MODE;
    if (isMode && !fields.equalsIgnoringCase(bytes, start, end, NAVIGATE)) return;
    this.request.browser ??= new BrowserFields();
    this.request.browser.add(this.#field, bytes.toString('latin1', start, end));
  }

  /** An HTTP/1.0 request may have no host, and is served. */
  #checkHost(): void {
    const { bytes, start, end } = this.#host;
    if (start < 0) return;
    const { browser } = this.request;
    if (browser !== undefined) browser.setHost(bytes.toString('latin1', start, end));
    if (this.#servedHosts?.serves(bytes, start, end) === false) {
      const shownEnd = Math.min(end, start + SHOWN_BYTES_MAX);
      this.request.unservedHost = bytes.toString('latin1', start, shownEnd);
    }
  }

  /** The place of the piece in the buffer of spans; in the carry it is appended first. */
  #place(start: number, length: number): number {
    return this.#carried < 0 ? start : this.#append(this.#input, start, start + length);
  }

  #append(bytes: Buffer, start: number, end: number): number {
    const at = this.#carried;
    const used = at + end - start;
    const carry = grownBuffer(this.#carry, at, used);
    bytes.copy(carry, at, start, end);
    this.#carry = carry;
    this.#carried = used;
    this.#source = carry;
    const { target, contentType, authorization } = this.request;
    target.bytes = carry;
    contentType.bytes = carry;
    authorization.bytes = carry;
    this.#host.bytes = carry;
    return at;
  }

  #moveToCarry(): void {
    const { target, contentType, authorization } = this.request;
    const input = this.#source;
    this.#carried = 0;
    this.#carry = grownBuffer(this.#carry, 0, this.#bytesToMove());
    if (target.start >= 0) this.#moveSpan(target, input);
    this.#moveSpan(contentType, input);
    this.#moveSpan(authorization, input);
    if (this.#host.start >= 0) this.#moveSpan(this.#host, input);
    if (this.#state === IN_NAME) {
      this.#nameStart = this.#append(input, this.#nameStart, this.#nameEnd);
      this.#nameEnd = this.#carried;
    } else if (this.#state === IN_VALUE && this.#field !== fields.OTHER_FIELD) {
      this.#valueStart = this.#append(input, this.#valueStart, this.#valueEnd);
      this.#valueEnd = this.#carried;
    }
  }

  /** Bytes of the head so far that are needed further. */
  #bytesToMove(): number {
    const { target, contentType, authorization } = this.request;
    const hostBytes = this.#host.start < 0 ? 0 : this.#host.length;
    const spans = target.length + contentType.length + authorization.length + hostBytes;
    if (this.#state === IN_NAME) return spans + this.#nameEnd - this.#nameStart;
    const isInValue = this.#state === IN_VALUE && this.#field !== fields.OTHER_FIELD;
    return isInValue ? spans + this.#valueEnd - this.#valueStart : spans;
  }

  #moveSpan(span: Span, input: Buffer): void {
    span.start = this.#append(input, span.start, span.end);
    span.end = this.#carried;
  }

  /** The number of spaces at the end of an input that ends before `end`. It is counted once. */
  #countSpaces(end: number): number {
    const position = this.#positionBase + end;
    if (position !== this.#spacesEndPosition) {
      this.#spaces = this.#spacesBefore(end);
      this.#spacesEndPosition = position;
    }
    return this.#spaces;
  }

  /** The number of spaces right before the address, up to which there is no target. */
  #spacesBefore(address: number): number {
    const start = this.#inputStart;
    let at = address;
    while (at > start && this.#input[at - 1] === SPACE) at--;
    const isSplit = at === start && this.#positionBase + start === this.#spacesEndPosition;
    return address - at + (isSplit ? this.#spaces : 0);
  }

  /** The byte after the target's space if it lies in this input, otherwise 0. */
  #protocolBefore(end: number): number {
    const at = this.#targetEndPosition + 1 - this.#positionBase;
    return at >= this.#inputStart && at < end ? (this.#input[at] as number) : 0;
  }
}

/** The bytes as a text for messages: the first SHOWN_BYTES_MAX of them. */
function shown(bytes: Buffer, start: number, end: number): string {
  return bytes.toString('latin1', start, Math.min(end, start + SHOWN_BYTES_MAX));
}

const NOTHING = Buffer.alloc(0);
const CHUNKED = Buffer.from('chunked');
const CONTINUE = Buffer.from('100-continue');
const NAVIGATE = Buffer.from('navigate');
const SPACE = 0x20;
const LINE_END_BYTES = 2;
const EMPTY_LINE_BYTES = 2;
/** A position before all others, so that no chunk has the bytes after it. */
const NOWHERE = -2;
