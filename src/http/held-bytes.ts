/**
 * The memory that a connection holds for its client besides bodies and responses: the received part
 * of a head, the path of a waiting poll, and unread input. The connection reports it after each
 * piece of work. Bytes beyond HELD_BYTES_FREE are reserved in the budget for bytes in flight
 * (in-flight.ts), so a connection without long heads or pipelines never uses the budget.
 *
 * A head with a reservation may be ended to make room for others. Unread input that waits for anything
 * but a poll is only counted, as the connection reads no further.
 */
import type { BudgetUser, InFlightBudget } from './in-flight.ts';
import { RecentBytes } from './recent-bytes.ts';

/** Memory that a connection may hold without a reservation, in bytes. */
export const HELD_BYTES_FREE = 4096;
/** Stands for the number of a head when there is none. */
const NO_HEAD = Number.NEGATIVE_INFINITY;

export class HeldBytes implements BudgetUser {
  readonly #budget: InFlightBudget;
  readonly #onCrowdedOut: () => void;
  /** Bytes reserved in the budget or, if `#isUnread`, only counted by it. */
  #bytes = 0;
  #isUnread = false;
  /** The number of the head that may be ended to make room. */
  #head = NO_HEAD;
  /** Time at which the head's reservation began, in ms. */
  sinceMs = 0;
  readonly #recent = new RecentBytes();

  /** `onCrowdedOut` is called when the head has to make room for others. */
  constructor(budget: InFlightBudget, onCrowdedOut: () => void) {
    this.#budget = budget;
    this.#onCrowdedOut = onCrowdedOut;
  }

  /** Whether nothing is reserved or counted. */
  get isFree(): boolean {
    return this.#bytes === 0;
  }

  /**
   * Sets the bytes held of a request that is being received. `head`: a number unique to this head within
   * the connection. `received`: bytes received on the connection so far. Returns false if the bytes do not
   * fit; then nothing is reserved any more.
   */
  holdHead(bytes: number, head: number, received: number, nowMs: number): boolean {
    if (!this.#reserve(bytes, false)) return false;
    if (this.#bytes === 0 || head !== this.#head) this.#leave();
    if (this.#bytes === 0) return true;
    if (this.#head === NO_HEAD) {
      this.#head = head;
      this.sinceMs = nowMs;
      this.#recent.begin(received - bytes, nowMs);
      this.#budget.enterHead(this);
    }
    this.#recent.reach(received, nowMs);
    return true;
  }

  /** Sets the bytes held of a waiting poll and the input after it. Returns false if they do not fit. */
  holdPoll(bytes: number): boolean {
    this.#leave();
    return this.#reserve(bytes, false);
  }

  /** Sets the bytes held of unread input, while the connection does not read. */
  holdUnread(bytes: number): void {
    this.#leave();
    this.#reserve(bytes, true);
  }

  recentBytes(nowMs: number): number {
    return this.#recent.sum(nowMs);
  }

  makeRoom(): void {
    this.#onCrowdedOut();
  }

  /** Replaces the reservation by one for `bytes`, less the free ones. Returns false if they do not fit. */
  #reserve(bytes: number, isUnread: boolean): boolean {
    const beyond = Math.max(0, bytes - HELD_BYTES_FREE);
    if (beyond === this.#bytes && isUnread === this.#isUnread) return true;
    const budget = this.#budget;
    if (this.#isUnread) budget.unreadBytes -= this.#bytes;
    else budget.releaseHeld(this.#bytes);
    this.#isUnread = isUnread;
    this.#bytes = beyond;
    if (isUnread) budget.unreadBytes += beyond;
    else if (!budget.reserveHeld(beyond)) {
      this.#bytes = 0;
      this.#leave();
      return false;
    }
    return true;
  }

  #leave(): void {
    if (this.#head === NO_HEAD) return;
    this.#head = NO_HEAD;
    this.#budget.leave(this);
  }
}
