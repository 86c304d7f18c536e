/**
 * The bytes that a client has sent behind a request that waits. They are kept unread, as nothing of
 * them may take effect yet. Their number is bounded here, and they are in one buffer, so that a client
 * that sends byte by byte takes no more memory. Requests in them are counted for the owner, who bounds
 * these, by a parser of its own, once there are enough bytes for too many requests.
 */
import { grownBuffer } from '../base/grown-buffer.ts';
import { type Llhttp, llhttp } from './llhttp.ts';
import { OK, PAUSED_UPGRADE, QuietListener } from './parser-listener.ts';
import { replaceRawBytes } from './raw-target.ts';

/** The most bytes kept: not more than the parser takes at once. */
const BACKLOG_BYTES_MAX = 65536;
/** `GET / HTTP/1.0` with its line ends and the empty line. */
const REQUEST_BYTES_MIN = 18;

export class Backlog {
  /** Bytes kept. */
  bytes = 0;
  #buffer: Buffer = NOTHING;
  #counter: RequestCounter | undefined;

  /** Bytes of memory for those kept. */
  get heldBytes(): number {
    return this.#buffer.length;
  }

  /** Keeps a copy. False: the bytes would exceed the limit. */
  add(bytes: Buffer, start: number, end: number): boolean {
    const used = this.bytes;
    this.bytes = used + end - start;
    if (this.bytes > BACKLOG_BYTES_MAX) return false;
    this.#buffer = grownBuffer(this.#buffer, used, this.bytes);
    bytes.copy(this.#buffer, used, start, end);
    this.#counter?.read(this.#buffer.subarray(used, this.bytes));
    return true;
  }

  /** Whether more than so many whole requests are kept. */
  hasMoreThan(requests: number): boolean {
    return this.bytes >= requests * REQUEST_BYTES_MIN && this.requestCount > requests;
  }

  /** Whole requests kept. */
  get requestCount(): number {
    if (this.#counter === undefined) {
      this.#counter = new RequestCounter();
      this.#counter.read(this.#buffer.subarray(0, this.bytes));
    }
    return this.#counter.count;
  }

  /** Returns the bytes kept, which are the caller's from then on. */
  take(): Buffer {
    const bytes = this.#buffer.subarray(0, this.bytes);
    this.clear();
    return bytes;
  }

  clear(): void {
    this.bytes = 0;
    this.#buffer = NOTHING;
    this.#counter?.free();
    this.#counter = undefined;
  }
}

/** Counts whole requests, up to bytes that are not a request. */
class RequestCounter extends QuietListener {
  count = 0;
  readonly #llhttp: Llhttp = llhttp();
  readonly #pointer = this.#llhttp.allocate();
  #isBroken = false;

  read(bytes: Buffer): void {
    if (this.#isBroken) return;
    this.#llhttp.load(undefined, bytes, 0, bytes.length);
    const { memory, inputAddress } = this.#llhttp;
    replaceRawBytes(memory, inputAddress, inputAddress + bytes.length);
    let at = 0;
    while (at < bytes.length) {
      const result = this.#llhttp.execute(this.#pointer, this, at, bytes.length);
      if (result === OK) return;
      if (result !== PAUSED_UPGRADE) {
        this.#isBroken = true;
        return;
      }
      at = this.#llhttp.resumeAfterUpgrade(this.#pointer);
    }
  }

  free(): void {
    this.#llhttp.free(this.#pointer);
  }

  override onMessageComplete(): number {
    this.count++;
    return OK;
  }
}

const NOTHING = Buffer.alloc(0);
