/**
 * The request at hand of a connection, and its answer: one object a connection, used again for each
 * request. Each request is answered by exactly one of the respond methods. They write into the
 * arena; the connection sends it.
 */
import assert from 'node:assert';
import type { Span } from '../base/span.ts';
import { type Handover, INDEPENDENT, type Pinned } from './application.ts';
import type { OutputArena } from './arena.ts';
import { HEAD } from './methods.ts';
import type { Outbox } from './outbox.ts';
import type { Request } from './request.ts';
import { HEAD_BYTES_MAX, writeEmpty, writeHeadOfContent, writeTextual } from './response.ts';

/** What the exchange asks of its connection. */
export interface ExchangeOwner {
  /** Whether an answer may wait for a condition: false at the end of input and while draining. */
  readonly mayWait: boolean;
  /** Whether the client has sent all that it will send. */
  readonly hasInputEnded: boolean;
  /** The client's address; empty where it had gone at once. */
  readonly peerAddress: string;
  /** The request waits for an item. */
  onItemAwaited(): void;
  /** Whether the answer that is about to be written is the connection's last. */
  decideLast(): boolean;
  /** The answer has been written; its status. */
  onAnswered(status: number): void;
}

export class Exchange {
  readonly request: Request;
  /** Whether the request has been answered. */
  isAnswered = true;
  /** Why it is refused, for logs; set before it is answered so, and empty otherwise. */
  reason = '';
  readonly #owner: ExchangeOwner;
  readonly #outbox: Outbox;
  readonly #arena: OutputArena;

  constructor(request: Request, outbox: Outbox, arena: OutputArena, owner: ExchangeOwner) {
    this.request = request;
    this.#outbox = outbox;
    this.#arena = arena;
    this.#owner = owner;
  }

  /** Whether an answer may wait for a condition: false at the end of input and while draining. */
  get mayWait(): boolean {
    return this.#owner.mayWait;
  }

  /** Whether the client has sent all that it will send. */
  get hasInputEnded(): boolean {
    return this.#owner.hasInputEnded;
  }

  /** The client's address; empty where it had gone at once. */
  get peerAddress(): string {
    return this.#owner.peerAddress;
  }

  /**
   * The request waits for an item, for as long as its client does: its content is given back, and the
   * client is watched.
   */
  awaitItem(): void {
    this.#owner.onItemAwaited();
  }

  /**
   * An answer without content. `partition` and `sequence`, here and below: what must be durable
   * before the answer leaves, where somebody holds answers back; or INDEPENDENT.
   */
  respondEmpty(status: number, partition: number, sequence: number): void {
    this.#begin(HEAD_BYTES_MAX, partition, sequence);
    writeEmpty(this.#arena, this.request, status, this.#owner.decideLast());
    this.#end(status);
  }

  /**
   * A 200 with bytes, copied during the call. An empty content type sends none. With `handover`, a
   * client that has gone before the answer may leave is answered 204 instead.
   */
  respondBytes(
    contentType: Span,
    body: Span,
    partition: number,
    sequence: number,
    handover?: Handover,
  ): void {
    const { length } = body;
    this.#begin(HEAD_BYTES_MAX + contentType.length + length, partition, sequence);
    this.#writeHead(contentType, length);
    if (this.request.method !== HEAD) this.#arena.writeSpan(body);
    this.#end(200, handover);
  }

  /** A 200 with bytes that `pinned` keeps in place until they have been sent. */
  respondPinned(
    contentType: Span,
    body: Span,
    pinned: Pinned,
    partition: number,
    sequence: number,
    handover?: Handover,
  ): void {
    this.#begin(HEAD_BYTES_MAX + contentType.length, partition, sequence);
    this.#writeHead(contentType, body.length);
    this.#outbox.end(true, handover);
    if (this.request.method === HEAD) pinned.release();
    else this.#outbox.addPinned(body.bytes, body.start, body.end, pinned);
    this.#answered(200);
  }

  /** An answer of text, with further field lines, each ended by CR LF. Not for hot paths. */
  respondText(status: number, contentType: string, body: string, fieldLines = ''): void {
    const bytes = Buffer.from(body);
    const room = HEAD_BYTES_MAX + contentType.length + fieldLines.length + bytes.length;
    this.#begin(room, INDEPENDENT, 0);
    const isLast = this.#owner.decideLast();
    writeTextual(this.#arena, this.request, status, contentType, bytes, fieldLines, isLast);
    this.#end(status);
  }

  /** A failure told in JSON; the message names the thing and the value. */
  respondFailure(status: number, message: string, fieldLines = ''): void {
    const body = JSON.stringify({ status: 'fail', message });
    this.respondText(status, 'application/json', body, fieldLines);
  }

  /** The interim answer to `Expect: 100-continue`. */
  invite(): void {
    this.#outbox.begin(HEAD_BYTES_MAX, INDEPENDENT, 0);
    this.#arena.writeText('HTTP/1.1 100 Continue\r\n\r\n');
    this.#outbox.end(false);
  }

  #writeHead(contentType: Span, length: number): void {
    const isLast = this.#owner.decideLast();
    writeHeadOfContent(this.#arena, this.request, contentType, length, isLast);
  }

  #begin(bytes: number, partition: number, sequence: number): void {
    if (this.isAnswered) assert.fail('one answer a request');
    this.#outbox.begin(bytes, partition, sequence);
  }

  #end(status: number, handover?: Handover): void {
    this.#outbox.end(true, handover);
    this.#answered(status);
  }

  #answered(status: number): void {
    this.isAnswered = true;
    this.#owner.onAnswered(status);
    if (status >= 400) this.reason = '';
  }
}
