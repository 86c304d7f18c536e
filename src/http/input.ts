/**
 * The input of one connection: received bytes are parsed immediately or, while no request may be
 * read, added to the backlog. The carrier is then paused, so that the backlog stays small.
 * Tested by drain.spec.ts.
 */
import { NO_BYTES } from '../base/span.ts';
import { Backlog } from './backlog.ts';
import type { Carrier } from './carrier.ts';
import type { HttpLimits } from './limits.ts';
import { RequestParser } from './parser.ts';
import type { ServedHosts } from './served-hosts.ts';

export class Input {
  readonly parser: RequestParser;
  readonly #carrier: Carrier;
  readonly #backlog = new Backlog();
  readonly #pipelineMax: number;
  /** Whether the carrier is paused. */
  isPaused = false;
  /** Number of times the carrier was paused. */
  pauseCount = 0;

  constructor(carrier: Carrier, limits: HttpLimits, servedHosts: ServedHosts | undefined) {
    this.#carrier = carrier;
    this.#pipelineMax = limits.pipelineMax;
    this.parser = new RequestParser(limits, servedHosts);
  }

  /** Whether there are received bytes that have not been parsed. */
  get hasUnread(): boolean {
    return this.parser.hasRest || this.#backlog.bytes > 0;
  }

  /** Received bytes that have not been parsed. */
  get unreadBytes(): number {
    return this.parser.rest.length + this.#backlog.bytes;
  }

  /** Whether the backlog has bytes. */
  get hasBacklog(): boolean {
    return this.#backlog.bytes > 0;
  }

  /** Memory for the backlog and a partly read request without its content, in bytes. */
  get heldBytes(): number {
    return this.parser.heldBytes + this.#backlog.heldBytes;
  }

  /** Whether the backlog has more complete requests than may wait. */
  get hasTooMany(): boolean {
    return this.#backlog.hasMoreThan(this.#pipelineMax);
  }

  /** Number of complete requests in the backlog. */
  get requestCount(): number {
    return this.hasBacklog ? this.#backlog.requestCount : 0;
  }

  /** Loads the backlog, which must not be empty, into the parser. */
  loadBacklog(): void {
    const bytes = this.#backlog.removeAll();
    this.parser.load(bytes, bytes.length);
  }

  /** Adds a copy of the bytes to the backlog. Returns false if that would exceed its limit. */
  addToBacklog(bytes: Buffer, start: number, end: number): boolean {
    return this.#backlog.add(bytes, start, end);
  }

  /** Unloads the input; with `storesRest` unread bytes go to the backlog. Returns false if that is full. */
  unload(storesRest: boolean): boolean {
    const { rest } = this.parser;
    const fits =
      !storesRest || rest.length === 0 || this.addToBacklog(rest.bytes, rest.start, rest.end);
    this.parser.load(NO_BYTES, 0);
    return fits;
  }

  /** Drops the backlog, as nothing more will be read. */
  drop(): void {
    this.#backlog.clear();
    this.parser.releaseHead();
  }

  pause(isPaused: boolean): void {
    if (isPaused === this.isPaused) return;
    this.isPaused = isPaused;
    if (isPaused) {
      this.pauseCount++;
      this.#carrier.pause();
    } else this.#carrier.resume();
  }

  /** Frees the backlog and the parser when the connection has ended. */
  free(): void {
    this.drop();
    this.parser.free();
  }
}
