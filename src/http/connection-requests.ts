/**
 * The requests of a connection: the one being read, and those under way, in the order sent. A request is
 * under way from its beginning until its response has been written. A request that may not begin while
 * earlier ones are under way is parked: it has been read, and the input after it has not. Responses are
 * written in the order of the requests; one that is ready early is buffered.
 * Tested by under-way.spec.ts.
 */
import assert from 'node:assert';
import { HAS_EXPENSIVE_ASSERTIONS } from '../base/expensive-assertions.ts';
import type { Connection } from './connection.ts';
import type { RequestParser } from './parser.ts';
import type { ReadFailure } from './read-failures.ts';
import type { Request } from './request.ts';
import type { RequestPool } from './request-pool.ts';

/** Maximum number of requests of a connection under way. */
const REQUESTS_UNDER_WAY_MAX = 64;
/** Memory for the long heads of requests under way beyond which nothing more is read, in bytes. */
const HEAD_BYTES_UNDER_WAY_MAX = 16_384;

export class ConnectionRequests {
  readonly #pool: RequestPool;
  #underWay: Request[] = [];
  /** Memory for the long heads of the requests under way, in bytes. */
  #headBytes = 0;
  /** Number of requests under way that have not been answered. */
  #openCount = 0;
  #isSendingBuffered = false;
  #isParked = false;
  /** The request that is being read, is running or is parked. */
  current: Request | undefined;
  /** Bytes of the buffered responses. */
  bufferedBytes = 0;

  constructor(pool: RequestPool) {
    this.#pool = pool;
  }

  /** Whether no request is under way. */
  get isIdle(): boolean {
    return this.#underWay.length === 0;
  }

  /** Number of requests received, the last perhaps in part, whose responses have not been written. */
  get unansweredCount(): number {
    const { current } = this;
    const isRead = current !== undefined && !(current.isBodyPending && current.isAnswered);
    return this.#underWay.length + (isRead ? 1 : 0);
  }

  /** Whether the client is watched: the last request under way waits for an item or sends a stream. */
  get isWatched(): boolean {
    return !this.#isParked && this.#underWay.at(-1)?.isWatched === true;
  }

  /** Memory for the heads of the requests that hold up the input, in bytes. */
  get heldBytes(): number {
    if (this.isWatched) return this.#underWay.at(-1)?.head.headBytes ?? 0;
    const parkedBytes = this.#isParked ? (this.current?.head.headBytes ?? 0) : 0;
    return this.#headBytes + parkedBytes;
  }

  /** Whether no request may be read, or the parked one may not begin, until another is answered. */
  get isBlocked(): boolean {
    return this.#underWay.length > 0 && this.#isBehindBlocked();
  }

  /** Whether the response to the request may be written now, as all earlier ones have been. */
  isNext(request: Request): boolean {
    return this.#underWay.length === 0 || this.#underWay[0] === request;
  }

