/**
 * A request and its response, as its handler sees them: part of a request's slot, reused. Each request
 * is answered by exactly one of the respond methods. A response whose place has come is written into
 * the arena; one made earlier is kept by the slot, and one for a client that has gone is dropped.
 */
import assert from 'node:assert';
import type { ErrorCode } from '../base/errors.ts';
import {
  isEmptyRefusal,
  REFUSALS,
  type RefusalCode,
  type RefusalValues,
  refusalText,
} from '../base/refusals.ts';
import { Span } from '../base/span.ts';
import { INDEPENDENT, type ItemHold, type Pinned } from './answer-delay.ts';
import type { OutputArena } from './arena.ts';
import type { InFlightBudget } from './in-flight.ts';
import { HEAD } from './methods.ts';
import { Request } from './request.ts';
import {
  headBytesMax,
  writeEmpty,
  writeHeadOfContent,
  writeHeadOfStream,
  writeWhole,
} from './response.ts';
import type { ResponseQueue } from './response-queue.ts';
import { ResponseStream, type StreamOwner } from './response-stream.ts';
import type { Session } from './session.ts';

/** A response that waits for its place. Exactly one of its methods is called, once. */
export interface KeptResponse {
  /** Bytes that it keeps in memory. */
  readonly bytes: number;
  send(): void;
  drop(): void;
}

/** Header fields by name. */
export type Fields = Readonly<Record<string, string>>;

export abstract class Exchange implements StreamOwner {
  /** The client of the request. */
  session!: Session;
  /** The code of a refusal, for logs; set before the answer, and empty otherwise. */
  code: RefusalCode | ErrorCode | '' = '';
  /** Its text. */
  reason = '';
  // What every answer uses lies together, from here on.
  readonly request = new Request();
  readonly #arena: OutputArena;
  /** Whether the request has been answered. */
  isAnswered = true;
  /** Number of the request among those of the slot. */
  number = 0;

  constructor(arena: OutputArena) {
    this.#arena = arena;
  }

  /** Whether an answer may wait for a condition: false at the end of input and while draining. */
  abstract get mayWait(): boolean;

  /** Whether the client has gone: the answer is dropped. */
  abstract get isAbandoned(): boolean;

  /** The budget for bytes in flight where it is used up, so that no long answer is to be made; or 0. */
  abstract get usedUpBytes(): number;

  /**
   * While the request is admitted: its content may have so many bytes more than body-bytes-max, and where
   * no other content is under way it comes though in-flight-bytes-max is used up.
   */
  abstract permitContent(furtherBytes: number): void;

  /**
   * The request waits for an item, for as long as its client does: only its path is kept, and the client
   * is watched. False: the budget for bytes in flight has no room for the path; the request is to be
   * refused.
   */
  abstract awaitItem(): boolean;

  /** The budget for bytes in flight, in bytes. */
  get inFlightBytesMax(): number {
    return this.inFlight.bytesMax;
  }

