/**
 * Reads the requests of one connection out of its chunks: drives an llhttp parser, collects heads and
 * bodies, bounds the framing of chunked bodies. It knows no socket and no answer: next() returns the
 * point reached.
 *
 * Heads that the connection has sent before are recognised (known-heads.ts); llhttp reads the others.
 * It is paused at the end of each head that has content and of each message. So requests run outside of
 * its callbacks, and the position in the input is known exactly.
 */
import assert from 'node:assert';
import { Span } from '../base/span.ts';
import type { Body } from './body.ts';
import { Head } from './head.ts';
import { KnownHeads } from './known-heads.ts';
import type { HttpLimits } from './limits.ts';
import { INPUT_BYTES_MAX, type Llhttp, llhttp } from './llhttp.ts';
import {
  DATA_AFTER_CLOSE,
  INVALID_TARGET,
  INVALID_VERSION,
  OK,
  PAUSED,
  PAUSED_UPGRADE,
  type ParserListener,
  REFUSED,
} from './parser-listener.ts';
import { RawTarget } from './raw-target.ts';
import { type Request, UNKNOWN_LENGTH } from './request.ts';
import type { ServedHosts } from './served-hosts.ts';
import * as verdicts from './verdicts.ts';

/** The chunk is used up; the next one continues where it ended. */
export const NEEDS_MORE = 0;
/** A head followed by content is complete: decide on it, then continue. */
export const AT_HEAD = 1;
/** A request is complete. */
export const AT_REQUEST = 2;
/** The bytes are not a request that can be served: `refusal` has the reason. Read no more. */
export const AT_REFUSAL = 3;

type Reached = 0 | 1 | 2 | 3;

const BETWEEN = 0;
const IN_HEAD = 1;
const IN_BODY = 2;

/** Framing that is not counted: a chunk's size in hexadecimal and line ends, with room. */
const FRAMING_BYTES_PER_CHUNK = 24;

export class RequestParser implements ParserListener {
  /** The request and the body that the present request is read into. */
  request!: Request;
  body!: Body;
  /** After AT_REFUSAL: the reason. */
  refusal: verdicts.Verdict = 0;

  /** Where the present head began; it differs from that of every other head that outlives its input. */
  headPosition = 0;

  /** The bytes of the chunk that have not been read. */
  readonly rest = new Span();

  readonly #llhttp: Llhttp = llhttp();
  readonly #headerBytesMax: number;
  readonly #head: Head;
  readonly #knownHeads: KnownHeads;
  readonly #rawTarget: RawTarget;
  #pointer: number;
  #state = BETWEEN;
  #reached: Reached = NEEDS_MORE;
  /** Whether the parser's input area was given the chunk, and from which offset on. */
  #isLoaded = false;
  #loadedStart = 0;
  /** Whether the input continues a request line that began in the one before. */
  #isLineSplit = false;
  /** The input's end in the parser's memory, and the difference of a position and an offset there. */
  #inputEnd = 0;
  #positionBase = 0;
  /** Bytes of the connection before the chunk. */
  #chunkPosition = 0;
  /** Position where the present framing of a chunked body began, and the bytes counted before it. */
  #framingPosition = 0;
  #framingBytes = 0;
  /** llhttp's flags when the present field began. */
  #flags = 0;

  /** `servedHosts`: the hosts that are served; undefined for all. */
  constructor(limits: HttpLimits, servedHosts?: ServedHosts) {
    this.#headerBytesMax = limits.headerBytesMax;
    this.#head = new Head(limits, servedHosts);
    this.#knownHeads = new KnownHeads(this.#llhttp, limits.targetBytesMax);
    this.#rawTarget = new RawTarget(this.#llhttp);
    this.#pointer = this.#llhttp.allocate();
  }

