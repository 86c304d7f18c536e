/**
 * The seams of the HTTP engine: what it serves, and who may hold its answers back. The engine opens
 * a handler for each connection; the handler answers each request through the connection's exchange,
 * at once or later. Requests of a connection come one at a time, in the order sent.
 */
import type { Exchange } from './exchange.ts';

/** What is served: makes a handler for a connection. */
export interface Application {
  open(exchange: Exchange): RequestHandler;
}

export interface RequestHandler {
  /**
   * The head of a request is complete, its content is not read yet. True: go on with it. False: the
   * handler has answered; the content is dropped.
   */
  admit(): boolean;
  /** The request is complete; its answer may come later. */
  run(): void;
  /**
   * The answer comes in a later turn: the request has bytes of its own from now on. Its target lies
   * `shift` bytes further on; whatever else the handler names of it, it names anew.
   */
  onWait(shift: number): void;
  /** While an answer waits: nobody sends more, so what waits for a condition is answered now. */
  hurry(): void;
  /** While an answer waits: the client has gone, the request is not to be answered. */
  abandon(): void;
}

/** Bytes that are sent from where they lie; released once, when the last one has been taken. */
export interface Pinned {
  release(): void;
}

/** What an answer hands over for good, such as an item of a queue; concluded once. */
export interface Handover {
  /** The answer leaves; or its client has gone before it could, and is not to get it. */
  conclude(isThere: boolean): void;
}

/** `partition` of an answer that depends on no stored data. */
export const INDEPENDENT = -2;
/** `partition` of an answer that depends on all partitions as they are now. */
export const EVERY_PARTITION = -1;

/** Decides when answers may leave. Whoever sets one calls HttpServer.release when more may go. */
export interface ResponseHold {
  /** Whether no answer at all may leave before the next release. */
  readonly holdsAll: boolean;
  /** Whether an answer that depends on this sequence of the partition has to stay. */
  holds(partition: number, sequence: number): boolean;
  /** The present sequence of every partition, copied. */
  sequences(): Float64Array;
}

/** Sends answers that may depend on stored data: an HTTP server, or what asks the engine in process. */
export interface AnswerSender {
  /** Who holds answers back, if anybody. */
  hold: ResponseHold | undefined;
  /** More answers may leave: sends those that no longer depend on anything. */
  release(): void;
  /** What is held back must never be shown: who waits is told that nobody knows what came of it. */
  disownHeld(): void;
}
