/**
 * A request and its response, as seen by its handler; part of a request's slot, and reused with it. Each
 * request is answered by exactly one call of a respond method. A response that is next in order is
 * written into the arena. One that is ready too early is buffered in the slot, and one for a disconnected
 * client is dropped. Tested by late-engine.spec.ts.
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
import { INDEPENDENT, type ItemHold, type Pinned } from './response-delay.ts';
import type { ResponseQueue } from './response-queue.ts';
import { ResponseStream, type StreamOwner } from './response-stream.ts';
import type { Session } from './session.ts';

/** A response that waits for earlier ones. Exactly one of its methods is called, once. */
export interface BufferedResponse {
  /** Bytes that it retains in memory. */
  readonly bytes: number;
  send(): void;
  drop(): void;
}

/** Header fields by name. */
export type Fields = Readonly<Record<string, string>>;

export abstract class Exchange implements StreamOwner {
  /** The client of the request. */
  session!: Session;
  /** The code of a refusal, for logs; set before the response, and empty otherwise. */
  code: RefusalCode | ErrorCode | '' = '';
  /** The text of the refusal, for logs. */
  reason = '';
  // The fields below are used by every response and are adjacent in memory.
  readonly request = new Request();
  readonly #arena: OutputArena;
  /** Whether the request has been answered. */
  isAnswered = true;
  /** Sequence number of the request within the slot. */
  number = 0;

  constructor(arena: OutputArena) {
    this.#arena = arena;
  }

  /** Whether the response may wait for a condition: false at the end of input and while draining. */
  abstract get mayWait(): boolean;

  /** Whether the client has disconnected, so that the response is dropped. */
  abstract get isAbandoned(): boolean;

  /** The budget for bytes in flight if it is used up, so that long responses must be refused; or 0. */
  abstract get usedUpBytes(): number;

  /**
   * Permits content of `furtherBytes` more than body-bytes-max, and beyond in-flight-bytes-max if no other
   * content is under way. Called while the request is admitted.
   */
  abstract permitContent(furtherBytes: number): void;

  /**
   * Lets the request wait for an item until its client disconnects. Only its path is retained, and the
   * client is watched. False: the budget for bytes in flight has no room for the path; refuse the request.
   */
  abstract awaitItem(): boolean;

  /** The budget for bytes in flight, in bytes. */
  get inFlightBytesMax(): number {
    return this.inFlight.bytesMax;
  }

  /**
   * Responds without content. `partition` and `sequence` of all respond methods: the mutation that must be
   * durable before the response is sent, if responses are delayed; or INDEPENDENT.
   */
  respondEmpty(status: number, partition: number, sequence: number): void {
    const responses = this.#begin();
    if (responses === undefined) return this.#bufferEmpty(status, partition, sequence);
    const { isLast } = this;
    responses.begin(headBytesMax(this.request), partition, sequence);
    writeEmpty(this.#arena, this.request, status, isLast);
    responses.end();
    this.#answered(status, isLast);
  }

  /**
   * Responds 200 with bytes, which are copied during the call. An empty content type is not sent. With
   * `hold`, a client that has ended its side before the response may be sent gets 204 instead, and the
   * item returns to its queue.
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
      return this.#bufferBytes(contentType, body, partition, sequence, hold);
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

  /** Responds 200 with bytes that `pinned` keeps unchanged until they have been sent. */
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
      return this.#bufferPinned(contentType, body, pinned, partition, sequence, hold);
    }
    const { isLast } = this;
    responses.begin(headBytesMax(this.request) + contentType.length, partition, sequence, hold);
    writeHeadOfContent(this.#arena, this.request, contentType, body.length, isLast);
    responses.end();
    if (this.request.method === HEAD) pinned.release();
    else responses.addPinned(body.bytes, body.start, body.end, pinned);
    this.#answered(200, isLast);
  }

