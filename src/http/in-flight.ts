/**
 * The budget for bytes in flight, shared by all connections. It counts bodies in progress, by their
 * announced length; copies of responses that wait for slow readers; and the memory that connections
 * hold for heads, waiting polls and the input after these (held-bytes.ts). A long value sent
 * without a copy counts if the engine's servers store the data; otherwise it already counts as
 * stored data.
 *
 * - Heads, waiting polls and the input after these may use half of the budget and are refused
 *   beyond that: a poll may wait for years, and bodies must be received meanwhile.
 * - Received requests that wait for earlier responses are counted separately, as pipelines would
 *   otherwise cause bodies to be refused. If they exceed half of the budget, connections do not
 *   yield to others, and a slow reader is disconnected.
 * - Bodies beyond the budget are refused, except one urgent body at a time: one sent by another
 *   member, as the longest would otherwise never fit.
 * - Responses are never refused, as their requests have taken effect. If the budget is used up,
 *   connections whose responses use part of it stop reading.
 *
 * Slow senders and readers must not block the others. So each refusal ends the body or head that
 * received the fewest bytes in the last RECENT_MS, or else the response that sent the fewest;
 * younger ones are spared.
 */

import assert from 'node:assert/strict';
import { ContentBuffers } from './content-buffers.ts';
import { RECENT_MS } from './recent-bytes.ts';

/** Bodies and responses that moved at least this many bytes in the last RECENT_MS are not ended. */
const SPARED_BYTES = 65536;
/** Minimum interval between two searches for a user to end, in ms. */
const SEARCH_PAUSE_MS = 10;

/** A user of the budget: a body or a head being received, or responses being sent. */
export interface BudgetUser {
  /** Time at which it began, in ms of the clock. */
  readonly sinceMs: number;
  /** Returns the bytes received or sent in the last RECENT_MS. */
  recentBytes(nowMs: number): number;
  /** Ends it: a body or a head with 408, responses by closing their connection. */
  makeRoom(): void;
}

export class InFlightBudget {
  readonly bytesMax: number;
  /** The buffers for bodies. */
  readonly buffers = new ContentBuffers();
  /** Bytes in use, of all parts. */
  usedBytes = 0;
  /** Bytes in use by the parts that are limited to half of the budget. */
  heldBytes = 0;
  /** Bytes of unread requests, not counted in the budget; excludes the input after waiting polls. */
  unreadBytes = 0;
  /** Bodies, heads and responses, each in the order in which they began. */
  readonly #bodies = new Set<BudgetUser>();
  readonly #heads = new Set<BudgetUser>();
  readonly #responses = new Set<BudgetUser>();
  #searchedMs = Number.NEGATIVE_INFINITY;
  /** The urgent body admitted beyond the budget, until its bytes are released. */
  #urgent: BudgetUser | undefined;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Whether the budget is used up. */
  get isFull(): boolean {
    return this.usedBytes >= this.bytesMax;
  }

  /** Reserves bytes for content. Returns false, without effect, if they do not fit. */
  reserve(bytes: number): boolean {
    if (this.usedBytes + bytes > this.bytesMax) return false;
    this.usedBytes += bytes;
    return true;
  }

  /** Whether `bytes` more may stay unread. */
  hasUnreadRoom(bytes: number): boolean {
    return this.unreadBytes + bytes <= this.bytesMax / 2;
  }

  /**
   * Reserves bytes for a head, a waiting poll or the input after one. Returns false, without effect, if
   * they do not fit.
   */
  reserveHeld(bytes: number): boolean {
    if (!this.#hasHalfRoom(bytes) || !this.reserve(bytes)) return false;
    this.heldBytes += bytes;
    return true;
  }

  /** Releases bytes that reserveHeld has reserved. */
  releaseHeld(bytes: number): void {
    if (bytes > this.heldBytes) assert.fail('held bytes are released once');
    this.heldBytes -= bytes;
    this.release(bytes);
  }

  /**
   * Reserves bytes for urgent content even if they do not fit. Returns false, without effect, if other
   * content is under way or has been admitted as urgent.
   */
  reserveUrgent(bytes: number, content: BudgetUser): boolean {
    if (this.#urgent !== undefined && this.#urgent !== content) return false;
    if (this.#bodies.size > (this.#bodies.has(content) ? 1 : 0)) return false;
    this.#urgent = content;
    this.usedBytes += bytes;
    return true;
  }

  /** Ends the urgency of content whose bytes have been released. */
  endUrgent(content: BudgetUser): void {
    if (this.#urgent === content) this.#urgent = undefined;
  }

  /** Reserves bytes for responses, whether they fit or not. */
  overdraw(bytes: number): void {
    this.usedBytes += bytes;
  }

  /** Releases bytes. */
  release(bytes: number): void {
    if (bytes > this.usedBytes) assert.fail('bytes are released once');
    this.usedBytes -= bytes;
  }

  /** Registers a body in progress, which is removed when it is complete or freed. */
  enterContent(content: BudgetUser): void {
    this.#bodies.add(content);
  }

  /**
   * Registers a head in progress that holds bytes. It is removed when it is complete or holds none.
   */
  enterHead(head: BudgetUser): void {
    this.#heads.add(head);
  }

  /** Registers waiting responses, which are removed when they have been sent. */
  enterResponses(responses: BudgetUser): void {
    this.#responses.add(responses);
  }

  leave(user: BudgetUser): void {
    if (!this.#bodies.delete(user) && !this.#heads.delete(user)) this.#responses.delete(user);
  }

  /** Makes room after content was refused: ends the user that moved the fewest bytes, if one may be ended. */
  relieve(nowMs: number): void {
    this.#end(nowMs, [this.#bodies, this.#heads], [this.#responses]);
  }

  /** Makes room after a head or poll was refused. If half of the budget is used up, only a head may end. */
  relieveHeld(bytes: number, nowMs: number): void {
    if (this.#hasHalfRoom(bytes)) this.relieve(nowMs);
    else this.#end(nowMs, [this.#heads]);
  }

  /** Makes room when too many bytes are unread: ends a response, whose connection may hold some of them. */
  relieveUnread(nowMs: number): void {
    this.#end(nowMs, [this.#responses]);
  }

  #hasHalfRoom(bytes: number): boolean {
    return this.heldBytes + bytes <= this.bytesMax / 2;
  }

  /** Ends a user of the first group of kinds in which one may be ended. */
  #end(nowMs: number, ...kinds: readonly (readonly Set<BudgetUser>[])[]): void {
    if (nowMs < this.#searchedMs + SEARCH_PAUSE_MS) return;
    this.#searchedMs = nowMs;
    for (const kind of kinds) {
      const least = leastOf(kind, nowMs);
      if (least !== undefined) return least.makeRoom();
    }
  }
}

/** Returns the user, among those at least RECENT_MS old, that moved the fewest bytes in that time. */
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
