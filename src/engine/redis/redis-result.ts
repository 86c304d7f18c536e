/**
 * The results of the engine: one object for each depth of nested calls by receivers.
 * Tested by redis-engine.spec.ts.
 */
import { NO_PARTITION } from '../../base/partition-number.ts';
import type { Pin } from '../../base/pin.ts';
import { Span } from '../../base/span.ts';
import {
  APPLIED,
  type EntryReceiver,
  NO_HOLD,
  NOT_COUNTED,
  type OperationResult,
  type Outcome,
  type Reason,
  type Receiver,
} from '../engine.ts';
import { Version } from '../version.ts';
import type { StoredValue } from './stored-value.ts';

/** The connection that holds the bytes of a value. */
interface Source {
  /** Prevents the bytes from being reused. */
  retainBytes(): void;
}

class RedisResult implements OperationResult {
  outcome: Outcome = APPLIED;
  readonly partition = NO_PARTITION;
  readonly sequence = 0;
  readonly value = new Span();
  readonly contentType = new Span();
  readonly place = new Span();
  count = 0;
  readonly bytes = NOT_COUNTED;
  hold = NO_HOLD;
  readonly version = new Version();
  wasPresent = false;
  timeToLiveMs = 0;
  maxIdleSeconds = 0;
  veto = 0;
  reason: Reason | 0 = 0;
  #source: Source | undefined;

  begin(outcome: Outcome, source: Source | undefined): this {
    this.outcome = outcome;
    // Results of changes never have them.
    if (this.value.end > 0) this.value.clear();
    if (this.contentType.end > 0) this.contentType.clear();
    if (this.place.end > 0) this.place.clear();
    this.count = 0;
    this.hold = NO_HOLD;
    this.version.clear();
    this.wasPresent = false;
    this.timeToLiveMs = 0;
    this.maxIdleSeconds = 0;
    this.reason = 0;
    this.veto = 0;
    this.#source = source;
    return this;
  }

  /** Sets the fields of an entry that has not expired at the time. */
  setEntry(stored: StoredValue, nowMs: number): this {
    const { endMs, lastMs, maxIdleSeconds } = stored;
    this.value.copyFrom(stored.value);
    this.contentType.copyFrom(stored.contentType);
    this.version.set(stored.versionLow, stored.versionHigh);
    const liveEndMs = maxIdleSeconds === 0 ? endMs : lastMs;
    if (liveEndMs !== 0) this.timeToLiveMs = liveEndMs - nowMs;
    this.maxIdleSeconds = maxIdleSeconds;
    return this;
  }

  /** The bytes have a buffer of their own, which the garbage collector frees. */
  pin(): Pin {
    this.#source?.retainBytes();
    return PINNED;
  }
}

const NOTHING_TO_DO = (): void => {};
const PINNED: Pin = { isCounted: false, release: NOTHING_TO_DO };

export class Results {
  readonly #results: RedisResult[] = [];
  #depth = 0;

  /**
   * Returns a result for `deliver` that has only an outcome. `source`: the connection whose reply it
   * is read from.
   */
  begin(outcome: Outcome, source?: Source): RedisResult {
    const result = this.#results[this.#depth];
    if (result !== undefined) return result.begin(outcome, source);
    const deeper = new RedisResult();
    this.#results.push(deeper);
    return deeper.begin(outcome, source);
  }

  deliver(receiver: Receiver, result: RedisResult): void {
    this.#depth++;
    try {
      receiver.onResult(result);
    } finally {
      this.#depth--;
    }
  }

  /** Delivers an entry of a list; the result of the list follows. */
  deliverEntry(receiver: EntryReceiver, key: Span, entry: RedisResult, length: number): void {
    this.#depth++;
    try {
      receiver.onEntry(key, entry, length);
    } finally {
      this.#depth--;
    }
  }
}
