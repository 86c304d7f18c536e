/**
 * Parses the responses on an outgoing connection with llhttp, one at a time. A response without a length
 * ends with its connection. Interim responses (1xx) are skipped.
 * Tested by wan/http-transport.spec.ts.
 */
import { counted } from '../base/quantities.ts';
import { INPUT_BYTES_MAX, type Llhttp, llhttp } from './llhttp.ts';
import { OK, PAUSED, type ParserListener, QUIET, REFUSED } from './parser-listener.ts';

/** Maximum length of the head of a response, in bytes. */
const HEAD_BYTES_MAX = 65_536;
const FINAL_STATUS_MIN = 200;

export class ResponseParser {
  status = 0;
  /** Whether the connection may carry another response after this one. */
  keepsAlive = false;
  readonly #llhttp: Llhttp = llhttp();
  readonly #pointer = this.#llhttp.allocate();
  readonly #bodyBytesMax: number;
  #body: Buffer[] = [];
  #bodyBytes = 0;
  #headBytes = 0;
  #isInBody = false;
  #isComplete = false;
  readonly #listener: ParserListener = {
    ...QUIET,
    onHeadersComplete: (keepAlive, status) => this.#onHeadersComplete(keepAlive, status),
    onBody: (address, length) => this.#onBody(address, length),
    onMessageComplete: () => this.#onMessageComplete(),
  };

  constructor(bodyBytesMax: number) {
    this.#bodyBytesMax = bodyBytesMax;
    this.begin();
  }

  /** Prepares for the next response. */
  begin(): void {
    this.#llhttp.expectResponse(this.#pointer);
    this.#body = [];
    this.#bodyBytes = 0;
    this.#headBytes = 0;
    this.#isInBody = false;
    this.#isComplete = false;
  }

  /** The body of the complete response. */
  get body(): Buffer {
    return Buffer.concat(this.#body);
  }

  /**
   * Reads the first `length` bytes of the chunk. Returns whether the response is complete. Throws an
   * Error if the bytes are not a response, or more follow it.
   */
  read(chunk: Buffer, length: number): boolean {
    for (let start = 0; start < length; start += INPUT_BYTES_MAX) {
      const end = Math.min(length, start + INPUT_BYTES_MAX);
      this.#llhttp.load(undefined, chunk, start, end);
      const result = this.#llhttp.execute(this.#pointer, this.#listener, 0, end - start);
      if (result !== OK && result !== PAUSED) throw this.#fault(result);
      if (this.#isComplete) {
        const at = start + this.#llhttp.resume(this.#pointer);
        if (at < length)
          throw new Error(`${counted(length - at, 'byte follows', 'bytes follow')} the response`);
        return true;
      }
      if (!this.#isInBody) this.#headBytes += end - start;
      if (this.#headBytes > HEAD_BYTES_MAX) {
        throw new Error(`the head of the response is longer than ${HEAD_BYTES_MAX} bytes`);
      }
    }
    return false;
  }

  /** Ends the input. Returns whether that completes the response. */
  finish(): boolean {
    this.#llhttp.finish(this.#pointer, this.#listener);
    return this.#isComplete;
  }

  /** Frees the parser. */
  free(): void {
    this.#llhttp.free(this.#pointer);
  }

  #onHeadersComplete(keepAlive: boolean, status: number): number {
    this.status = status;
    this.keepsAlive = keepAlive;
    this.#isInBody = status >= FINAL_STATUS_MIN;
    return OK;
  }

  #onBody(address: number, length: number): number {
    this.#bodyBytes += length;
    if (this.#bodyBytes > this.#bodyBytesMax) return REFUSED;
    this.#body.push(Buffer.from(this.#llhttp.memory.subarray(address, address + length)));
    return OK;
  }

  #onMessageComplete(): number {
    if (!this.#isInBody) return OK;
    this.#isComplete = true;
    return PAUSED;
  }

  #fault(result: number): Error {
    if (result === REFUSED) {
      return new Error(`the response is longer than ${this.#bodyBytesMax} bytes`);
    }
    return new Error(`the response is not HTTP: ${this.#llhttp.errorReason(this.#pointer)}`);
  }
}

/** The read buffer that all sockets may share: the bytes passed to `read` are only valid in the call. */
export function readBuffer(): Buffer {
  return llhttp().readBuffer;
}
