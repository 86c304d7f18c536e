/**
 * The time limits of one connection. Its client is awaited in two ways: to send (the next request, the
 * rest of a head, of content, or its end), and to take the bytes sent. Each has a limit, counted from
 * the last progress.
 *
 * Progress only notes the time. The deadline is moved at once only where it would come too late; where
 * it comes too early it is set anew. So a request that comes and is answered at once moves nothing.
 */
import type { Deadlines, Timed } from './deadlines.ts';
import type { HttpLimits } from './limits.ts';
import { CONTENT_LATE, CONTENT_LATE_AT_STOP, HEAD_LATE, type Verdict } from './verdicts.ts';

/** How long a half-closed connection is read, in milliseconds. */
const END_MS = 2000;
/**
 * While the server drains, a client that is silent this long within a request gets 408, in
 * milliseconds.
 */
const DRAIN_MS = 5000;
/**
 * How long a connection of a server that drains waits for a request, in milliseconds, if the last one
 * came within this time: its response says that it is the last. Otherwise a client that sends on would
 * send into a closed connection.
 */
export const LAST_REQUEST_MS = 1000;

/** What the client is to send. */
export const NOTHING = 0;
export const REQUEST = 1;
export const HEAD = 2;
export const CONTENT = 3;
export const END = 4;

export type Awaited = 0 | 1 | 2 | 3 | 4;

/** Whether the client has sent a request, and whether one has come since the last call of `tell`. */
const NO_REQUEST = 0;
const STILL = 1;
const MOVED = 2;
type Progress = 0 | 1 | 2;

/** The parts that the limits of a server's connections share. */
export interface TimeSource {
  readonly limits: HttpLimits;
  readonly deadlines: Deadlines;
  /** The time of this turn, in milliseconds. */
  readonly nowMs: number;
  /** When the server began to drain; Infinity before. */
  readonly drainedMs: number;
}

export class TimeLimits {
  readonly #source: TimeSource;
  readonly #place: number;
  #awaited: Awaited = REQUEST;
  #awaitedSinceMs: number;
  #progress: Progress = NO_REQUEST;
  /** When the first request is due, in milliseconds. */
  readonly #firstDueMs: number;
  /** Bytes of content that had come by then. */
  #receivedBytes = 0;
  #isSending = false;
  #sendingSinceMs = 0;
  /** Bytes that the client had taken by then. */
  #takenBytes = 0;
  /** When the owner is called; Infinity: not set. */
  #deadlineMs = Number.POSITIVE_INFINITY;

  /** The owner is called when a limit may have passed; then it calls check. */
  constructor(source: TimeSource, owner: Timed) {
    this.#source = source;
    this.#awaitedSinceMs = source.nowMs;
    const { firstRequestTimeoutSeconds = Number.POSITIVE_INFINITY } = source.limits;
    this.#firstDueMs = source.nowMs + firstRequestTimeoutSeconds * 1000;
    this.#place = source.deadlines.enter(owner);
    this.#set();
  }

  /** The client has sent a request, or a part of one. */
  onMoved(): void {
    this.#progress = MOVED;
  }

  /** Whether the client has sent no request yet, or only a part of its head. */
  get isNew(): boolean {
    return this.#progress === NO_REQUEST;
  }

  /** When the client last moved, or began to be waited for, in milliseconds. */
  get idleSinceMs(): number {
    return this.#awaitedSinceMs;
  }

  /**
   * The awaited part that the client is to send from now on, and the bytes of content that have come;
   * the bytes that it has taken in all, or -1 where it has nothing to take.
   */
  tell(awaited: Awaited, receivedBytes: number, takenBytes: number): void {
    this.#sends(takenBytes);
    const hasMoved = this.#progress === MOVED || receivedBytes !== this.#receivedBytes;
    if (this.#progress === MOVED) this.#progress = STILL;
    this.#receivedBytes = receivedBytes;
    if (awaited !== this.#awaited) {
      this.#awaited = awaited;
      this.#awaitedSinceMs = this.#source.nowMs;
      this.#set();
    } else if (hasMoved) this.#awaitedSinceMs = this.#source.nowMs;
  }

  /** The deadline has come. Returns whether a limit has passed; if not, sets the next deadline. */
  check(): boolean {
    this.#deadlineMs = Number.POSITIVE_INFINITY;
    if (this.isReaderLate || this.isSenderLate) return true;
    this.#set();
    return false;
  }

  /** Whether the client has taken nothing for too long. */
  get isReaderLate(): boolean {
    return this.#readerDueMs() <= this.#source.nowMs;
  }

  /** Whether the client has not sent the awaited part for too long. */
  get isSenderLate(): boolean {
    return this.#senderDueMs() <= this.#source.nowMs;
  }

  /** The limit that has passed for the rest of a request. */
  get lateness(): Verdict {
    if (this.#source.nowMs < this.#ownDueMs()) return CONTENT_LATE_AT_STOP;
    return this.#awaited === HEAD ? HEAD_LATE : CONTENT_LATE;
  }

  /** The awaited part is waited for once more. */
  extend(): void {
    this.#awaitedSinceMs = this.#source.nowMs;
    this.#set();
  }

  /** The server drains. */
  shorten(): void {
    this.#set();
  }

  leave(): void {
    this.#source.deadlines.leave(this.#place);
  }

  #set(): void {
    const dueMs = Math.min(this.#readerDueMs(), this.#senderDueMs());
    if (dueMs >= this.#deadlineMs) return;
    this.#deadlineMs = dueMs;
    this.#source.deadlines.set(this.#place, dueMs);
  }

  #sends(takenBytes: number): void {
    const wasSending = this.#isSending;
    this.#isSending = takenBytes >= 0;
    if (!this.#isSending) return;
    if (wasSending && takenBytes === this.#takenBytes) return;
    this.#sendingSinceMs = this.#source.nowMs;
    this.#takenBytes = takenBytes;
    if (!wasSending) this.#set();
  }

  #readerDueMs(): number {
    if (!this.#isSending) return Number.POSITIVE_INFINITY;
    return this.#sendingSinceMs + this.#source.limits.writeProgressTimeoutSeconds * 1000;
  }

  #senderDueMs(): number {
    if (this.#awaited === NOTHING) return Number.POSITIVE_INFINITY;
    return Math.min(this.#ownDueMs(), this.#drainDueMs());
  }

  /** When the awaited part is due while the server does not drain. */
  #ownDueMs(): number {
    const dueMs = this.#awaitedSinceMs + limitMs(this.#awaited, this.#source.limits);
    return this.isNew ? Math.min(dueMs, this.#firstDueMs) : dueMs;
  }

  #drainDueMs(): number {
    const sinceMs = this.#awaitedSinceMs;
    const { drainedMs } = this.#source;
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
