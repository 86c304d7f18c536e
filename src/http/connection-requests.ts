/**
 * The requests of a connection: the one that is being read, and those under way, that is, begun and not
 * written yet, in the order sent. A request that may not begin beside those before it is parked: it has
 * been read, and the bytes behind it have not. Responses are written in the order sent; one that is
 * made earlier is kept in its slot.
 */
import assert from 'node:assert';
import { HAS_DEAR_CHECKS } from '../base/dear-checks.ts';
import { PLACE_BYTES } from './kept-bytes.ts';
import type { RequestParser } from './parser.ts';
import type { RequestSlot } from './request-slot.ts';
import type { SlotConnection } from './slot-connection.ts';
import type { SlotPool } from './slot-pool.ts';
import { SlotRing } from './slot-ring.ts';
import type { Verdict } from './verdicts.ts';

/** The most under way of one connection. */
const REQUESTS_UNDER_WAY_MAX = 64;
/** Nothing more is read while the long heads of those under way take more memory than this, in bytes. */
const HEAD_BYTES_UNDER_WAY_MAX = 16_384;

export class ConnectionRequests {
  readonly #slots: SlotPool;
  readonly #underWay = new SlotRing();
  /** Bytes of memory for the long heads of those under way. */
  #headBytes = 0;
  /** Count of those that have not been answered. */
  #openCount = 0;
  #isSendingKept = false;
  #isParked = false;
  /** The request that is being read or run, or is parked. */
  current: RequestSlot | undefined;
  /** Bytes of the responses that are kept. */
  keptBytes = 0;

  constructor(slots: SlotPool) {
    this.#slots = slots;
  }

  /** Whether none is under way. */
  get isIdle(): boolean {
    return this.#underWay.count === 0;
  }

  /** Requests that have come, the last one perhaps in part, and whose responses have not been written. */
  get unansweredCount(): number {
    const { current } = this;
    const isRead = current !== undefined && !(current.isBodyPending && current.isAnswered);
    return this.#underWay.count + (isRead ? 1 : 0);
  }

  /** Whether the last one under way waits for an item. */
  get awaitsItem(): boolean {
    return !this.#isParked && this.#underWay.last?.awaitsItem === true;
  }

  /** Bytes of memory for the heads of requests that others wait behind. */
  get heldBytes(): number {
    if (this.awaitsItem) return this.#underWay.last?.request.headBytes ?? 0;
    const parkedBytes = this.#isParked ? (this.current?.request.headBytes ?? 0) : 0;
    return this.#headBytes + parkedBytes;
  }

  /** Whether nothing more may be read, or the request read may not begin, until one is answered. */
  get isBlocked(): boolean {
    return this.#underWay.count > 0 && this.#isBehindBlocked();
  }

  /** Whether the response of the request may be written now: all before it have been. */
  isNext(slot: RequestSlot): boolean {
    return this.#underWay.count === 0 || this.#underWay.first === slot;
  }

