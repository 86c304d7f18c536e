/**
 * The application that the HTTP server runs.
 * Each request has an object (request.ts) with its own handler, which are reused for requests of any
 * connection. The handler responds through it, immediately or in a later turn. The
 * requests of a connection begin in the order sent; several may be under way at a time.
 */
import type { Request } from './request.ts';

/** Creates the handler of each object. */
export interface Application {
  open(request: Request): RequestHandler;
}

export interface RequestHandler {
  /**
   * Whether no other request of the connection may be under way at the same time. Read when the request
   * is admitted, and again if it is still under way after `run`.
   */
  readonly isExclusive: boolean;
  /**
   * Called when the head of a request is complete, before its content is read. True: the request
   * continues. False: the handler has responded, and the content is dropped.
   */
  admit(): boolean;
  /** Runs the complete request. The response may follow in a later turn. */
  run(): void;
  /**
   * Called while the request is unanswered, if the client has disconnected or will send nothing more. A
   * request that waits for a condition must respond now.
   */
  finishNow(): void;
  /** Called at the end of a request whose path has escapes or whose bytes were long: none is retained. */
  release(): void;
}
