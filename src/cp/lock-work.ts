/**
 * The work of a call that takes or releases a lock for a session, in steps: each is an operation of the
 * engine, and the result decides the next one. If the engine responds during its calls, as the embedded
 * one does, the work ends during the call that begins it, and only then nothing is copied.
 *
 *     take      FIND_SESSION ─ FIND_LOCK ─┬─ own: CONFIRM
 *                                         └─ (FIND_HOLDER ─) CLAIM ─ (NUMBER ─) SET
 *     release   FIND_OWN ─ FIND_OWNER ─ REMOVE
 *
 * If nothing can come between the steps, there is no CLAIM, and SET follows FIND_SESSION: it reports an
 * entry that exists. A change that finds another version of the entry than was read begins anew.
 * cp-state.ts describes claims and fences.
 */
import assert from 'node:assert';
import { Span } from '../base/span.ts';
import { APPLIED, FOREVER, FOUND, type OperationResult, type Receiver } from '../engine/engine.ts';
import { Version } from '../engine/version.ts';
import type { CpGroup } from './cp-groups.ts';
import type { Fences } from './fences.ts';
import { heldIn, type LockEntries } from './lock-entries.ts';
import { faultOf, perform } from './steps.ts';

/** Lifetime of a claim of a lock, in ms. */
const CLAIM_MS = 10_000;

/** The session has the lock. */
export const TAKEN = 'taken';
/** A lock is held by another session. */
export const HELD = 'held';
/** There is no such session. */
export const NO_SESSION = 'no session';
export const RELEASED = 'released';
/** The session does not hold the lock that it releases. */
export const NOT_HELD = 'not held';

export type LockOutcome =
  | typeof TAKEN
  | typeof HELD
  | typeof NO_SESSION
  | typeof RELEASED
  | typeof NOT_HELD;

/** Receives the end of the work, in one of these calls. */
export interface LockReceiver {
  onLock(outcome: LockOutcome, work: LockWork): void;
  /** The engine has not done it, or may not have done it (GridError), or there is a fault of the member. */
  onFault(error: unknown): void;
}

interface LockWorkParts {
  readonly entries: LockEntries;
  /** Whether the engine responds during each call, so that nothing comes between the steps of a work. */
  readonly isUninterrupted: boolean;
  readonly fences: Fences;
}

export class LockWork implements Receiver {
  readonly group: CpGroup;
  readonly session: number;
  /** The fence of a lock that was taken. */
  fence = 0;
  /** Whether the call has taken the lock; otherwise the session had it before. */
  isNew = false;
  /** The version of the entry of the lock, as it was read or written last; none if there is no entry. */
  readonly version = new Version();
  readonly #parts: LockWorkParts;
  readonly #to: LockReceiver;
  #name: Span;
  #holder = 0;
  #mayTake = false;
  #step = FIND_SESSION;
  #outcome: LockOutcome | undefined;
  #fault: unknown;
  #isAnswered = false;
  /** Whether a step begins: its call has not returned. */
  #isBeginning = false;
  #isLate = false;

  /** The name needs to be valid only during the call that begins the work. */
  constructor(parts: LockWorkParts, group: CpGroup, name: Span, session: number, to: LockReceiver) {
    this.group = group;
    this.session = session;
    this.#parts = parts;
    this.#to = to;
    this.#name = name;
  }

  /** The name of the lock. */
  get name(): Span {
    return this.#name;
  }

  /** Takes the lock if it is free. `mayTake`: whether it may be taken; otherwise it counts as held. */
  take(mayTake: boolean): void {
    this.#mayTake = mayTake;
    this.#step = FIND_SESSION;
    this.#proceed();
  }

  release(): void {
    this.#step = FIND_OWN;
    this.#proceed();
  }

  onResult(answer: OperationResult): void {
    const fault = faultOf(answer);
    if (fault === undefined) this.#read(answer);
    else this.#fail(fault);
    this.#onAnswer();
  }

  /** Continues after the answer of a step, unless the call that began it does. */
  #onAnswer(): void {
    this.#isAnswered = true;
    if (!this.#isBeginning) this.#proceed();
  }

