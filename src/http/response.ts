/**
 * A response, and how it is written into the arena (RFC 9112 section 6). The server has one draft, which is
 * reused: a handler sets it and passes it to its request, which writes it during that call, or buffers a
 * copy until earlier responses are written. Every response has Content-Length, except 204, 304 and
 * streams. One to HEAD has no content.
 */
import assert from 'node:assert';
import { NO_PARTITION } from '../base/partition-number.ts';
import type { Pin } from '../base/pin.ts';
import { NO_SPAN, Span } from '../base/span.ts';
import type { OutputArena } from './arena.ts';
import { HEAD } from './methods.ts';
import type { Request } from './request.ts';
import type { ItemHold } from './response-delay.ts';
import type { ResponseQueue } from './response-queue.ts';
import { isBodiless } from './status.ts';

/** Header fields by name. */
export type Fields = Readonly<Record<string, string>>;

/** Room for a head without its content type and further fields, in bytes. */
const PLAIN_HEAD_BYTES = 320;
/** Length of the colon, space and line end of a field, in bytes. */
const SEPARATOR_BYTES = 4;

export class Response {
  status = 200;
  /** The content type. It is not sent if it is empty or not a valid field value. */
  contentType: Span = NO_SPAN;
  content: Span = NO_SPAN;
  /** Keeps the content unchanged until it has been sent; undefined: the content is copied. */
  pinned: Pin | undefined;
  /** Further header fields. */
  fields: Fields | undefined;
  /** The mutation that must be durable before the response is sent, if responses are delayed. */
  partition = NO_PARTITION;
  sequence = 0;
  /**
   * The item that the response delivers. A client that has ended its side before the response may be sent
   * gets 204 instead, and the item returns to its queue.
   */
  hold: ItemHold | undefined;

  /** Begins a response without content. */
  begin(status: number, partition: number, sequence: number): this {
    this.status = status;
    this.contentType = NO_SPAN;
    this.content = NO_SPAN;
    this.pinned = undefined;
    this.fields = undefined;
    this.hold = undefined;
    this.partition = partition;
    this.sequence = sequence;
    return this;
  }

  /** Returns a copy that remains valid after the call. Pinned content is not copied. */
  copy(): Response {
    const { contentType, content, pinned } = this;
    const copy = new Response().begin(this.status, this.partition, this.sequence);
    copy.contentType = Span.of(contentType.toBuffer());
    copy.content =
      pinned === undefined ? Span.of(content.toBuffer()) : new Span().copyFrom(content);
    copy.pinned = pinned;
    copy.fields = this.fields;
    copy.hold = this.hold;
    return copy;
  }

  /** Releases what the response would have sent. */
  drop(): void {
    this.pinned?.release();
    this.hold?.acknowledge(false);
  }

  /** Writes the response to the queue. `isLast`: whether the connection ends after it. */
  write(queue: ResponseQueue, arena: OutputArena, request: Request, isLast: boolean): void {
    const { content, pinned, status } = this;
    const length = content.end - content.start;
    const isSilent = request.head.method === HEAD || isBodiless(status);
    const isCopied = pinned === undefined && !isSilent && length > 0;
    const room = this.#headBytesMax(request) + (isCopied ? length : 0);
    queue.begin(room, this.partition, this.sequence, this.hold);
    this.#writeHead(arena, request, length, isLast);
    if (isCopied) arena.writeSpan(content);
    const exchange = request.exchange | status;
    if (pinned === undefined || isSilent) {
      queue.end(exchange, request);
      pinned?.release();
    } else {
      queue.endHead();
      queue.addPinned(content.bytes, content.start, content.end, pinned);
      queue.complete(exchange, request);
    }
  }

  /** Writes the head of a stream to the queue; its content follows in pieces. */
  writeStreamHead(
    queue: ResponseQueue,
    arena: OutputArena,
    request: Request,
    isLast: boolean,
  ): void {
    queue.begin(this.#headBytesMax(request), this.partition, this.sequence);
    this.#writeHead(arena, request, CHUNKED, isLast);
    queue.end();
  }

  /** Returns the room for the head, in bytes. */
  #headBytesMax({ responseLines }: Request): number {
    const { contentType, fields } = this;
    let bytes = PLAIN_HEAD_BYTES + contentType.end - contentType.start + responseLines.length;
    if (fields === undefined) return bytes;
    for (const name in fields) bytes += name.length + fields[name]!.length + SEPARATOR_BYTES;
    return bytes;
  }

  /** Writes the head of a response with `length` bytes of content, or CHUNKED. */
  #writeHead(arena: OutputArena, request: Request, length: number, isLast: boolean): void {
    const { status, fields, contentType } = this;
    const hasType = contentType.start < contentType.end;
    const { responseLines } = request;
    const { version } = request.head;
    const isPlain = !isLast && version !== 10 && responseLines === '' && fields === undefined;
    if (isPlain && length === 0 && !hasType && (status === 200 || status === 204))
      return arena.writeEmpty(status);
    if (status === 200 && length !== CHUNKED) {
      if (hasType) arena.writeTypedHead(contentType);
      else arena.writeUntypedHead();
      arena.writeNumber(length);
      if (isPlain) return arena.writeHeadEnd();
      arena.writeText(LINE_END);
    } else this.#writeOtherHead(arena, length === CHUNKED && version !== 11, length);
    if (fields !== undefined) writeFields(arena, fields);
    if (responseLines !== '') arena.writeText(responseLines);
    if (isLast) arena.writeText('Connection: close\r\n');
    else if (version === 10) arena.writeText('Connection: keep-alive\r\n');
    arena.writeText(LINE_END);
  }

  /** Writes status line, common fields, content type and framing of any response. */
  #writeOtherHead(arena: OutputArena, endsWithConnection: boolean, length: number): void {
    const { status } = this;
    const { bytes, start, end } = this.contentType;
    arena.writeBeginning(status);
    if (start < end && arena.acceptsType(bytes, start, end)) {
      arena.writeText('Content-Type: ');
      arena.writeSpan(this.contentType);
      arena.writeText(LINE_END);
    }
    if (endsWithConnection || isBodiless(status)) return;
    if (length === CHUNKED) return arena.writeText('Transfer-Encoding: chunked\r\n');
    arena.writeText('Content-Length: ');
    arena.writeNumber(length);
    arena.writeText(LINE_END);
  }
}

/** Writes further fields. Asserts that names are tokens and that values have no line end. */
function writeFields(arena: OutputArena, fields: Fields): void {
  for (const name in fields) {
    const value = fields[name]!;
    assert(NAME.test(name) && VALUE.test(value), `a field ${JSON.stringify(name)}`);
    arena.writeText(name);
    arena.writeText(': ');
    arena.writeText(value);
    arena.writeText(LINE_END);
  }
}

/** The `length` of content that is written in pieces. */
const CHUNKED = -1;
const LINE_END = '\r\n';
/** RFC 9110 sections 5.1 and 5.5, visible characters of Latin-1. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
