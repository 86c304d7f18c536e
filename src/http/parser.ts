/**
 * Reads the requests of one connection out of its chunks: drives an llhttp parser, gathers heads
 * and bodies, bounds the framing of chunked bodies. It knows no socket and no answer: next() says
 * what has been reached.
 *
 * llhttp is paused at the end of each head that has content and of each message. So requests run
 * outside of its callbacks, and what has been read is known exactly; measured, a pause costs nothing.
 */
import { Body } from './body.ts';
import { Head } from './head.ts';
import type { HttpLimits } from './limits.ts';
import {
  DATA_AFTER_CLOSE,
  INPUT_BYTES_MAX,
  INVALID_VERSION,
  type Llhttp,
  llhttp,
  OK,
  PAUSED,
  PAUSED_UPGRADE,
  type ParserListener,
  REFUSED,
} from './llhttp.ts';
import { Request, UNKNOWN_LENGTH } from './request.ts';

/** The chunk is used up; the next one goes on where it ended. */
export const NEEDS_MORE = 0;
/** A head with content behind it is complete: decide on it, then go on. */
export const AT_HEAD = 1;
/** A request is complete. */
export const AT_REQUEST = 2;
/** The bytes are no request that can be served: `refusal` says with which status. Read no more. */
export const AT_REFUSAL = 3;

export type Reached = 0 | 1 | 2 | 3;

const BETWEEN = 0;
const IN_HEAD = 1;
const IN_BODY = 2;

/** Framing that a piece of a chunked body may cost: a size in hexadecimal and line ends, with room. */
const FRAMING_BYTES_PER_PIECE = 24;

export class RequestParser implements ParserListener {
  readonly request = new Request();
  readonly body: Body;
  /** After AT_REFUSAL: the status to answer with; 0 for bytes behind a last request. */
  refusal = 0;

  readonly #llhttp: Llhttp = llhttp();
  readonly #headerBytesMax: number;
  readonly #head: Head;
  #pointer: number;
  #state = BETWEEN;
  #reached: Reached = NEEDS_MORE;
  #chunk: Buffer = NOTHING;
  /** Offset in the chunk to go on from. */
  #at = 0;
  /** The part of the chunk that the parser's input area holds. */
  #loadedStart = 0;
  #loadedEnd = 0;
  /** Bytes of the connection before the chunk. */
  #chunkPosition = 0;
  /** Position up to which the framing of a chunked body is counted, and its bytes. */
  #framingPosition = 0;
  #framingBytes = 0;

  constructor(limits: HttpLimits) {
    this.#headerBytesMax = limits.headerBytesMax;
    this.#head = new Head(this.request, limits);
    this.body = new Body(this.request.body, limits.bodyBytesMax);
    this.#pointer = this.#llhttp.allocate();
  }

  /** Takes the next bytes of the connection; what was unread of the ones before is to be in them. */
  load(chunk: Buffer): void {
    this.#chunkPosition += this.#at;
    this.#chunk = chunk;
    this.#at = 0;
    this.#loadedEnd = 0;
  }

  /** Reads on, up to the next thing to decide on. */
  next(): Reached {
    while (this.#at < this.#chunk.length) {
      if (this.#at >= this.#loadedEnd || this.#llhttp.inputOwner !== this) this.#loadInput();
      const result = this.#llhttp.execute(
        this.#pointer,
        this,
        this.#at - this.#loadedStart,
        this.#loadedEnd - this.#loadedStart,
      );
      if (result === OK) this.#at = this.#loadedEnd;
      else if (result === PAUSED) {
        this.#at = this.#loadedStart + this.#llhttp.resume(this.#pointer);
        return this.#pause();
      } else if (result === PAUSED_UPGRADE) {
        this.#at = this.#loadedStart + this.#llhttp.resumeAfterUpgrade(this.#pointer);
      } else {
        return this.#refuse(this.refusal || this.#statusOf(result));
      }
    }
    return this.#suspend();
  }

  /** The bytes of the chunk that have not been read; a view. */
  rest(): Buffer {
    return this.#chunk.subarray(this.#at);
  }

  /** Whether bytes of the chunk have not been read. */
  get hasRest(): boolean {
    return this.#at < this.#chunk.length;
  }

  /** Whether a request has begun and is not complete. */
  get isInRequest(): boolean {
    return this.#state !== BETWEEN;
  }

  /** Gives the parser back; nothing may be called afterwards. */
  free(): void {
    this.#llhttp.free(this.#pointer);
    this.#pointer = 0;
    this.body.end();
  }

