/**
 * Parses the requests of one connection: drives an llhttp parser, collects heads and bodies, and limits
 * the framing of chunked bodies. It uses neither the socket nor responses: `next` returns the point
 * reached.
 *
 * Heads that repeat an earlier one are recognised (repeated-heads.ts); llhttp parses the others. It is paused
 * at the end of each head with content and of each message. So requests run outside of its callbacks, and
 * the position in the input is exact.
 */
import assert from 'node:assert';
import { Span } from '../base/span.ts';
import type { Body } from './body.ts';
import { HeadReader } from './head-reader.ts';
import type { HttpLimits } from './limits.ts';
import { INPUT_BYTES_MAX, type Llhttp, llhttp } from './llhttp.ts';
import { CONNECT } from './methods.ts';
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
import * as failures from './read-failures.ts';
import { RepeatedHeads } from './repeated-heads.ts';
import { type RequestHead, UNKNOWN_LENGTH } from './request-head.ts';
import type { ServedHosts } from './served-hosts.ts';

/** The chunk is used up; parsing continues with the next one. */
export const NEEDS_MORE = 0;
/** A head with content is complete. The caller decides on it, then continues. */
export const AT_HEAD = 1;
/** A request is complete. */
export const AT_REQUEST = 2;
/** The bytes are not a request that can be served, for the reason in `refusal`. Nothing more is parsed. */
export const AT_REFUSAL = 3;

type Reached = 0 | 1 | 2 | 3;

const BETWEEN = 0;
const IN_HEAD = 1;
const IN_BODY = 2;

/** Framing of each chunk that is not counted, in bytes: more than its hexadecimal size and line ends. */
const FRAMING_BYTES_PER_CHUNK = 24;

export class RequestParser implements ParserListener {
  /** The objects that the present request is parsed into. */
  head!: RequestHead;
  body!: Body;
  /** The reason, after AT_REFUSAL. */
  refusal: failures.ReadFailure = 0;

  /** Position of the present head, unique among the connection's heads that outlive their input. */
  headPosition = 0;

  /** The bytes of the chunk that have not been parsed. */
  readonly rest = new Span();

  readonly #llhttp: Llhttp = llhttp();
  readonly #headerBytesMax: number;
  readonly #head: HeadReader;
  readonly #repeatedHeads: RepeatedHeads;
  readonly #rawTarget: RawTarget;
  #pointer: number;
  #state = BETWEEN;
  #reached: Reached = NEEDS_MORE;
  /** Whether the chunk is in the parser's input area, and from which offset. */
  #isLoaded = false;
  #loadedStart = 0;
  /** Whether the input continues a request line that began in the previous input. */
  #isLineSplit = false;
  /** The input's end in the parser's memory, and the difference between a position and an address. */
  #inputEnd = 0;
  #positionBase = 0;
  /** Bytes of the connection before the chunk. */
  #chunkPosition = 0;
  /** Position where the present framing of a chunked body began, and the framing counted before it. */
  #framingPosition = 0;
  #framingBytes = 0;
  /** llhttp's flags when the present field began. */
  #flags = 0;

  /** `servedHosts`: the served hosts; undefined for all. */
  constructor(limits: HttpLimits, servedHosts?: ServedHosts) {
    this.#headerBytesMax = limits.headerBytesMax;
    this.#head = new HeadReader(limits, servedHosts);
    this.#repeatedHeads = new RepeatedHeads(this.#llhttp, limits.targetBytesMax);
    this.#rawTarget = new RawTarget(this.#llhttp);
    this.#pointer = this.#llhttp.allocate();
  }

  /** Sets the objects for the next request. Only called between requests. */
  use(head: RequestHead, body: Body): void {
    if (this.head === head) return;
    if (this.#state !== BETWEEN) assert.fail('the request of bytes that have been read in part');
    this.head = head;
    this.body = body;
    this.#head.head = head;
  }

  /**
   * Sets the next input: the first `length` bytes of the chunk, at most INPUT_BYTES_MAX. It begins with the
   * unread bytes of the previous chunk, and must remain unchanged until `next` returns NEEDS_MORE.
   */
  load(chunk: Buffer, length: number): void {
    if (length > INPUT_BYTES_MAX) assert.fail(`a chunk of ${length} bytes`);
    this.#chunkPosition += this.rest.start;
    this.rest.set(chunk, 0, length);
    this.#isLoaded = false;
  }

  /** Parses up to the next decision. */
  next(): Reached {
    if (!this.hasRest) return this.#suspend();
    if (!this.#isLoaded || this.#llhttp.inputOwner !== this) this.#loadInput();
    if (this.#state === BETWEEN && this.#readRepeated()) return AT_REQUEST;
    return this.#parse();
  }

  /** Parses up to the next decision with llhttp. */
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
      } else return this.#refuse(this.refusal || this.#failureOf(result));
    }
    return this.#suspend();
  }

  /** Whether the chunk has unparsed bytes. */
  get hasRest(): boolean {
    return this.rest.start < this.rest.end;
  }

  /** Whether a request has begun and is not complete. */
  get isInRequest(): boolean {
    return this.#state !== BETWEEN;
  }

  /** Memory for a partly read request without its content, in bytes. */
  get heldBytes(): number {
    return this.#state === BETWEEN ? 0 : this.#head.heldBytes;
  }

  /** Bytes of the connection that have been parsed. */
  get position(): number {
    return this.#chunkPosition + this.rest.start;
  }