  /** Whether no later request exists. `isReading`: whether the current one has been received in part. */
  isNewest(request: Request, isReading: boolean): boolean {
    if (request === this.current) return true;
    const hasCurrent = this.current !== undefined && (isReading || this.#isParked);
    return !hasCurrent && request === this.#underWay.at(-1);
  }

  /** Acquires an object for the request that the parser's input begins, and makes it the current one. */
  read(connection: Connection, parser: RequestParser): Request {
    const request = this.#pool.acquire();
    request.begin(connection);
    parser.use(request.head, request.body);
    this.current = request;
    return request;
  }

  /** Runs the current request, which is complete, or parks it, unless it has been refused. */
  begin(): void {
    const request = this.current as Request;
    if (!request.complete()) this.#onRun(request);
    else if (this.#mayBegin(request)) this.#run(request);
    else {
      this.#isParked = true;
      request.retainBytes();
    }
  }

  /** Runs the parked request, if there is one; nothing blocks it any more. */
  unpark(): void {
    if (!this.#isParked) return;
    this.#isParked = false;
    this.#run(this.current as Request);
  }

  /** Refuses the current request while it is read; it is the connection's last. */
  refuse(failure: ReadFailure, parser: RequestParser): void {
    const { current } = this;
    parser.readMethod();
    current?.refuseBytes(failure, parser.refusal !== 0, () => parser.errorReason);
    if (current?.isBuffered) this.#onRun(current);
  }

  /** Removes a request whose response has been written. True: that was after its run; others may continue. */
  onAnswered(request: Request): boolean {
    if (request === this.current) return false;
    if (this.#underWay[0] !== request) assert.fail('responses are written in order');
    this.#underWay.shift();
    this.#openCount--;
    // A request that was the only one under way may have released a part of its head meanwhile.
    if (this.#underWay.length === 0) this.#headBytes = 0;
    else this.#headBytes -= request.longHeadBytes;
    request.free();
    return !this.#isSendingBuffered;
  }

  /** Counts a response that was buffered. True: that was after its run, so others may continue. */
  onBuffered(request: Request): boolean {
    if (request === this.current) return false;
    this.#openCount--;
    this.bufferedBytes += request.bufferedBytes;
    return true;
  }

  /** Writes the buffered responses that are next; invites content that waited for them. */
  sendBuffered(): void {
    if (this.#isSendingBuffered) return;
    this.#isSendingBuffered = true;
    for (;;) {
      const [first] = this.#underWay;
      if (first?.isBuffered !== true) break;
      this.bufferedBytes -= first.bufferedBytes;
      this.#openCount++;
      first.sendBuffered();
    }
    this.#isSendingBuffered = false;
    if (HAS_EXPENSIVE_ASSERTIONS) this.invariants();
    if (this.#underWay.length === 0) this.current?.onFirst();
  }

  /** Asserts that the counters match the requests under way. O(requests). */
  invariants(): void {
    const underWay = this.#underWay;
    const buffered = underWay.filter(({ isBuffered }) => isBuffered);
    assert(this.#openCount === underWay.length - buffered.length, 'requests not answered');
    const headBytes = underWay.reduce((sum, { longHeadBytes }) => sum + longHeadBytes, 0);
    const isExclusive = this.#underWay.at(-1)?.handler.isExclusive === true;
    assert(isExclusive || this.#headBytes === headBytes, 'bytes of long heads');
    const bytes = buffered.reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0);
    assert(this.bufferedBytes === bytes, 'bytes of buffered responses');
    assert(this.current === undefined || !underWay.includes(this.current), 'one place');
  }

  /** Notifies the stream of the first request, if it has one and there is room for more of it. */
  offerRoom(): void {
    this.#underWay[0]?.offerRoom();
  }

  /** Makes requests that wait for a condition respond now, as the client sends nothing more. */
  finishNow(): void {
    for (const request of [...this.#underWay]) if (!request.isBuffered) request.finishNow();
  }

  /** Abandons all requests of a disconnected client; an object is freed once its handler has responded. */
  abandon(): void {
    this.#openCount = 0;
    this.#headBytes = 0;
    this.bufferedBytes = 0;
    const underWay = this.#underWay;
    this.#underWay = [];
    for (const request of underWay) request.abandon();
    this.current?.abandon();
    this.current = undefined;
  }

  /**
   * Frees the object that was ready for the next request, unless its request is parked. `hadLongHead`:
   * whether the last head was in a long buffer, which must not stay referenced.
   */
  freeCurrent(hadLongHead: boolean): void {
    if (this.#isParked) return;
    if (hadLongHead) this.current?.releaseHead();
    this.current?.free();
    this.current = undefined;
  }

  #isBehindBlocked(): boolean {
    if (this.#isParked) return !this.#mayBegin(this.current as Request);
    const last = this.#underWay.at(-1) as Request;
    if (this.#underWay.length >= REQUESTS_UNDER_WAY_MAX || !last.head.keepAlive) return true;
    if (this.#headBytes > HEAD_BYTES_UNDER_WAY_MAX) return true;
    return last.handler.isExclusive && !last.isBuffered;
  }

  #mayBegin(request: Request): boolean {
    return this.#openCount === 0 || !request.handler.isExclusive;
  }

  #run(request: Request): void {
    request.run();
    this.#onRun(request);
  }

  /** Reuses the object of a request that has run or was refused, unless it is still to be answered. */
  #onRun(request: Request): void {
    if (request !== this.current) return;
    if (request.isAnswered && !request.isBuffered) request.reset();
    else this.#addUnderWay(request);
  }

  /** Adds the current request to those under way. */
  #addUnderWay(request: Request): void {
    this.current = undefined;
    this.#underWay.push(request);
    if (request.isBuffered) this.bufferedBytes += request.bufferedBytes;
    else this.#openCount++;
    request.retainBytes();
    this.#headBytes += request.longHeadBytes;
  }
}