  #proceed(): void {
    try {
      while (this.#step !== OVER) {
        this.#isAnswered = false;
        this.#isBeginning = true;
        this.#begin();
        this.#isBeginning = false;
        if (!this.#isAnswered) return this.#retain();
      }
      if (this.#outcome === undefined) this.#to.onFault(this.#fault);
      else this.#to.onLock(this.#outcome, this);
    } catch (error) {
      this.#to.onFault(error);
    }
  }

  /** Copies the name, because the work outlives the call that began it. */
  #retain(): void {
    if (!this.#isLate) this.#name = Span.of(this.#name.toBuffer());
    this.#isLate = true;
  }

  #begin(): void {
    const { group, session } = this;
    const { entries } = this.#parts;
    switch (this.#step) {
      case FIND_SESSION:
      case FIND_OWNER:
        return entries.findSession(group, session, this);
      case FIND_HOLDER:
        return entries.findSession(group, this.#holder, this);
      case FIND_LOCK:
      case FIND_OWN:
        return entries.findLock(group, this.#name, this);
      case CLAIM:
        return entries.setLock(group, this.#name, this, this.version, CLAIM_LIFETIME, this);
      case NUMBER:
        return this.#askForFence();
      case SET:
      case CONFIRM:
        return entries.setLock(group, this.#name, this, this.version, FOREVER, this);
      case REMOVE:
        return entries.deleteLock(group, this.#name, this.version, this);
      default:
        assert.fail('a step');
    }
  }

  /** Reads the result of a step, and decides the next one. */
  #read(answer: OperationResult): void {
    const { outcome, version } = answer;
    switch (this.#step) {
      case FIND_SESSION:
        if (outcome !== FOUND) this.#end(NO_SESSION);
        else if (this.#parts.isUninterrupted && this.#mayTake) this.#number();
        else this.#step = FIND_LOCK;
        return;
      case FIND_LOCK:
        return this.#onLock(answer);
      case FIND_HOLDER:
        if (outcome === FOUND || !this.#mayTake) this.#end(HELD);
        else this.#claim();
        return;
      case CLAIM:
        this.version.copyFrom(version);
        if (outcome === APPLIED) this.#number();
        else this.#step = FIND_SESSION;
        return;
      case SET:
      case CONFIRM:
        this.isNew = this.#step === SET;
        this.version.copyFrom(version);
        if (outcome === APPLIED) this.#end(TAKEN);
        else this.#step = this.#parts.isUninterrupted ? FIND_LOCK : FIND_SESSION;
        return;
      case FIND_OWN:
        if (outcome !== FOUND || heldIn(answer.value).session !== this.session)
          return this.#end(NOT_HELD);
        this.version.copyFrom(version);
        this.#step = FIND_OWNER;
        return;
      case FIND_OWNER:
        if (outcome === FOUND) this.#step = REMOVE;
        else this.#end(NOT_HELD);
        return;
      case REMOVE:
        if (outcome === APPLIED) this.#end(RELEASED);
        else this.#step = FIND_OWN;
        return;
      default:
        assert.fail('a step');
    }
  }

  /** Reads the entry of the lock that is to be taken, or that there is none. */
  #onLock({ outcome, value, version }: OperationResult): void {
    this.version.copyFrom(version);
    if (outcome !== FOUND) {
      if (this.#mayTake) this.#claim();
      else this.#end(HELD);
      return;
    }
    const { session, fence } = heldIn(value);
    this.fence = fence;
    this.#holder = session;
    if (session !== this.session) this.#step = FIND_HOLDER;
    else if (fence > 0) this.#step = CONFIRM;
    else this.#number();
  }

  /** Claims the entry, unless nothing can come between this and the fence. */
  #claim(): void {
    this.fence = 0;
    if (this.#parts.isUninterrupted) this.#number();
    else this.#step = CLAIM;
  }

  /** Takes the next fence. */
  #number(): void {
    this.fence = this.#parts.fences.takeNow();
    this.#step = this.fence === 0 ? NUMBER : SET;
  }

  #askForFence(): void {
    perform(
      this.#parts.fences.take(),
      (fence) => {
        this.fence = fence;
        this.#step = SET;
        this.#onAnswer();
      },
      (error) => {
        this.#fail(error);
        this.#onAnswer();
      },
    );
  }

  #end(outcome: LockOutcome): void {
    this.#outcome = outcome;
    this.#step = OVER;
  }

  #fail(error: unknown): void {
    this.#fault = error;
    this.#step = OVER;
  }
}

const FIND_SESSION = 0;
const FIND_LOCK = 1;
const FIND_HOLDER = 2;
const CLAIM = 3;
const NUMBER = 4;
const SET = 5;
const CONFIRM = 6;
const FIND_OWN = 7;
const FIND_OWNER = 8;
const REMOVE = 9;
const OVER = 10;

const CLAIM_LIFETIME = { timeToLiveMs: CLAIM_MS, maxIdleSeconds: 0 };