  /** Releases the head of the last request. Returns whether it had a long buffer. */
  releaseHead(): boolean {
    return this.#head.releaseCarry();
  }

  /** Sets the method of a request whose head is incomplete. */
  readMethod(): void {
    if (this.#state === IN_HEAD) this.head.method = this.#llhttp.method(this.#pointer);
  }

  /** llhttp's reason for refusing bytes; it quotes nothing that was sent. */
  get errorReason(): string {
    return this.#llhttp.errorReason(this.#pointer);
  }

  /** Frees the parser. No method may be called afterwards. */
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
    return this.#resultOf(this.#head.onTarget(address, length));
  }

  onFieldName(address: number, length: number): number {
    if (this.#state === IN_BODY) return OK;
    if (this.#head.isAtProxyConnection) this.#llhttp.setFlags(this.#pointer, this.#flags);
    this.#flags = this.#llhttp.flags(this.#pointer);
    return this.#resultOf(this.#head.onName(address, length));
  }

  onFieldValue(address: number, length: number): number {
    if (this.#state !== IN_BODY) this.#head.onValue(address, length);
    return OK;
  }

  onHeadersComplete(keepAlive: boolean): number {
    const head = this.head;
    head.version = this.#llhttp.version(this.#pointer);
    head.method = this.#llhttp.method(this.#pointer);
    const keepsOpen = this.#head.isAtProxyConnection
      ? this.#llhttp.setFlags(this.#pointer, this.#flags)
      : keepAlive;
    head.keepAlive = keepsOpen && head.method !== CONNECT;
    const failure = this.#head.complete(this.#inputEnd);
    if (failure !== 0) return this.#resultOf(failure);
    this.#state = IN_BODY;
    if (!head.hasBody) return OK;
    this.body.begin(head.contentLength);
    this.#framingPosition = this.#head.endPosition;
    this.#framingBytes = 0;
    this.#reached = AT_HEAD;
    return PAUSED;
  }

  onBody(address: number, length: number): number {
    if (this.head.contentLength === UNKNOWN_LENGTH) {
      const position = this.#positionBase + address;
      if (this.#isFramingTooLong(position)) return this.#resultOf(failures.FRAMING_TOO_LONG);
      const framing = position - this.#framingPosition;
      this.#framingBytes += Math.max(0, framing - FRAMING_BYTES_PER_CHUNK);
      this.#framingPosition = position + length;
    }
    this.body.append(this.#llhttp.memory, address, address + length);
    return OK;
  }

  onMessageComplete(): number {
    const { contentLength, keepAlive } = this.head;
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

  /** Reads the next request if its head repeats an earlier one. Returns whether it does. */
  #readRepeated(): boolean {
    const base = this.#inputEnd - this.rest.end;
    const end = this.#repeatedHeads.recognise(
      base + this.rest.start,
      this.#inputEnd,
      this.head,
      this.body,
    );
    if (end !== 0) this.rest.start = end - base;
    return end !== 0;
  }

  #pause(): Reached {
    if (this.#reached === AT_REQUEST) {
      this.#state = BETWEEN;
      if (this.#isFramingTooLong(this.#chunkPosition + this.rest.start))
        return this.#refuse(failures.FRAMING_TOO_LONG);
      this.#repeatedHeads.learn(this.#inputEnd - this.rest.end + this.rest.start, this.head);
    }
    return this.#reached;
  }

  /** Ends the input: counts and stores its part of an incomplete request. */
  #suspend(): Reached {
    if (this.#state === IN_HEAD) {
      const failure = this.#head.suspend(this.#inputEnd);
      if (failure !== 0) return this.#refuse(failure);
      this.#isLineSplit = this.#head.isInLine;
      if (this.#isLineSplit) this.#rawTarget.saveState(this.#pointer);
    } else if (this.#state === IN_BODY) {
      if (this.#isFramingTooLong(this.#positionBase + this.#inputEnd))
        return this.#refuse(failures.FRAMING_TOO_LONG);
      this.body.announce(this.#llhttp.expectedBytes(this.#pointer));
    }
    return NEEDS_MORE;
  }

  /** Returns whether llhttp has to parse the input again, because the byte it refused is a raw byte. */
  #replacesRawBytes(): boolean {
    return this.#rawTarget.replace(this.#pointer, this.#inputEnd, this.#isLineSplit);
  }

  /** Whether the framing up to the position, mainly extensions and trailers, exceeds the limit. */
  #isFramingTooLong(position: number): boolean {
    if (this.head.contentLength !== UNKNOWN_LENGTH) return false;
    return this.#framingBytes + position - this.#framingPosition > this.#headerBytesMax;
  }

  #resultOf(failure: failures.ReadFailure): number {
    if (failure === 0) return OK;
    this.refusal = failure;
    return REFUSED;
  }

  #refuse(failure: failures.ReadFailure): Reached {
    this.refusal = failure;
    return AT_REFUSAL;
  }

  /** Returns the reason for llhttp's error; distinguishes an unsupported version from invalid bytes. */
  #failureOf(error: number): failures.ReadFailure {
    if (error === DATA_AFTER_CLOSE) return failures.AFTER_LAST;
    const isVersion = error === INVALID_VERSION;
    return isVersion && this.errorReason === VERSION_REASON
      ? failures.VERSION_UNKNOWN
      : failures.NOT_A_REQUEST;
  }
}

/** llhttp's reason for a well-formed version that it does not support. */
const VERSION_REASON = 'Invalid HTTP version';
