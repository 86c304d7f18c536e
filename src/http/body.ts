/**
 * The content of a request while it arrives. Content that came whole with its head is a span on the
 * chunk; content of known length goes into a buffer of that length; chunked content into a buffer that
 * doubles up to the limit. Unwanted content is only counted.
 *
 * Buffers are taken out of the budget for bytes in flight before they are made. A small chunked one is
 * not, as it may still have come whole with its head. Content that did not is under way: where the
 * budget is used up it may be ended to make room for others.
 */
import type { ViewedBytes } from '../base/short-copies.ts';
import type { Span } from '../base/span.ts';
import type { BudgetUser, InFlightBudget } from './in-flight.ts';
import { type BytesKeeper, endKept, NO_PLACE, type Places } from './kept-bytes.ts';
import { RecentBytes } from './recent-bytes.ts';
import { UNKNOWN_LENGTH } from './request.ts';

/** First size of the buffer of a chunked body, in bytes. */
const CHUNKED_BYTES_FIRST = 4096;
/** Chunked content beyond this did not come with its head, in bytes: it is more than one read. */
const CHUNKED_BYTES_FREE = 65536;

/** The request of the content. */
export interface BodyOwner {
  /** The content under way has to make room: its request is to be ended. */
  onCrowdedOut(): void;
}

export class Body implements BudgetUser, BytesKeeper {
  readonly #usualBytesMax: number;
  /** Most bytes of the content; longer content is not kept. Not known before the request is admitted. */
  bytesMax = Number.MAX_SAFE_INTEGER;
  /** Whether it may come though the budget has no room for it. */
  #isUrgent = false;
  readonly #span: Span;
  readonly #budget: InFlightBudget;
  #buffer: Buffer | undefined;
  place = NO_PLACE;
  longBytes: ViewedBytes | undefined;
  #length = 0;
  /** Bytes taken out of the budget. */
  #budgetBytes = 0;
  /** Whether the input ended before the content did. */
  isUnderWay = false;
  /** When it began to be under way, in milliseconds. */
  sinceMs = 0;
  /** The bytes of late; made for the first content under way. */
  #recent: RecentBytes | undefined;
  /** Notified when others need the room; undefined while the budget does not know the content. */
  #owner: BodyOwner | undefined;
  /** Bytes of content that have come. */
  received = 0;
  /** Bytes of content that have come or are certain to come. */
  announced = 0;
  /** Whether further bytes are only counted. */
  isDropped = false;
  /** Whether more content came, or is announced, than permitted. */
  isTooLong = false;

  /** `span` names the content once it is complete; usually more than `bytesMax` is not kept. */
  constructor(span: Span, bytesMax: number, budget: InFlightBudget) {
    this.#span = span;
    this.#usualBytesMax = bytesMax;
    this.#budget = budget;
  }

  /** Content of `length` bytes is expected, or of UNKNOWN_LENGTH. */
  begin(length: number): void {
    this.#length = length;
    this.received = 0;
    this.announced = 0;
    this.isUnderWay = false;
    this.isDropped = false;
    this.isTooLong = false;
    this.bytesMax = Number.MAX_SAFE_INTEGER;
    this.#isUrgent = false;
  }

  /**
   * The request is about to be admitted. Content that came whole with its head has been kept, whatever its
   * length; the caller checks that.
   */
  limit(): void {
    this.bytesMax = this.#usualBytesMax;
  }

  /** The content may be longer than usual, and is urgent (in-flight.ts). */
  permit(furtherBytes: number): void {
    this.bytesMax = this.#usualBytesMax + furtherBytes;
    this.#isUrgent = true;
  }

  /** At least so many more bytes are to come. */
  announce(bytes: number): void {
    this.announced = this.received + bytes;
    if (this.announced <= this.bytesMax) return;
    this.isTooLong = true;
    this.drop();
  }