  /**
   * An answer without content. `partition` and `sequence`, here and below: the mutation that must be
   * durable before the answer leaves, where answers are delayed; or INDEPENDENT.
   */
  respondEmpty(status: number, partition: number, sequence: number): void {
    const responses = this.#begin();
    if (responses === undefined) return this.#keepEmpty(status, partition, sequence);
    const { isLast } = this;
    responses.begin(headBytesMax(this.request), partition, sequence);
    writeEmpty(this.#arena, this.request, status, isLast);
    responses.end();
    this.#answered(status, isLast);
  }

  /**
   * A 200 with bytes, copied during the call. An empty content type sends none. With `hold`, a client
   * that has ended its side before the answer may leave is answered 204 instead, and the item returns.
   */
  respondBytes(
    contentType: Span,
    body: Span,
    partition: number,
    sequence: number,
    hold?: ItemHold,
  ): void {
    const responses = this.#begin();
    if (responses === undefined) {
      return this.#keepBytes(contentType, body, partition, sequence, hold);
    }
    const { length } = body;
    const { isLast } = this;
    responses.begin(
      headBytesMax(this.request) + contentType.length + length,
      partition,
      sequence,
      hold,
    );
    writeHeadOfContent(this.#arena, this.request, contentType, length, isLast);
    if (this.request.method !== HEAD) this.#arena.writeSpan(body);
    responses.end();
    this.#answered(200, isLast);
  }

  /** A 200 with bytes that `pinned` keeps in place until they have been sent. */
  respondPinned(
    contentType: Span,
    body: Span,
    pinned: Pinned,
    partition: number,
    sequence: number,
    hold?: ItemHold,
  ): void {
    const responses = this.#begin();
    if (responses === undefined) {
      return this.#keepPinned(contentType, body, pinned, partition, sequence, hold);
    }
    const { isLast } = this;
    responses.begin(headBytesMax(this.request) + contentType.length, partition, sequence, hold);
    writeHeadOfContent(this.#arena, this.request, contentType, body.length, isLast);
    responses.end();
    if (this.request.method === HEAD) pinned.release();
    else responses.addPinned(body.bytes, body.start, body.end, pinned);
    this.#answered(200, isLast);
  }

  /** Any response: status, content, further fields by name. Not for hot paths. */
  respond(status: number, contentType: string, content: string | Buffer, fields?: Fields): void {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    const responses = this.#begin();
    if (responses === undefined) {
      return this.#keep(bytes.length, () => this.respond(status, contentType, bytes, fields));
    }
    const { isLast } = this;
    const lines = fieldLines(fields);
    responses.begin(
      headBytesMax(this.request) + contentType.length + lines.length + bytes.length,
      INDEPENDENT,
      0,
    );
    writeWhole(this.#arena, this.request, status, contentType, bytes, lines, isLast);
    responses.end();
    this.#answered(status, isLast);
  }

  /**
   * Refuses the request, with the text of the table: in JSON, or without content where the text is for
   * logs alone. `status`: that of the table, unless another is given.
   */
  refuse<Code extends RefusalCode>(
    code: Code,
    values: RefusalValues<Code>,
    fields?: Fields,
    status: number = REFUSALS[code].status,
  ): void {
    const text = refusalText(code, values);
    if (!isEmptyRefusal(code)) return this.refuseWith(code, text, status, fields);
    this.note(code, text);
    this.respondEmpty(status, INDEPENDENT, 0);
  }

  /** Refuses the request in JSON; the message names the thing and the value. */
  refuseWith(
    code: RefusalCode | ErrorCode,
    message: string,
    status: number,
    fields?: Fields,
  ): void {
    // A refusal that the dialect answers with 200 is none for the log.
    if (status >= 400) this.note(code, message);
    this.respond(status, 'application/json', JSON.stringify({ status: 'fail', message }), fields);
  }

  /** The answer that follows at once is a refusal, for logs. */
  note(code: RefusalCode | ErrorCode, reason: string): void {
    this.code = code;
    this.reason = reason;
  }

  /** The refusal is answered, and logged. */
  forgetRefusal(): void {
    this.code = '';
    this.reason = '';
  }

  /**
   * Begins a response whose content is made piece by piece: chunked, or to the end of the connection in
   * HTTP/1.0. The request has been alone under way until then; it is answered when the stream has
   * ended. `onRoom` is called when more may be written, after a write that returned false.
   */
  stream(status: number, contentType: string, onRoom: () => void, fields?: Fields): ResponseStream {
    const responses = this.#begin();
    const { request } = this;
    const isChunked = request.version === 11;
    const isLast = !isChunked || this.isLast;
    if (responses !== undefined) {
      const lines = fieldLines(fields);
      responses.begin(headBytesMax(request) + contentType.length + lines.length, INDEPENDENT, 0);
      writeHeadOfStream(this.#arena, request, status, contentType, lines, isLast);
      responses.end(false);
    } else assert(this.isAbandoned, 'a stream begins when all before it is answered');
    const isSilent = request.method === HEAD || responses === undefined;
    const stream = new ResponseStream(this, this.#arena, isChunked, isSilent, onRoom, () => {
      this.#answered(status, isLast);
    });
    this.onStream(stream);
    return stream;
  }

  /** The request of that number has failed by a fault of the member: 500, unless it has been answered. */
  fail(error: unknown, number: number): void {
    this.onFailed(error, number === this.number);
  }

  /** The interim answer to `Expect: 100-continue`. */
  protected sendContinue(responses: ResponseQueue): void {
    responses.begin(headBytesMax(this.request), INDEPENDENT, 0);
    this.#arena.writeText('HTTP/1.1 100 Continue\r\n\r\n');
    responses.end(false);
  }

  // The parts of the slot.

  /** The responses for the response; undefined while it has to be kept. */
  abstract get responses(): ResponseQueue | undefined;
  /** Whether the response that is about to be written is the connection's last. */
  protected abstract get isLast(): boolean;
  /** The response has been written. */
  protected abstract onAnswered(status: number, isLast: boolean): void;
  /** The response is made before its place has come, or for a client that has gone. */
  protected abstract keep(response: KeptResponse): void;
  /** The handler has failed; `isPresent`: at the present request. */
  protected abstract onFailed(error: unknown, isPresent: boolean): void;
  abstract readonly inFlight: InFlightBudget;
  abstract onStream(stream: ResponseStream): void;
  abstract onStreamed(): void;
  abstract onCut(): void;

  #begin(): ResponseQueue | undefined {
    if (this.isAnswered) assert.fail('one answer a request');
    return this.responses;
  }

  #answered(status: number, isLast: boolean): void {
    this.isAnswered = true;
    this.onAnswered(status, isLast);
  }

  #keepEmpty(status: number, partition: number, sequence: number): void {
    this.#keep(0, () => this.respondEmpty(status, partition, sequence));
  }

  #keepBytes(
    contentType: Span,
    body: Span,
    partition: number,
    sequence: number,
    hold: ItemHold | undefined,
  ): void {
    if (this.isAbandoned) return this.#keep(0, DROPPED, undefined, hold);
    const type = copied(contentType);
    const bytes = copied(body);
    this.#keep(
      bytes.length,
      () => this.#deliver(hold, () => this.respondBytes(type, bytes, partition, sequence, hold)),
      undefined,
      hold,
    );
  }

  #keepPinned(
    contentType: Span,
    body: Span,
    pinned: Pinned,
    partition: number,
    sequence: number,
    hold: ItemHold | undefined,
  ): void {
    const type = copied(contentType);
    const bytes = new Span().copyFrom(body);
    const respond = (): void => this.respondPinned(type, bytes, pinned, partition, sequence, hold);
    this.#keep(bytes.length, () => this.#deliver(hold, respond, pinned), pinned, hold);
  }

  /** A client that has ended its side may not read a response that has not left: its item returns. */
  #deliver(hold: ItemHold | undefined, respond: () => void, pinned?: Pinned): void {
    if (hold === undefined || !this.session.hasInputEnded) return respond();
    pinned?.release();
    hold.acknowledge(false);
    this.respondEmpty(204, INDEPENDENT, 0);
  }

  #keep(bytes: number, send: () => void, pinned?: Pinned, hold?: ItemHold): void {
    this.isAnswered = true;
    this.keep({
      bytes,
      send: () => {
        this.isAnswered = false;
        send();
      },
      drop: () => {
        pinned?.release();
        hold?.acknowledge(false);
      },
    });
  }
}

function DROPPED(): never {
  assert.fail('a response to a client that has gone');
}

function copied(span: Span): Span {
  const bytes = span.toBuffer();
  return new Span().set(bytes, 0, bytes.length);
}

/** Lines of a head. A name that is not a token, or a value with a line end, is the caller's mistake. */
function fieldLines(fields: Fields | undefined): string {
  if (fields === undefined) return '';
  let lines = '';
  for (const name in fields) {
    const value = fields[name] as string;
    assert(NAME.test(name) && VALUE.test(value), `a field ${JSON.stringify(name)}`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** RFC 9110 sections 5.1 and 5.5, visible characters of Latin-1. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
