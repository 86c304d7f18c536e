/**
 * The memory that a connection holds for its client, beside contents and answers: the part of a head that
 * has been received, the path of a poll that waits, and bytes that are not read yet. The connection reports
 * it when it has done a piece of work. What exceeds HELD_BYTES_FREE is taken out of the budget for bytes in
 * flight (in-flight.ts), so a connection without long heads or pipelines never touches that.
 *
 * A head that takes some of the budget may be ended to make room for others. Bytes that wait for something
 * else than a poll are only counted, as the connection reads no further.
 */
import type { BudgetUser, InFlightBudget } from './in-flight.ts';
import { RecentBytes } from './recent-bytes.ts';

/** Memory that a connection may hold without a share of the budget, in bytes. */
export const HELD_BYTES_FREE = 4096;
/** The number of no head. */
const NO_HEAD = Number.NEGATIVE_INFINITY;

export class HeldBytes implements BudgetUser {
  readonly #budget: InFlightBudget;
  readonly #onCrowdedOut: () => void;
  /** Bytes taken out of the budget, or, while the connection does not read, counted beside it. */
  #bytes = 0;
  #isUnread = false;
  /** The number of the head that may make room. */
  #head = NO_HEAD;
  /** When it began to take some of the budget, in milliseconds. */
  sinceMs = 0;
  readonly #recent = new RecentBytes();

  /** `onCrowdedOut` is called when the head has to make room for others. */
  constructor(budget: InFlightBudget, onCrowdedOut: () => void) {
    this.#budget = budget;
    this.#onCrowdedOut = onCrowdedOut;
  }

  /** Whether nothing is taken or counted. */
  get isFree(): boolean {
    return this.#bytes === 0;
  }

  /**
   * The connection holds `bytes` of a request that is being received. `head`: a number that no other head of
   * the connection has; `received`: bytes of the connection so far. False: they do not fit, and nothing is
   * taken any more.
   */
  holdHead(bytes: number, head: number, received: number, nowMs: number): boolean {
    if (!this.#take(bytes, false)) return false;
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

  /** The same of a poll that waits and the bytes behind it. */
  holdPoll(bytes: number): boolean {
    this.#leave();
    return this.#take(bytes, false);
  }

  /** The connection holds `bytes` while it does not read. */
  holdUnread(bytes: number): void {
    this.#leave();
    this.#take(bytes, true);
  }

  recentBytes(nowMs: number): number {
    return this.#recent.sum(nowMs);
  }

  makeRoom(): void {
    this.#onCrowdedOut();
  }

  /** Bytes beyond the free ones are taken in place of those taken before. */
  #take(bytes: number, isUnread: boolean): boolean {
    const beyond = Math.max(0, bytes - HELD_BYTES_FREE);
    if (beyond === this.#bytes && isUnread === this.#isUnread) return true;
    const budget = this.#budget;
    if (this.#isUnread) budget.unreadBytes -= this.#bytes;
    else budget.giveHeld(this.#bytes);
    this.#isUnread = isUnread;
    this.#bytes = beyond;
    if (isUnread) budget.unreadBytes += beyond;
    else if (!budget.takeHeld(beyond)) {
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
