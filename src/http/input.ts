/**
 * The input of one connection: the bytes of its socket, read by the parser at once or, while nothing is
 * to be read, kept for later. The socket is paused then, so that little has to be kept.
 */
import type { Socket } from 'node:net';
import { Backlog } from './backlog.ts';
import type { HttpLimits } from './limits.ts';
import { RequestParser } from './parser.ts';
import type { ServedHosts } from './served-hosts.ts';

export class Input {
  readonly parser: RequestParser;
  readonly #socket: Socket;
  readonly #backlog = new Backlog();
  readonly #pipelineMax: number;
  /** Whether the socket is paused. */
  isPaused = false;
  /** How often it was paused. */
  pauseCount = 0;

  constructor(socket: Socket, limits: HttpLimits, servedHosts: ServedHosts | undefined) {
    this.#socket = socket;
    this.#pipelineMax = limits.pipelineMax;
    this.parser = new RequestParser(limits, servedHosts);
  }

  /** Whether bytes have come that have not been read. */
  get hasUnread(): boolean {
    return this.parser.hasRest || this.#backlog.bytes > 0;
  }

  /** Bytes that have come and have not been read. */
  get unreadBytes(): number {
    return this.parser.rest.length + this.#backlog.bytes;
  }

  /** Whether bytes are kept. */
  get isKept(): boolean {
    return this.#backlog.bytes > 0;
  }

  /** Bytes of memory for a request that has been read in part, without its content, and for bytes kept. */
  get heldBytes(): number {
    return this.parser.heldBytes + this.#backlog.heldBytes;
  }

  /** Whether more whole requests are kept than may wait. */
  get hasTooMany(): boolean {
    return this.#backlog.hasMoreThan(this.#pipelineMax);
  }

  /** Whole requests kept. */
  get requestCount(): number {
    return this.isKept ? this.#backlog.requestCount : 0;
  }

  /** Has the parser read the bytes kept; there are some. */
  takeKept(): void {
    const bytes = this.#backlog.take();
    this.parser.load(bytes, bytes.length);
  }

  /** Keeps a copy of bytes for later. False: that would exceed the limit. */
  keep(bytes: Buffer, start: number, end: number): boolean {
    return this.#backlog.add(bytes, start, end);
  }

  /** The bytes loaded become unavailable; with `isToStay` the unread are kept. False: too many. */
  leave(isToStay: boolean): boolean {
    const { rest } = this.parser;
    const fits = !isToStay || rest.length === 0 || this.keep(rest.bytes, rest.start, rest.end);
    this.parser.load(NOTHING, 0);
    return fits;
  }

  /** No more is read: drops the bytes kept. */
  drop(): void {
    this.#backlog.clear();
    this.parser.leaveHead();
  }

  pause(isPaused: boolean): void {
    if (isPaused === this.isPaused) return;
    this.isPaused = isPaused;
    if (isPaused) {
      this.pauseCount++;
      this.#socket.pause();
    } else this.#socket.resume();
  }

  /** The connection has ended. */
  free(): void {
    this.drop();
    this.parser.free();
  }
}

const NOTHING = Buffer.alloc(0);