  /** The input has ended before the content: from now on all of it is in the budget. */
  stay(nowMs: number, owner: BodyOwner): void {
    this.isUnderWay = true;
    if (this.isDropped) return;
    const buffered = this.#buffer?.length ?? CHUNKED_BYTES_FIRST;
    if (!this.#takeBudget(this.#length === UNKNOWN_LENGTH ? buffered : this.#length)) return;
    this.sinceMs = nowMs;
    this.#recent ??= new RecentBytes();
    this.#recent.begin(0, nowMs);
    this.note(nowMs);
    this.#owner = owner;
    this.#budget.enterContent(this);
  }

  /** Notes the progress so far; called for each input of content under way. */
  note(nowMs: number): void {
    this.#recent?.reach(this.received, nowMs);
  }

  recentBytes(nowMs: number): number {
    return this.#recent?.sum(nowMs) ?? 0;
  }

  makeRoom(): void {
    this.#owner?.onCrowdedOut();
  }

  append(bytes: Buffer, start: number, end: number, view?: DataView): void {
    const at = this.received;
    this.received += end - start;
    this.announce(0);
    if (this.isDropped) return;
    if (at === 0 && end - start === this.#length) {
      this.#span.setViewed(bytes, view, start, end);
      return;
    }
    const buffer = this.#room();
    if (buffer === undefined) return;
    bytes.copy(buffer, at, start, end);
    this.#span.set(buffer, 0, this.received);
  }

  /** All of it has come: the needs of others can no longer end it. */
  complete(): void {
    this.#owner = undefined;
    this.#budget.leave(this);
  }

  /** The request outlives its turn: content that came whole with its head is copied. */
  keep(places: Places): void {
    const span = this.#span;
    if (this.#buffer !== undefined || span.length === 0) return;
    places.begin(this, span.length);
    places.keep(span);
  }

  /** Frees the bytes received; further ones are dropped. */
  drop(): void {
    this.isDropped = true;
    this.end();
  }

  /** The request is over: frees its content. */
  end(): void {
    this.#releaseBuffer();
    endKept(this);
    this.#span.clear();
    if (this.#budgetBytes > 0) {
      this.#budget.give(this.#budgetBytes);
      if (this.#isUrgent) this.#budget.endUrgent(this);
    }
    this.#budgetBytes = 0;
    if (this.#owner !== undefined) this.complete();
  }

  /** Its slot is not used any more. */
  release(places: Places): void {
    places.release(this);
  }

  /** A buffer with room for the bytes received; undefined where the budget has none. */
  #room(): Buffer | undefined {
    const buffer = this.#buffer;
    if (buffer !== undefined && buffer.length >= this.received) return buffer;
    const isChunked = this.#length === UNKNOWN_LENGTH;
    const doubled = Math.max(CHUNKED_BYTES_FIRST, (buffer?.length ?? 0) * 2, this.received);
    const bytes = isChunked ? Math.min(doubled, this.bytesMax) : this.#length;
    const isFree = isChunked && !this.isUnderWay && this.received <= CHUNKED_BYTES_FREE;
    if (!isFree && !this.#takeBudget(bytes)) return undefined;
    const grown = this.#budget.buffers.take(bytes);
    buffer?.copy(grown);
    this.#releaseBuffer();
    this.#buffer = grown;
    return grown;
  }

  #releaseBuffer(): void {
    if (this.#buffer !== undefined) this.#budget.buffers.give(this.#buffer);
    this.#buffer = undefined;
  }

  /** Takes `bytes` in all out of the budget. False: there are not so many, the content is dropped. */
  #takeBudget(bytes: number): boolean {
    const further = bytes - this.#budgetBytes;
    if (further <= 0) return true;
    if (this.#budget.take(further) || (this.#isUrgent && this.#budget.takeUrgent(further, this))) {
      this.#budgetBytes = bytes;
      return true;
    }
    this.drop();
    return false;
  }
}
