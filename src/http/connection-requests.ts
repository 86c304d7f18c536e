/**
 * The requests of a connection: the one being read, and those under way, in the order sent. A request is
 * under way from its beginning until its response has been written. A request that may not begin while
 * earlier ones are under way is parked: it has been read, and the input after it has not. Responses are
 * written in the order of the requests; one that is ready early is buffered in its slot.
 * Tested by under-way.spec.ts.
 */
import assert from 'node:assert';
import { HAS_EXPENSIVE_ASSERTIONS } from '../base/expensive-assertions.ts';
import type { RequestParser } from './parser.ts';
import type { ReadFailure } from './read-failures.ts';
import type { RequestSlot } from './request-slot.ts';
import type { SlotConnection } from './slot-connection.ts';
import type { SlotPool } from './slot-pool.ts';
import { SlotRing } from './slot-ring.ts';

/** Maximum number of requests of a connection under way. */
const REQUESTS_UNDER_WAY_MAX = 64;
/** Memory for the long heads of requests under way beyond which nothing more is read, in bytes. */
const HEAD_BYTES_UNDER_WAY_MAX = 16_384;

export class ConnectionRequests {
  readonly #slots: SlotPool;
  readonly #underWay = new SlotRing();
  /** Memory for the long heads of the requests under way, in bytes. */
  #headBytes = 0;
  /** Number of requests under way that have not been answered. */
  #openCount = 0;
  #isSendingBuffered = false;
  #isParked = false;
  /** The request that is being read, is running or is parked. */
  current: RequestSlot | undefined;
  /** Bytes of the buffered responses. */
  bufferedBytes = 0;

  constructor(slots: SlotPool) {
    this.#slots = slots;
  }

  /** Whether no request is under way. */
  get isIdle(): boolean {
    return this.#underWay.count === 0;
  }

  /** Number of requests received, the last perhaps in part, whose responses have not been written. */
  get unansweredCount(): number {
    const { current } = this;
    const isRead = current !== undefined && !(current.isBodyPending && current.isAnswered);
    return this.#underWay.count + (isRead ? 1 : 0);
  }

  /** Whether the last request under way waits for an item. */
  get awaitsItem(): boolean {
    return !this.#isParked && this.#underWay.last?.awaitsItem === true;
  }

  /** Memory for the heads of the requests that hold up the input, in bytes. */
  get heldBytes(): number {
    if (this.awaitsItem) return this.#underWay.last?.request.headBytes ?? 0;
    const parkedBytes = this.#isParked ? (this.current?.request.headBytes ?? 0) : 0;
    return this.#headBytes + parkedBytes;
  }

  /** Whether no request may be read, or the parked one may not begin, until another is answered. */
  get isBlocked(): boolean {
    return this.#underWay.count > 0 && this.#isBehindBlocked();
  }

  /** Whether the response to the request may be written now, as all earlier ones have been. */
  isNext(slot: RequestSlot): boolean {
    return this.#underWay.count === 0 || this.#underWay.first === slot;
  }