  onMessageBegin(): number {
    this.#state = IN_HEAD;
    this.#head.begin(this.#chunk);
    return OK;
  }

  onTarget(address: number, length: number): number {
    const start = this.#offset(address);
    return this.#judge(
      this.#head.onTarget(this.#chunk, start, length, this.#chunkPosition + start),
    );
  }

  onFieldName(address: number, length: number): number {
    if (this.#state === IN_BODY) return OK;
    const start = this.#offset(address);
    return this.#judge(this.#head.onName(this.#chunk, start, length, this.#chunkPosition + start));
  }

  onFieldValue(address: number, length: number): number {
    if (this.#state === IN_BODY) return OK;
    const start = this.#offset(address);
    this.#head.onValue(this.#chunk, start, length, this.#chunkPosition + start);
    return OK;
  }

  onHeadersComplete(keepAlive: boolean): number {
    const request = this.request;
    request.version = this.#llhttp.version(this.#pointer);
    request.method = this.#llhttp.method(this.#pointer);
    request.keepAlive = keepAlive;
    const verdict = this.#head.complete(this.#chunk, this.#chunkEndPosition);
    if (verdict !== 0) return this.#judge(verdict);
    this.#state = IN_BODY;
    this.body.begin(request.contentLength);
    if (!request.hasBody) return OK;
    this.#framingPosition = this.#head.endPosition;
    this.#framingBytes = 0;
    this.#reached = AT_HEAD;
    return PAUSED;
  }

  onBody(address: number, length: number): number {
    const start = this.#offset(address);
    if (this.request.contentLength === UNKNOWN_LENGTH) {
      this.#countFraming(this.#chunkPosition + start);
      this.#framingPosition += length;
      if (this.#framingBytes > this.#headerBytesMax) return this.#judge(431);
      this.#framingBytes = Math.max(0, this.#framingBytes - FRAMING_BYTES_PER_PIECE);
    }
    this.body.append(this.#chunk, start, start + length);
    return OK;
  }

  onMessageComplete(): number {
    this.#reached = AT_REQUEST;
    return PAUSED;
  }

  #loadInput(): void {
    this.#loadedStart = this.#at;
    this.#loadedEnd = Math.min(this.#chunk.length, this.#at + INPUT_BYTES_MAX);
    this.#llhttp.load(this, this.#chunk, this.#loadedStart, this.#loadedEnd);
  }

  #pause(): Reached {
    if (this.#reached === AT_REQUEST) {
      this.#state = BETWEEN;
      if (this.#isFramingTooLong(this.#chunkPosition + this.#at)) return this.#refuse(431);
    }
    return this.#reached;
  }

  /** The chunk is used up: what lies in it of an unfinished head or framing is accounted for. */
  #suspend(): Reached {
    if (this.#state === IN_HEAD) {
      const verdict = this.#head.suspend(this.#chunk, this.#chunkEndPosition);
      if (verdict !== 0) return this.#refuse(verdict);
    } else if (this.#state === IN_BODY) {
      if (this.#isFramingTooLong(this.#chunkEndPosition)) return this.#refuse(431);
      this.body.announce(this.#llhttp.expectedBytes(this.#pointer));
    }
    return NEEDS_MORE;
  }

  #isFramingTooLong(position: number): boolean {
    if (this.request.contentLength !== UNKNOWN_LENGTH) return false;
    this.#countFraming(position);
    return this.#framingBytes > this.#headerBytesMax;
  }

  #countFraming(position: number): void {
    this.#framingBytes += position - this.#framingPosition;
    this.#framingPosition = position;
  }

  get #chunkEndPosition(): number {
    return this.#chunkPosition + this.#chunk.length;
  }

  #offset(address: number): number {
    return address - this.#llhttp.inputAddress + this.#loadedStart;
  }

  #judge(verdict: number): number {
    if (verdict === 0) return OK;
    this.refusal = verdict;
    return REFUSED;
  }

  #refuse(status: number): Reached {
    this.refusal = status;
    return AT_REFUSAL;
  }

  /** 505 for a well-formed version that is not ours; 400 for what is no HTTP. */
  #statusOf(error: number): number {
    if (error === DATA_AFTER_CLOSE) return 0;
    const isVersion = error === INVALID_VERSION;
    return isVersion && this.#llhttp.errorReason(this.#pointer) === UNKNOWN_VERSION ? 505 : 400;
  }
}

const NOTHING = Buffer.alloc(0);
/** What llhttp says of a version of two digits that it does not know. */
const UNKNOWN_VERSION = 'Invalid HTTP version';