  /** Whether no request is behind that one; `isReading`: a part of the present one has come. */
  isNewest(slot: RequestSlot, isReading: boolean): boolean {
    if (slot === this.current) return true;
    const hasCurrent = this.current !== undefined && (isReading || this.#isParked);
    return !hasCurrent && slot === this.#underWay.last;
  }

  /** The request that the parser's input continues or begins. */
  read(connection: SlotConnection<RequestSlot>, parser: RequestParser): RequestSlot {
    const slot = this.#slots.take();
    slot.begin(connection);
    parser.use(slot.request, slot.body);
    this.current = slot;
    return slot;
  }

  /** The present request has come whole: it begins, unless it has been refused, or is parked. */
  begin(): void {
    const slot = this.current as RequestSlot;
    if (!slot.complete()) this.#onRun(slot);
    else if (this.#mayBegin(slot)) this.#run(slot);
    else {
      this.#isParked = true;
      slot.own();
    }
  }

  /** Nothing is blocked any more: the parked request begins. */
  unpark(): void {
    if (!this.#isParked) return;
    this.#isParked = false;
    this.#run(this.current as RequestSlot);
  }

  /** The present request is refused while it is read; it is the last one. */
  refuse(verdict: Verdict, parser: RequestParser): void {
    const { current } = this;
    parser.readMethod();
    current?.refuseBytes(verdict, parser.refusal !== 0, () => parser.errorReason);
    if (current?.isKept) this.#onRun(current);
  }

  /** A response has been written. True: later than its run, so others may go on. */
  onAnswered(slot: RequestSlot): boolean {
    if (slot === this.current) return false;
    if (this.#underWay.first !== slot) assert.fail('responses are written in order');
    this.#underWay.shift();
    this.#openCount--;
    // One alone under way may have left a part of its head meanwhile.
    if (this.#underWay.count === 0) this.#headBytes = 0;
    else this.#headBytes -= longHeadBytes(slot);
    slot.free();
    return !this.#isSendingKept;
  }

  /** A response is kept. True: later than its run, so others may go on. */
  onKept(slot: RequestSlot): boolean {
    if (slot === this.current) return false;
    this.#openCount--;
    this.keptBytes += slot.keptBytes;
    return true;
  }

  /** Writes the kept responses whose place has come; asks for content that waits for that. */
  sendKept(): void {
    if (this.#isSendingKept) return;
    this.#isSendingKept = true;
    for (;;) {
      const { first } = this.#underWay;
      if (first?.isKept !== true) break;
      this.keptBytes -= first.keptBytes;
      this.#openCount++;
      first.sendKept();
    }
    this.#isSendingKept = false;
    if (HAS_DEAR_CHECKS) this.invariants();
    if (this.#underWay.count === 0) this.current?.onTurn();
  }

  /** Asserts that the counts are those of the requests under way. O(requests). */
  invariants(): void {
    const underWay = this.#underWay.list();
    const kept = underWay.filter(({ isKept }) => isKept);
    assert(this.#openCount === underWay.length - kept.length, 'requests not answered');
    const headBytes = underWay.reduce((sum, slot) => sum + longHeadBytes(slot), 0);
    const isAlone = this.#underWay.last?.handler.isAlone === true;
    assert(isAlone || this.#headBytes === headBytes, 'bytes of long heads');
    const bytes = kept.reduce((sum, { keptBytes }) => sum + keptBytes, 0);
    assert(this.keptBytes === bytes, 'bytes of kept responses');
    assert(this.current === undefined || !underWay.includes(this.current), 'one place');
  }

  /** Notifies a stream where there is room for more of it. */
  offerRoom(): void {
    this.#underWay.first?.offerRoom();
  }

  /** The client sends no more: a request that waits for a condition is answered now. */
  hurry(): void {
    for (const slot of this.#underWay.list()) if (!slot.isKept) slot.hurry();
  }

  /** The client has gone: each request leaves, and its slot is free once the engine has answered. */
  abandon(): void {
    this.#openCount = 0;
    this.#headBytes = 0;
    this.keptBytes = 0;
    const underWay = this.#underWay.list();
    this.#underWay.clear();
    for (const slot of underWay) slot.abandon();
    this.current?.abandon();
    this.current = undefined;
  }

  /**
   * No request is being read: the slot that was ready for one is free, unless its request is parked.
   * `hadLongHead`: the last head was in a buffer that is not to stay in memory.
   */
  leaveCurrent(hadLongHead: boolean): void {
    if (this.#isParked) return;
    if (hadLongHead) this.current?.request.forget();
    this.current?.free();
    this.current = undefined;
  }

  #isBehindBlocked(): boolean {
    if (this.#isParked) return !this.#mayBegin(this.current as RequestSlot);
    const last = this.#underWay.last as RequestSlot;
    if (this.#underWay.count >= REQUESTS_UNDER_WAY_MAX || last.isFinal) return true;
    if (this.#headBytes > HEAD_BYTES_UNDER_WAY_MAX) return true;
    return last.handler.isAlone && !last.isKept;
  }

  #mayBegin(slot: RequestSlot): boolean {
    return this.#openCount === 0 || !slot.handler.isAlone;
  }

  #run(slot: RequestSlot): void {
    slot.run();
    this.#onRun(slot);
  }

  /** The request has run, or was refused. If it was answered, the next one is read into its slot. */
  #onRun(slot: RequestSlot): void {
    if (slot !== this.current) return;
    if (slot.isAnswered && !slot.isKept) slot.renew();
    else this.#stay(slot);
  }

  /** The request is under way. */
  #stay(slot: RequestSlot): void {
    this.current = undefined;
    this.#underWay.push(slot);
    if (slot.isKept) this.keptBytes += slot.keptBytes;
    else this.#openCount++;
    slot.own();
    this.#headBytes += longHeadBytes(slot);
  }
}

/** Bytes of the head where it has a buffer of its own. */
function longHeadBytes({ request }: RequestSlot): number {
  const { headBytes } = request;
  return headBytes > PLACE_BYTES ? headBytes : 0;
}