  /** Between requests: the next ones are read into these. */
  use(request: Request, body: Body): void {
    if (this.request === request) return;
    if (this.#state !== BETWEEN) assert.fail('the request of bytes that have been read in part');
    this.request = request;
    this.body = body;
    this.#head.request = request;
  }

  /**
   * Takes the next bytes of the connection, bytes 0 to `length - 1` of the chunk: INPUT_BYTES_MAX at
   * most. They begin with the unread ones of the chunk before. They are needed until next returns
   * NEEDS_MORE.
   */
  load(chunk: Buffer, length: number): void {
    if (length > INPUT_BYTES_MAX) assert.fail(`a chunk of ${length} bytes`);
    this.#chunkPosition += this.rest.start;
    this.rest.set(chunk, 0, length);
    this.#isLoaded = false;
  }

  /** Reads on, up to the next decision. */
  next(): Reached {
    if (!this.hasRest) return this.#suspend();
    if (!this.#isLoaded || this.#llhttp.inputOwner !== this) this.#loadInput();
    if (this.#state === BETWEEN && this.#isKnown()) return AT_REQUEST;
    return this.#parse();
  }

  /** The same by llhttp. */
  #parse(): Reached {
    const { rest } = this;
    let mayBeRaw = true;
    while (rest.start < rest.end) {
      const result = this.#llhttp.execute(
        this.#pointer,
        this,
        rest.start - this.#loadedStart,
        rest.end - this.#loadedStart,
      );
      if (result === OK) rest.start = rest.end;
      else if (result === PAUSED) {
        rest.start = this.#loadedStart + this.#llhttp.resume(this.#pointer);
        return this.#pause();
      } else if (result === PAUSED_UPGRADE) {
        rest.start = this.#loadedStart + this.#llhttp.resumeAfterUpgrade(this.#pointer);
      } else if (result === INVALID_TARGET && mayBeRaw && this.#replacesRawBytes()) {
        mayBeRaw = false;
      } else return this.#refuse(this.refusal || this.#verdictOf(result));
    }
    return this.#suspend();
  }

  /** Whether bytes of the chunk have not been read. */
  get hasRest(): boolean {
    return this.rest.start < this.rest.end;
  }

  /** Whether a request has begun and is not complete. */
  get isInRequest(): boolean {
    return this.#state !== BETWEEN;
  }

  /** Bytes of memory for a request that has been read in part, without its content. */
  get heldBytes(): number {
    return this.#state === BETWEEN ? 0 : this.#head.heldBytes;
  }

  /** Bytes of the connection that have been read. */
  get position(): number {
    return this.#chunkPosition + this.rest.start;
  }

  /** The head of the last request is no longer needed. Returns whether it had a long buffer. */
  leaveHead(): boolean {
    return this.#head.leave();
  }

  /** The method of a request whose head has not been read whole. */
  readMethod(): void {
    if (this.#state === IN_HEAD) this.request.method = this.#llhttp.method(this.#pointer);
  }

  /** llhttp's reason for bytes that it did not take; it repeats nothing that was sent. */
  get errorReason(): string {
    return this.#llhttp.errorReason(this.#pointer);
  }

  /** Frees the parser; nothing may be called afterwards. */
  free(): void {
    if (this.#pointer === 0) assert.fail('a parser is freed once');
    this.#llhttp.free(this.#pointer);
    this.#pointer = 0;
  }

  onMessageBegin(): number {
    this.#state = IN_HEAD;
    this.headPosition = this.#positionBase;
    this.#isLineSplit = false;
    this.#head.begin();
    return OK;
  }

  onTarget(address: number, length: number): number {
    this.#rawTarget.restore();
    return this.#judge(this.#head.onTarget(address, length));
  }

  onFieldName(address: number, length: number): number {
    if (this.#state === IN_BODY) return OK;
    if (this.#head.isAtProxyConnection) this.#llhttp.setFlags(this.#pointer, this.#flags);
    this.#flags = this.#llhttp.flags(this.#pointer);
    return this.#judge(this.#head.onName(address, length));
  }

  onFieldValue(address: number, length: number): number {
    if (this.#state !== IN_BODY) this.#head.onValue(address, length);
    return OK;
  }

  onHeadersComplete(keepAlive: boolean): number {
    const request = this.request;
    request.version = this.#llhttp.version(this.#pointer);
    request.method = this.#llhttp.method(this.#pointer);
    request.keepAlive = this.#head.isAtProxyConnection
      ? this.#llhttp.setFlags(this.#pointer, this.#flags)
      : keepAlive;
    const verdict = this.#head.complete(this.#inputEnd);
    if (verdict !== 0) return this.#judge(verdict);
    this.#state = IN_BODY;
    if (!request.hasBody) return OK;
    this.body.begin(request.contentLength);
    this.#framingPosition = this.#head.endPosition;
    this.#framingBytes = 0;
    this.#reached = AT_HEAD;
    return PAUSED;
  }

  onBody(address: number, length: number): number {
    if (this.request.contentLength === UNKNOWN_LENGTH) {
      const position = this.#positionBase + address;
      if (this.#isFramingTooLong(position)) return this.#judge(verdicts.FRAMING_TOO_LONG);
      const framing = position - this.#framingPosition;
      this.#framingBytes += Math.max(0, framing - FRAMING_BYTES_PER_CHUNK);
      this.#framingPosition = position + length;
    }
    this.body.append(this.#llhttp.memory, address, address + length);
    return OK;
  }

  onMessageComplete(): number {
    const { contentLength, keepAlive } = this.request;
    if (contentLength === UNKNOWN_LENGTH && keepAlive) this.#llhttp.keepOpen(this.#pointer);
    this.#reached = AT_REQUEST;
    return PAUSED;
  }

  #loadInput(): void {
    if (this.#isLoaded && this.#state !== BETWEEN)
      assert.fail('the input of an unfinished request');
    const { bytes, start, end } = this.rest;
    const { inputAddress, memory } = this.#llhttp;
    this.#isLoaded = true;
    this.#loadedStart = start;
    this.#llhttp.load(this, bytes, start, end);
    this.#inputEnd = inputAddress + end - start;
    this.#positionBase = this.#chunkPosition + this.#loadedStart - inputAddress;
    this.#head.setInput(memory, inputAddress, this.#positionBase);
  }

  /** Whether the input continues with a request whose head is known; then it has been read. */
  #isKnown(): boolean {
    const base = this.#inputEnd - this.rest.end;
    const end = this.#knownHeads.recognise(
      base + this.rest.start,
      this.#inputEnd,
      this.request,
      this.body,
    );
    if (end !== 0) this.rest.start = end - base;
    return end !== 0;
  }

  #pause(): Reached {
    if (this.#reached === AT_REQUEST) {
      this.#state = BETWEEN;
      if (this.#isFramingTooLong(this.#chunkPosition + this.rest.start))
        return this.#refuse(verdicts.FRAMING_TOO_LONG);
      this.#knownHeads.learn(this.#inputEnd - this.rest.end + this.rest.start, this.request);
    }
    return this.#reached;
  }

  /** The input is used up: its part of an unfinished request is counted and kept. */
  #suspend(): Reached {
    if (this.#state === IN_HEAD) {
      const verdict = this.#head.suspend(this.#inputEnd);
      if (verdict !== 0) return this.#refuse(verdict);
      this.#isLineSplit = this.#head.isInLine;
      if (this.#isLineSplit) this.#rawTarget.keepState(this.#pointer);
    } else if (this.#state === IN_BODY) {
      if (this.#isFramingTooLong(this.#positionBase + this.#inputEnd))
        return this.#refuse(verdicts.FRAMING_TOO_LONG);
      this.body.announce(this.#llhttp.expectedBytes(this.#pointer));
    }
    return NEEDS_MORE;
  }

  /** Whether llhttp is to read the input again, as the byte that it refused is a raw one. */
  #replacesRawBytes(): boolean {
    return this.#rawTarget.replace(this.#pointer, this.#inputEnd, this.#isLineSplit);
  }

  /** Whether the framing up to the position, extensions and trailers mostly, is over the limit. */
  #isFramingTooLong(position: number): boolean {
    if (this.request.contentLength !== UNKNOWN_LENGTH) return false;
    return this.#framingBytes + position - this.#framingPosition > this.#headerBytesMax;
  }

  #judge(verdict: verdicts.Verdict): number {
    if (verdict === 0) return OK;
    this.refusal = verdict;
    return REFUSED;
  }

  #refuse(verdict: verdicts.Verdict): Reached {
    this.refusal = verdict;
    return AT_REFUSAL;
  }

  /** Distinguishes a well-formed version that is not served from bytes that are not HTTP. */
  #verdictOf(error: number): verdicts.Verdict {
    if (error === DATA_AFTER_CLOSE) return verdicts.BEHIND_LAST;
    const isVersion = error === INVALID_VERSION;
    return isVersion && this.errorReason === VERSION_REASON
      ? verdicts.VERSION_UNKNOWN
      : verdicts.NOT_A_REQUEST;
  }
}

/** llhttp's reason for a version of two digits that it does not know. */
const VERSION_REASON = 'Invalid HTTP version';
