/**
 * The input received after a request that waits. It is stored unparsed, because none of it may take
 * effect yet. Its size is limited, and it uses one buffer, so that a client that sends byte by byte takes
 * no more memory. A separate parser counts the requests in it once there are enough bytes for too many;
 * the owner limits that count. Tested by connection.spec.ts.
 */
import { growBuffer } from '../base/grow-buffer.ts';
import { NO_BYTES } from '../base/span.ts';
import { type Llhttp, llhttp } from './llhttp.ts';
import { OK, PAUSED_UPGRADE, type ParserListener, QUIET } from './parser-listener.ts';
import { replaceRawBytes } from './raw-target.ts';

/** Maximum size of the backlog, in bytes; the parser accepts no longer input at once. */
const BACKLOG_BYTES_MAX = 65536;
/** Length of the shortest request, `GET / HTTP/1.0` and two CR LF, in bytes. */
const REQUEST_BYTES_MIN = 18;

export class Backlog {
  /** Bytes in the backlog. */
  bytes = 0;
  #buffer: Buffer = NO_BYTES;
  #counter: RequestCounter | undefined;

  /** Memory that the backlog takes, in bytes. */
  get heldBytes(): number {
    return this.#buffer.length;
  }

  /** Appends a copy of the bytes. Returns false if they would exceed the limit. */
  add(bytes: Buffer, start: number, end: number): boolean {
    const used = this.bytes;
    this.bytes = used + end - start;
    if (this.bytes > BACKLOG_BYTES_MAX) return false;
    this.#buffer = growBuffer(this.#buffer, used, this.bytes);
    bytes.copy(this.#buffer, used, start, end);
    this.#counter?.read(this.#buffer.subarray(used, this.bytes));
    return true;
  }

  /** Whether the backlog has more than `requests` complete requests. */
  hasMoreThan(requests: number): boolean {
    return this.bytes >= requests * REQUEST_BYTES_MIN && this.requestCount > requests;
  }

  /** Number of complete requests in the backlog. */
  get requestCount(): number {
    if (this.#counter === undefined) {
      this.#counter = new RequestCounter();
      this.#counter.read(this.#buffer.subarray(0, this.bytes));
    }
    return this.#counter.count;
  }

  /** Removes all bytes and returns them; the caller owns them. */
  removeAll(): Buffer {
    const bytes = this.#buffer.subarray(0, this.bytes);
    this.clear();
    return bytes;
  }

  clear(): void {
    this.bytes = 0;
    this.#buffer = NO_BYTES;
    this.#counter?.free();
    this.#counter = undefined;
  }
}

/** Counts complete requests, up to the first bytes that are not a request. */
class RequestCounter {
  count = 0;
  readonly #llhttp: Llhttp = llhttp();
  readonly #pointer = this.#llhttp.allocate();
  readonly #listener: ParserListener = {
    ...QUIET,
    onMessageComplete: () => {
      this.count++;
      return OK;
    },
  };
  #isBroken = false;

  read(bytes: Buffer): void {
    if (this.#isBroken) return;
    this.#llhttp.load(undefined, bytes, 0, bytes.length);
    const { memory, inputAddress } = this.#llhttp;
    replaceRawBytes(memory, inputAddress, inputAddress + bytes.length);
    let at = 0;
    while (at < bytes.length) {
      const result = this.#llhttp.execute(this.#pointer, this.#listener, at, bytes.length);
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
}