  /** Responds with any status, content and further header fields. Not for hot paths. */
  respond(status: number, contentType: string, content: string | Buffer, fields?: Fields): void {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    const responses = this.#begin();
    if (responses === undefined) {
      return this.#buffer(bytes.length, () => this.respond(status, contentType, bytes, fields));
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
   * Refuses the request with the text of the table, in JSON, or without content if the text is only
   * for logs. `status` defaults to the table's.
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

  /** Refuses the request in JSON. The message names the faulty part and its value. */
  refuseWith(
    code: RefusalCode | ErrorCode,
    message: string,
    status: number,
    fields?: Fields,
  ): void {
    // A refusal with status 200, as the original's interface has, is not logged as one.
    if (status >= 400) this.note(code, message);
    this.respond(status, 'application/json', JSON.stringify({ status: 'fail', message }), fields);
  }

  /** Records for logs that the response written next is a refusal. */
  note(code: RefusalCode | ErrorCode, reason: string): void {
    this.code = code;
    this.reason = reason;
  }

  /** Clears the refusal after it has been logged. */
  clearRefusal(): void {
    this.code = '';
    this.reason = '';
  }

  /**
   * Begins a response whose content is written in pieces: chunked, or up to the end of the connection in
   * HTTP/1.0. Its request must be the only one under way, and is answered when the stream has ended.
   * `onRoom` is called when more may be written after a write that returned false.
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
    } else assert(this.isAbandoned, 'a stream begins after all earlier responses');
    const isSilent = request.method === HEAD || responses === undefined;
    const stream = new ResponseStream(this, this.#arena, isChunked, isSilent, onRoom, () => {
      this.#answered(status, isLast);
    });
    this.onStream(stream);
    return stream;
  }

  /** Reports a fault of the member. If the request of that number is unanswered, it is answered 500. */
  fail(error: unknown, number: number): void {
    this.onFailed(error, number === this.number);
  }

  /** Writes the interim response to `Expect: 100-continue`. */
  protected sendContinue(responses: ResponseQueue): void {
    responses.begin(headBytesMax(this.request), INDEPENDENT, 0);
    this.#arena.writeText('HTTP/1.1 100 Continue\r\n\r\n');
    responses.end(false);
  }

  // Implemented by the slot.

  /** The queue to write the response to; undefined while the response must be buffered. */
  abstract get responses(): ResponseQueue | undefined;
  /** Whether the response written next is the connection's last. */
  protected abstract get isLast(): boolean;
  /** Called when the response has been written. */
  protected abstract onAnswered(status: number, isLast: boolean): void;
  /** Buffers a response that is not next in order; drops it if the client has disconnected. */
  protected abstract bufferResponse(response: BufferedResponse): void;
  /** Called when the handler has failed. `isPresent`: whether for the slot's present request. */
  protected abstract onFailed(error: unknown, isPresent: boolean): void;
  abstract readonly inFlight: InFlightBudget;
  abstract onStream(stream: ResponseStream): void;
  abstract onStreamed(): void;
  abstract onCut(): void;

  #begin(): ResponseQueue | undefined {
    if (this.isAnswered) assert.fail('a request is answered once');
    return this.responses;
  }

  #answered(status: number, isLast: boolean): void {
    this.isAnswered = true;
    this.onAnswered(status, isLast);
  }

  #bufferEmpty(status: number, partition: number, sequence: number): void {
    this.#buffer(0, () => this.respondEmpty(status, partition, sequence));
  }

  #bufferBytes(
    contentType: Span,
    body: Span,
    partition: number,
    sequence: number,
    hold: ItemHold | undefined,
  ): void {
    if (this.isAbandoned) return this.#buffer(0, DROPPED, undefined, hold);
    const type = copied(contentType);
    const bytes = copied(body);
    this.#buffer(
      bytes.length,
      () => this.#deliver(hold, () => this.respondBytes(type, bytes, partition, sequence, hold)),
      undefined,
      hold,
    );
  }

  #bufferPinned(
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
    this.#buffer(bytes.length, () => this.#deliver(hold, respond, pinned), pinned, hold);
  }

  /** Responds, or responds 204 and returns the item if the client has ended its side and may not read it. */
  #deliver(hold: ItemHold | undefined, respond: () => void, pinned?: Pinned): void {
    if (hold === undefined || !this.session.hasInputEnded) return respond();
    pinned?.release();
    hold.acknowledge(false);
    this.respondEmpty(204, INDEPENDENT, 0);
  }

  #buffer(bytes: number, send: () => void, pinned?: Pinned, hold?: ItemHold): void {
    this.isAnswered = true;
    this.bufferResponse({
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
  assert.fail('a response to a disconnected client');
}

function copied(span: Span): Span {
  const bytes = span.toBuffer();
  return new Span().set(bytes, 0, bytes.length);
}

/** Returns the lines of a head. Asserts that names are tokens and that values have no line end. */
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