  /** Whether no later request exists. `isReading`: whether the current one has been received in part. */
  isNewest(slot: RequestSlot, isReading: boolean): boolean {
    if (slot === this.current) return true;
    const hasCurrent = this.current !== undefined && (isReading || this.#isParked);
    return !hasCurrent && slot === this.#underWay.last;
  }

  /** Acquires a slot for the request that the parser's input begins, and makes it the current one. */
  read(connection: SlotConnection<RequestSlot>, parser: RequestParser): RequestSlot {
    const slot = this.#slots.acquire();
    slot.begin(connection);
    parser.use(slot.request, slot.body);
    this.current = slot;
    return slot;
  }

  /** Runs the current request, which is complete, or parks it, unless it has been refused. */
  begin(): void {
    const slot = this.current as RequestSlot;
    if (!slot.complete()) this.#onRun(slot);
    else if (this.#mayBegin(slot)) this.#run(slot);
    else {
      this.#isParked = true;
      slot.retainBytes();
    }
  }

  /** Runs the parked request, if there is one; nothing blocks it any more. */
  unpark(): void {
    if (!this.#isParked) return;
    this.#isParked = false;
    this.#run(this.current as RequestSlot);
  }

  /** Refuses the current request while it is read; it is the connection's last. */
  refuse(failure: ReadFailure, parser: RequestParser): void {
    const { current } = this;
    parser.readMethod();
    current?.refuseBytes(failure, parser.refusal !== 0, () => parser.errorReason);
    if (current?.isBuffered) this.#onRun(current);
  }

  /** Removes a request whose response has been written. True: that was after its run; others may continue. */
  onAnswered(slot: RequestSlot): boolean {
    if (slot === this.current) return false;
    if (this.#underWay.first !== slot) assert.fail('responses are written in order');
    this.#underWay.shift();
    this.#openCount--;
    // A request that was the only one under way may have released a part of its head meanwhile.
    if (this.#underWay.count === 0) this.#headBytes = 0;
    else this.#headBytes -= slot.longHeadBytes;
    slot.free();
    return !this.#isSendingBuffered;
  }

  /** Counts a response that was buffered. True: that was after its run, so others may continue. */
  onBuffered(slot: RequestSlot): boolean {
    if (slot === this.current) return false;
    this.#openCount--;
    this.bufferedBytes += slot.bufferedBytes;
    return true;
  }

  /** Writes the buffered responses that are next; invites content that waited for them. */
  sendBuffered(): void {
    if (this.#isSendingBuffered) return;
    this.#isSendingBuffered = true;
    for (;;) {
      const { first } = this.#underWay;
      if (first?.isBuffered !== true) break;
      this.bufferedBytes -= first.bufferedBytes;
      this.#openCount++;
      first.sendBuffered();
    }
    this.#isSendingBuffered = false;
    if (HAS_EXPENSIVE_ASSERTIONS) this.invariants();
    if (this.#underWay.count === 0) this.current?.onFirst();
  }

  /** Asserts that the counters match the requests under way. O(requests). */
  invariants(): void {
    const underWay = this.#underWay.list();
    const buffered = underWay.filter(({ isBuffered }) => isBuffered);
    assert(this.#openCount === underWay.length - buffered.length, 'requests not answered');
    const headBytes = underWay.reduce((sum, { longHeadBytes }) => sum + longHeadBytes, 0);
    const isExclusive = this.#underWay.last?.handler.isExclusive === true;
    assert(isExclusive || this.#headBytes === headBytes, 'bytes of long heads');
    const bytes = buffered.reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0);
    assert(this.bufferedBytes === bytes, 'bytes of buffered responses');
    assert(this.current === undefined || !underWay.includes(this.current), 'one place');
  }

  /** Notifies the stream of the first request, if it has one and there is room for more of it. */
  offerRoom(): void {
    this.#underWay.first?.offerRoom();
  }

  /** Makes requests that wait for a condition respond now, as the client sends nothing more. */
  finishNow(): void {
    for (const slot of this.#underWay.list()) if (!slot.isBuffered) slot.finishNow();
  }

  /** Abandons all requests of a disconnected client; a slot is freed once its handler has responded. */
  abandon(): void {
    this.#openCount = 0;
    this.#headBytes = 0;
    this.bufferedBytes = 0;
    const underWay = this.#underWay.list();
    this.#underWay.clear();
    for (const slot of underWay) slot.abandon();
    this.current?.abandon();
    this.current = undefined;
  }

  /**
   * Frees the slot that was ready for the next request, unless its request is parked. `hadLongHead`:
   * whether the last head was in a long buffer, which must not stay referenced.
   */
  freeCurrent(hadLongHead: boolean): void {
    if (this.#isParked) return;
    if (hadLongHead) this.current?.request.releaseHead();
    this.current?.free();
    this.current = undefined;
  }

  #isBehindBlocked(): boolean {
    if (this.#isParked) return !this.#mayBegin(this.current as RequestSlot);
    const last = this.#underWay.last as RequestSlot;
    if (this.#underWay.count >= REQUESTS_UNDER_WAY_MAX || last.isFinal) return true;
    if (this.#headBytes > HEAD_BYTES_UNDER_WAY_MAX) return true;
    return last.handler.isExclusive && !last.isBuffered;
  }

  #mayBegin(slot: RequestSlot): boolean {
    return this.#openCount === 0 || !slot.handler.isExclusive;
  }

  #run(slot: RequestSlot): void {
    slot.run();
    this.#onRun(slot);
  }

  /** Reuses the slot of a request that has run or was refused, unless it is still to be answered. */
  #onRun(slot: RequestSlot): void {
    if (slot !== this.current) return;
    if (slot.isAnswered && !slot.isBuffered) slot.reset();
    else this.#addUnderWay(slot);
  }

  /** Adds the current request to those under way. */
  #addUnderWay(slot: RequestSlot): void {
    this.current = undefined;
    this.#underWay.push(slot);
    if (slot.isBuffered) this.bufferedBytes += slot.bufferedBytes;
    else this.#openCount++;
    slot.retainBytes();
    this.#headBytes += slot.longHeadBytes;
  }
}
