/**
 * The seams of the HTTP engine: the application it serves, and the hold that may keep responses back.
 * Each request has a slot (request-slot.ts) with a handler of its own, which is reused for other
 * requests, also of other connections. The handler answers through its exchange, at once or in a later
 * turn. A connection's requests begin in the order sent; several may be under way.
 */
import type { Exchange } from './exchange.ts';

/** The application: makes the handler of a slot. */
export interface Application {
  open(exchange: Exchange): RequestHandler;
}

export interface RequestHandler {
  /**
   * Whether no other request of the connection may be under way beside this one. Asked once the request
   * is admitted, and again when it has outlived its run.
   */
  readonly isAlone: boolean;
  /**
   * The head of a request is complete, its content is not read yet. True: continue with it. False: the
   * handler has answered; the content is dropped.
   */
  admit(): boolean;
  /** The request is complete; its answer may come later. */
  run(): void;
  /**
   * The request has bytes of its own from now on: it runs, or is answered, in a later turn. Its target
   * lies `shift` bytes further on; the handler sets its spans anew.
   */
  onOwned(shift: number): void;
  /**
   * Called while an answer is owed: the client has gone, or has sent its last. A request that waits for
   * a condition is answered now.
   */
  hurry(): void;
}

/** Bytes that are sent without a copy; released once, when the last one has been taken. */
export interface Pinned {
  release(): void;
}

/** The hold of an item that a response delivers. */
export interface ItemHold {
  /** Called once. True: the response leaves. False: it cannot any more, and the item returns. */
  acknowledge(isDelivered: boolean): void;
}

/** `partition` of an answer that depends on no stored data. */
export const INDEPENDENT = -2;
/** `partition` of an answer that depends on all partitions as they are now. */
export const EVERY_PARTITION = -1;

/** Decides when answers may leave. Its owner calls HttpServer.release when more may go. */
export interface ResponseHold {
  /** Whether no answer at all may leave before the next release. */
  readonly holdsAll: boolean;
  /** Whether an answer that depends on this sequence of the partition has to wait. */
  holds(partition: number, sequence: number): boolean;
  /** The present sequence of every partition, copied. */
  sequences(): Float64Array;
}

/** Sends answers that may depend on stored data: an HTTP server, or maps and queues in process. */
export interface AnswerSender {
  /** Holds answers back, where set. */
  hold: ResponseHold | undefined;
  /** More answers may leave: sends those that no longer have to wait. */
  release(): void;
  /** The answers held back must never be shown: their receivers get that the outcome is unknown. */
  disownHeld(): void;
}
