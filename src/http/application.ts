/**
 * The application that the HTTP engine serves.
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
   * Called while an answer is owed: the client has gone, or has sent its last. A request that waits for
   * a condition is answered now.
   */
  hurry(): void;
}
