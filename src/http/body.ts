/**
 * The content of a request while it is received. Content received completely with its head is a span on
 * the chunk. Content of known length is copied into a buffer of that length, chunked content into a
 * buffer that doubles up to the limit. Unwanted content is only counted.
 *
 * A buffer's bytes are reserved in the budget for bytes in flight before it is allocated. A small chunked
 * one is exempt, as its content may still have been received with its head. All other content is under
 * way: if the budget is used up, it may be ended to make room for others.
 * Tested by held-bytes.spec.ts.
 */
import type { ViewedBytes } from '../base/copy-bytes.ts';
import { Span } from '../base/span.ts';
import type { BudgetUser, InFlightBudget } from './in-flight.ts';
import { RecentBytes } from './recent-bytes.ts';
import type { Request } from './request.ts';
import { UNKNOWN_LENGTH } from './request-head.ts';
import { type BytesRetainer, endRetention, NO_PLACE, type Places } from './retained-bytes.ts';

/** Initial size of the buffer of a chunked body, in bytes. */
const CHUNKED_BYTES_FIRST = 4096;
/**
 * Maximum amount of chunked content that can have been received with its head, in bytes: that of
 * one read.
 */
const CHUNKED_BYTES_FREE = 65536;

export class Body implements BudgetUser, BytesRetainer {
  readonly #usualBytesMax: number;
  /**
   * Maximum size of the content, in bytes; longer content is dropped. Set when the request is
   * admitted.
   */
  bytesMax = Number.MAX_SAFE_INTEGER;
  /** Whether the content is accepted even if the budget has no room for it. */
  #isUrgent = false;
  /** The content once it is complete. */
  readonly content = new Span();
  readonly #budget: InFlightBudget;
  #buffer: Buffer | undefined;
  place = NO_PLACE;
  longBytes: ViewedBytes | undefined;
  #length = 0;
  /** Bytes reserved in the budget. */
  #budgetBytes = 0;
  /** Whether an input ended before the content was complete. */
  isUnderWay = false;
  /** Time from which the content is under way, in ms. */
  sinceMs = 0;
  /** The bytes received in the last RECENT_MS; created for the first content under way. */
  #recent: RecentBytes | undefined;
  /** Notified when others need the room; undefined while the content is not registered in the budget. */
  #owner: Request | undefined;
  /** Bytes of content received. */
  received = 0;
  /** Bytes of content received or announced. */
  announced = 0;
  /** Whether further bytes are only counted. */
  isDropped = false;
  /** Whether more content was received or announced than permitted. */
  isTooLong = false;

  /** `bytesMax`: the usual limit, in bytes. */
  constructor(bytesMax: number, budget: InFlightBudget) {
    this.#usualBytesMax = bytesMax;
    this.#budget = budget;
  }

  /** Begins content of `length` bytes, or of UNKNOWN_LENGTH. */
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
   * Sets the usual limit, before the request is admitted. Content received completely with its head has
   * been stored whatever its length; the caller checks that.
   */
  limit(): void {
    this.bytesMax = this.#usualBytesMax;
  }

  /**
   * Permits `furtherBytes` more than the usual limit, and content beyond in-flight-bytes-max if no other is
   * under way (in-flight.ts). Called while the request is admitted.
   */
  permit(furtherBytes: number): void {
    this.bytesMax = this.#usualBytesMax + furtherBytes;
    this.#isUrgent = true;
  }

  /** Announces that at least `bytes` more will follow. */
  announce(bytes: number): void {
    this.announced = this.received + bytes;
    if (this.announced <= this.bytesMax) return;
    this.isTooLong = true;
    this.drop();
  }

  /** Begins to count all of the content in the budget, because an input ended before the content did. */
  enterBudget(nowMs: number, owner: Request): void {
    this.isUnderWay = true;
    if (this.isDropped) return;
    const buffered = this.#buffer?.length ?? CHUNKED_BYTES_FIRST;
    if (!this.#reserveBudget(this.#length === UNKNOWN_LENGTH ? buffered : this.#length)) return;
    this.sinceMs = nowMs;
    this.#recent ??= new RecentBytes();
    this.#recent.begin(0, nowMs);
    this.recordProgress(nowMs);
    this.#owner = owner;
    this.#budget.enterContent(this);
  }

  /** Records the progress; called for each input while the content is under way. */
  recordProgress(nowMs: number): void {
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
      this.content.setViewed(bytes, view, start, end);
      return;
    }
    const buffer = this.#ensureBuffer();
    if (buffer === undefined) return;
    bytes.copy(buffer, at, start, end);
    this.content.set(buffer, 0, this.received);
  }

  /** Marks the content as complete: it can no longer be ended to make room. */
  complete(): void {
    if (this.#owner === undefined) return;
    this.#owner = undefined;
    this.#budget.leave(this);
  }

  /** Copies content received with its head, for a request that outlives its turn. */
  retain(places: Places): void {
    const { content } = this;
    if (this.#buffer !== undefined || content.length === 0) return;
    places.begin(this, content.length);
    places.retain(content);
  }

  /** Frees the received bytes and drops all further ones. */
  drop(): void {
    this.isDropped = true;
    this.end();
  }

  /** Frees the content at the end of its request. */
  end(): void {
    this.#releaseBuffer();
    endRetention(this);
    this.content.clear();
    if (this.#budgetBytes > 0) {
      this.#budget.release(this.#budgetBytes);
      if (this.#isUrgent) this.#budget.endUrgent(this);
    }
    this.#budgetBytes = 0;
    this.complete();
  }

  /** Frees the content's place when its request object is discarded. */
  release(places: Places): void {
    places.release(this);
  }

  /** Returns a buffer with room for the received bytes; undefined if the budget has no room. */
  #ensureBuffer(): Buffer | undefined {
    const buffer = this.#buffer;
    if (buffer !== undefined && buffer.length >= this.received) return buffer;
    const isChunked = this.#length === UNKNOWN_LENGTH;
    const doubled = Math.max(CHUNKED_BYTES_FIRST, (buffer?.length ?? 0) * 2, this.received);
    const bytes = isChunked ? Math.min(doubled, this.bytesMax) : this.#length;
    const isFree = isChunked && !this.isUnderWay && this.received <= CHUNKED_BYTES_FREE;
    if (!isFree && !this.#reserveBudget(bytes)) return undefined;
    const grown = this.#budget.buffers.acquire(bytes);
    buffer?.copy(grown);
    this.#releaseBuffer();
    this.#buffer = grown;
    return grown;
  }

  #releaseBuffer(): void {
    if (this.#buffer !== undefined) this.#budget.buffers.release(this.#buffer);
    this.#buffer = undefined;
  }

  /** Raises the reservation to `bytes` in total. False: the budget has no room; the content is dropped. */
  #reserveBudget(bytes: number): boolean {
    const further = bytes - this.#budgetBytes;
    if (further <= 0) return true;
    if (
      this.#budget.reserve(further) ||
      (this.#isUrgent && this.#budget.reserveUrgent(further, this))
    ) {
      this.#budgetBytes = bytes;
      return true;
    }
    this.drop();
    return false;
  }
}
