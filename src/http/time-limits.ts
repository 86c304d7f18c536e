/**
 * The time limits of one connection. The server waits for its client in two ways: to send (the next
 * request, the rest of a head or of content, or the end), and to read the responses. Each wait has a limit,
 * measured from the last progress.
 *
 * Progress only records the time. The deadline is moved immediately only if it would be too late; one that
 * is too early is set again when it has passed. So a request that is answered immediately moves nothing.
 */
import type { Timed } from './deadlines.ts';
import type { HttpLimits } from './limits.ts';
import {
  CONTENT_LATE,
  CONTENT_LATE_AT_STOP,
  HEAD_LATE,
  type ReadFailure,
} from './read-failures.ts';
import type { HttpServer } from './server.ts';

/** Time for which a half-closed connection is read, in ms. */
const END_MS = 2000;
/**
 * Time without input within a request after which the client gets 408 while the server drains, in ms.
 */
const DRAIN_MS = 5000;
/**
 * Time that a connection waits for another request while the server drains, in ms, if its client was not
 * idle for that long before. The response to that request announces the end of the connection; otherwise a
 * client that is about to send would send into a closed connection.
 */
export const LAST_REQUEST_MS = 1000;

/** The part that the client has to send next. */
export const NOTHING = 0;
export const REQUEST = 1;
export const HEAD = 2;
export const CONTENT = 3;
export const END = 4;

export type Awaited = 0 | 1 | 2 | 3 | 4;

/** Whether the client has sent a request at all, and whether it has sent one since the last `update`. */
const NO_REQUEST = 0;
const STILL = 1;
const MOVED = 2;
type Progress = 0 | 1 | 2;

export class TimeLimits {
  readonly #server: HttpServer;
  readonly #place: number;
  #awaited: Awaited = REQUEST;
  #awaitedSinceMs: number;
  #progress: Progress = NO_REQUEST;
  /** Deadline for the first request, in ms. */
  readonly #firstDueMs: number;
  /** Bytes of content received, as of the last `update`. */
  #receivedBytes = 0;
  #isSending = false;
  #sendingSinceMs = 0;
  /** Bytes that the client had accepted, as of the last `update`. */
  #takenBytes = 0;
  /** Time at which the owner is called, in ms; Infinity if not set. */
  #deadlineMs = Number.POSITIVE_INFINITY;

  /** `owner` is called when a limit may have been exceeded, and then calls `check`. */
  constructor(server: HttpServer, owner: Timed) {
    this.#server = server;
    this.#awaitedSinceMs = server.nowMs;
    const { firstRequestTimeoutSeconds = Number.POSITIVE_INFINITY } = server.limits;
    this.#firstDueMs = server.nowMs + firstRequestTimeoutSeconds * 1000;
    this.#place = server.deadlines.enter(owner);
    this.#set();
  }

  /** Records that the client has sent a request or a part of one. */
  onMoved(): void {
    this.#progress = MOVED;
  }

  /** Whether the client has not yet sent the complete head of a request. */
  get isNew(): boolean {
    return this.#progress === NO_REQUEST;
  }

  /** Time of the client's last progress, or at which the present wait began, in ms. */
  get idleSinceMs(): number {
    return this.#awaitedSinceMs;
  }

  /**
   * Sets the part that the client has to send next, the bytes of content received, and the total of the
   * bytes that it has accepted, or -1 if nothing is being sent to it.
   */
  update(awaited: Awaited, receivedBytes: number, takenBytes: number): void {
    this.#updateSending(takenBytes);
    const hasMoved = this.#progress === MOVED || receivedBytes !== this.#receivedBytes;
    if (this.#progress === MOVED) this.#progress = STILL;
    this.#receivedBytes = receivedBytes;
    if (awaited !== this.#awaited) {
      this.#awaited = awaited;
      this.#awaitedSinceMs = this.#server.nowMs;
      this.#set();
    } else if (hasMoved) this.#awaitedSinceMs = this.#server.nowMs;
  }

  /** Called at the deadline. Returns whether a limit is exceeded; if not, sets the next deadline. */
  check(): boolean {
    this.#deadlineMs = Number.POSITIVE_INFINITY;
    if (this.isReaderLate || this.isSenderLate) return true;
    this.#set();
    return false;
  }

  /** Whether the client has not read its responses for too long. */
  get isReaderLate(): boolean {
    return this.#readerDueMs() <= this.#server.nowMs;
  }

  /** Whether the client has not sent the awaited part for too long. */
  get isSenderLate(): boolean {
    return this.#senderDueMs() <= this.#server.nowMs;
  }

  /** The refusal for the limit that the rest of a request has exceeded. */
  get lateness(): ReadFailure {
    if (this.#server.nowMs < this.#ownDueMs()) return CONTENT_LATE_AT_STOP;
    return this.#awaited === HEAD ? HEAD_LATE : CONTENT_LATE;
  }

  /** Begins the wait for the awaited part again. */
  extend(): void {
    this.#awaitedSinceMs = this.#server.nowMs;
    this.#set();
  }

  /**
   * Applies the shorter limits of a server that drains. No connection of a client that is sending counts as
   * idle: a balancer has idle ones in store, and uses them when the others end.
   */
  shorten(isClientSending: boolean): void {
    if (isClientSending && this.#awaited === REQUEST) this.#awaitedSinceMs = this.#server.nowMs;
    this.#set();
  }

  leave(): void {
    this.#server.deadlines.leave(this.#place);
  }

  #set(): void {
    const dueMs = Math.min(this.#readerDueMs(), this.#senderDueMs());
    if (dueMs >= this.#deadlineMs) return;
    this.#deadlineMs = dueMs;
    this.#server.deadlines.set(this.#place, dueMs);
  }

  #updateSending(takenBytes: number): void {
    const wasSending = this.#isSending;
    this.#isSending = takenBytes >= 0;
    if (!this.#isSending) return;
    if (wasSending && takenBytes === this.#takenBytes) return;
    this.#sendingSinceMs = this.#server.nowMs;
    this.#takenBytes = takenBytes;
    if (!wasSending) this.#set();
  }

  #readerDueMs(): number {
    if (!this.#isSending) return Number.POSITIVE_INFINITY;
    return this.#sendingSinceMs + this.#server.limits.writeProgressTimeoutSeconds * 1000;
  }

  #senderDueMs(): number {
    if (this.#awaited === NOTHING) return Number.POSITIVE_INFINITY;
    return Math.min(this.#ownDueMs(), this.#drainDueMs());
  }

  /** Returns the time at which the awaited part is due if the server does not drain, in ms. */
  #ownDueMs(): number {
    const dueMs = this.#awaitedSinceMs + limitMs(this.#awaited, this.#server.limits);
    return this.isNew ? Math.min(dueMs, this.#firstDueMs) : dueMs;
  }

  #drainDueMs(): number {
    const sinceMs = this.#awaitedSinceMs;
    const { drainedMs } = this.#server;
    if (this.#awaited !== REQUEST) return Math.max(sinceMs, drainedMs) + DRAIN_MS;
    if (sinceMs + LAST_REQUEST_MS <= drainedMs) return drainedMs;
    return Math.max(sinceMs, drainedMs) + LAST_REQUEST_MS;
  }
}

function limitMs(awaited: Awaited, limits: HttpLimits): number {
  switch (awaited) {
    case REQUEST:
      return limits.keepAliveTimeoutSeconds * 1000;
    case HEAD:
      return limits.headerTimeoutSeconds * 1000;
    case CONTENT:
      return limits.bodyProgressTimeoutSeconds * 1000;
    default:
      return END_MS;
  }
}
