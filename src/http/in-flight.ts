/**
 * The budget for bytes in flight over all connections: contents under way, by their announced length,
 * copies of answers that wait for their clients, and what connections hold of heads, of polls that wait
 * and of the bytes behind these (held-bytes.ts). A long value that is sent without a copy is in it where
 * servers keep the data; otherwise it is data, and counted there.
 *
 * Heads, polls that wait and the bytes behind these polls have half of it at most: a poll may wait for
 * years, and contents have to be received meanwhile. Beyond that they are refused. Requests that have been
 * received, and wait for others to be answered, are counted beside the budget, as pipelines would otherwise
 * have contents refused: where they are more than half of it, connections do not stand back for others, and
 * a reader that takes its answers slowly is ended.
 *
 * Contents beyond the budget are refused, but for one at a time that is urgent: what another member sends,
 * of which the longest would otherwise never come. Answers are not, as their requests have taken effect; but
 * then connections that have some of it read no further. So that neither half-sent requests nor slow
 * readers block the others, each refusal ends the content or head that has been under way for a while and
 * moved least of late; where there is none, the answers that have waited so.
 */

import assert from 'node:assert/strict';
import { ContentBuffers } from './content-buffers.ts';
import { RECENT_MS } from './recent-bytes.ts';

/** Contents and answers that moved so many bytes of late are not ended. */
const SPARED_BYTES = 65536;
/** The search for one to end is made once in so many milliseconds at most. */
const SEARCH_PAUSE_MS = 10;

/** A user of the budget: content or a head that comes, or answers that are to be taken. */
export interface BudgetUser {
  /** When it began, in milliseconds of the clock. */
  readonly sinceMs: number;
  /** Bytes that have come, or were taken, in the last RECENT_MS. */
  recentBytes(nowMs: number): number;
  /** Ends it: content or a head with 408, answers with their connection. */
  makeRoom(): void;
}

export class InFlightBudget {
  readonly bytesMax: number;
  /** The buffers of contents. */
  readonly buffers = new ContentBuffers();
  /** Bytes of all parts. */
  usedBytes = 0;
  /** Bytes of the parts that have half of it at most. */
  heldBytes = 0;
  /** Bytes of requests that have not been read, beside the budget; those behind polls are not among them. */
  unreadBytes = 0;
  /** Contents, heads and answers, each in the order in which they began. */
  readonly #contents = new Set<BudgetUser>();
  readonly #heads = new Set<BudgetUser>();
  readonly #answers = new Set<BudgetUser>();
  #searchedMs = Number.NEGATIVE_INFINITY;
  /** The urgent content for which there was no room; it stays one until its bytes are given back. */
  #urgent: BudgetUser | undefined;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Whether nothing more fits. */
  get isFull(): boolean {
    return this.usedBytes >= this.bytesMax;
  }

  /** Takes bytes for content. False: they do not fit, and nothing was taken. */
  take(bytes: number): boolean {
    if (this.usedBytes + bytes > this.bytesMax) return false;
    this.usedBytes += bytes;
    return true;
  }

  /** Whether so many bytes more may stay unread. */
  mayStayUnread(bytes: number): boolean {
    return this.unreadBytes + bytes <= this.bytesMax / 2;
  }

  /**
   * Takes bytes for a head, a poll that waits or the bytes behind one. False: they do not fit, and
   * nothing was taken.
   */
  takeHeld(bytes: number): boolean {
    if (!this.#hasHalfRoom(bytes) || !this.take(bytes)) return false;
    this.heldBytes += bytes;
    return true;
  }

  /** Gives such bytes back. */
  giveHeld(bytes: number): void {
    if (bytes > this.heldBytes) assert.fail('bytes held are given back once');
    this.heldBytes -= bytes;
    this.give(bytes);
  }

  /**
   * Takes bytes for urgent content, though they do not fit. False: other content is under way, or was taken
   * so, and nothing was taken.
   */
  takeUrgent(bytes: number, content: BudgetUser): boolean {
    if (this.#urgent !== undefined && this.#urgent !== content) return false;
    if (this.#contents.size > (this.#contents.has(content) ? 1 : 0)) return false;
    this.#urgent = content;
    this.usedBytes += bytes;
    return true;
  }

  /** The bytes of urgent content have been given back. */
  endUrgent(content: BudgetUser): void {
    if (this.#urgent === content) this.#urgent = undefined;
  }

  /** Takes bytes for answers, whether they fit or not. */
  overdraw(bytes: number): void {
    this.usedBytes += bytes;
  }

  /** Gives bytes back. */
  give(bytes: number): void {
    if (bytes > this.usedBytes) assert.fail('bytes are given back once');
    this.usedBytes -= bytes;
  }

  /** Content is under way; it leaves when it has come or is freed. */
  enterContent(content: BudgetUser): void {
    this.#contents.add(content);
  }

  /** A head is under way that holds bytes; it leaves when it has come, or holds none. */
  enterHead(head: BudgetUser): void {
    this.#heads.add(head);
  }

  /** Answers wait; they leave when they have been taken. */
  enterAnswers(answers: BudgetUser): void {
    this.#answers.add(answers);
  }

  leave(user: BudgetUser): void {
    if (!this.#contents.delete(user) && !this.#heads.delete(user)) this.#answers.delete(user);
  }

  /** Content was refused: ends the one that has moved least of late, if any may be ended. */
  relieve(nowMs: number): void {
    this.#end(nowMs, [this.#contents, this.#heads], [this.#answers]);
  }

  /** A head or a poll was refused so many bytes: where half of the budget is used up, ends only a head. */
  relieveHeld(bytes: number, nowMs: number): void {
    if (this.#hasHalfRoom(bytes)) this.relieve(nowMs);
    else this.#end(nowMs, [this.#heads]);
  }

  /** More bytes are unread than may be: ends an answer, whose connection may have some of them. */
  relieveUnread(nowMs: number): void {
    this.#end(nowMs, [this.#answers]);
  }

  #hasHalfRoom(bytes: number): boolean {
    return this.heldBytes + bytes <= this.bytesMax / 2;
  }

  /** Ends one of the first kinds that have one to be ended. */
  #end(nowMs: number, ...kinds: readonly (readonly Set<BudgetUser>[])[]): void {
    if (nowMs < this.#searchedMs + SEARCH_PAUSE_MS) return;
    this.#searchedMs = nowMs;
    for (const kind of kinds) {
      const least = leastOf(kind, nowMs);
      if (least !== undefined) return least.makeRoom();
    }
  }
}

/** The one of those under way for RECENT_MS that moved the fewest bytes in that time. */
function leastOf(kinds: readonly Set<BudgetUser>[], nowMs: number): BudgetUser | undefined {
  let least: BudgetUser | undefined;
  let leastBytes = SPARED_BYTES;
  for (const users of kinds) {
    for (const user of users) {
      if (user.sinceMs > nowMs - RECENT_MS) break;
      const bytes = user.recentBytes(nowMs);
      if (bytes >= leastBytes) continue;
      least = user;
      leastBytes = bytes;
    }
  }
  return least;
}
