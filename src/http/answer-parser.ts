/**
 * Reads the answers that a connection of our own gets, one at a time, with llhttp. An answer without a
 * length ends with its connection. What comes before the final answer (1xx) is passed over.
 */
import { INPUT_BYTES_MAX, type Llhttp, llhttp } from './llhttp.ts';
import { OK, PAUSED, QuietListener, REFUSED } from './parser-listener.ts';

/** Limit of the bytes before an answer's body. */
const HEAD_BYTES_MAX = 65_536;
const FINAL_STATUS_MIN = 200;

export class AnswerParser extends QuietListener {
  status = 0;
  /** Whether the connection may have another answer after this one. */
  keepsAlive = false;
  readonly #llhttp: Llhttp = llhttp();
  readonly #pointer = this.#llhttp.allocate();
  readonly #bodyBytesMax: number;
  #body: Buffer[] = [];
  #bodyBytes = 0;
  #headBytes = 0;
  #isInBody = false;
  #isComplete = false;

  constructor(bodyBytesMax: number) {
    super();
    this.#bodyBytesMax = bodyBytesMax;
    this.begin();
  }

  /** The next bytes are those of another answer. */
  begin(): void {
    this.#llhttp.expectAnswer(this.#pointer);
    this.#body = [];
    this.#bodyBytes = 0;
    this.#headBytes = 0;
    this.#isInBody = false;
    this.#isComplete = false;
  }

  /** The body of the complete answer. */
  get body(): Buffer {
    return Buffer.concat(this.#body);
  }

  /**
   * Reads the first `length` bytes of the chunk. Returns whether the answer is complete; throws an Error
   * where they are no answer, or more than that.
   */
  read(chunk: Buffer, length: number): boolean {
    for (let start = 0; start < length; start += INPUT_BYTES_MAX) {
      const end = Math.min(length, start + INPUT_BYTES_MAX);
      this.#llhttp.load(undefined, chunk, start, end);
      const result = this.#llhttp.execute(this.#pointer, this, 0, end - start);
      if (result !== OK && result !== PAUSED) throw this.#fault(result);
      if (this.#isComplete) {
        const at = start + this.#llhttp.resume(this.#pointer);
        if (at < length) throw new Error(`${length - at} bytes follow the answer`);
        return true;
      }
      if (!this.#isInBody) this.#headBytes += end - start;
      if (this.#headBytes > HEAD_BYTES_MAX) {
        throw new Error(`the head of the answer is longer than ${HEAD_BYTES_MAX} bytes`);
      }
    }
    return false;
  }

  /** The connection has ended. Returns whether the answer is complete thereby. */
  finish(): boolean {
    this.#llhttp.finish(this.#pointer, this);
    return this.#isComplete;
  }

  /** Nothing is read any more. */
  free(): void {
    this.#llhttp.free(this.#pointer);
  }

  override onHeadersComplete(keepAlive: boolean, status: number): number {
    this.status = status;
    this.keepsAlive = keepAlive;
    this.#isInBody = status >= FINAL_STATUS_MIN;
    return OK;
  }

  override onBody(address: number, length: number): number {
    this.#bodyBytes += length;
    if (this.#bodyBytes > this.#bodyBytesMax) return REFUSED;
    this.#body.push(Buffer.from(this.#llhttp.memory.subarray(address, address + length)));
    return OK;
  }

  override onMessageComplete(): number {
    if (!this.#isInBody) return OK;
    this.#isComplete = true;
    return PAUSED;
  }

  #fault(result: number): Error {
    if (result === REFUSED) {
      return new Error(`the answer is longer than ${this.#bodyBytesMax} bytes`);
    }
    return new Error(`the answer is not HTTP: ${this.#llhttp.errorReason(this.#pointer)}`);
  }
}

/** What sockets may read into, all into the same: what `read` gets is valid during the call only. */
export function readBuffer(): Buffer {
  return llhttp().readBuffer;
}
