/** The results of the engine: one object for each depth of nested calls by receivers. */
import { Span } from '../../base/span.ts';
import {
  APPLIED,
  NO_HOLD,
  NO_PARTITION,
  type OperationResult,
  type Outcome,
  type Pin,
  type Reason,
  type Receiver,
} from '../engine.ts';
import { Version } from '../version.ts';

/** The connection that holds the bytes of a value. */
interface Source {
  /** Prevents the bytes from being reused. */
  retainBytes(): void;
}

class RedisAnswer implements OperationResult {
  outcome: Outcome = APPLIED;
  readonly partition = NO_PARTITION;
  readonly sequence = 0;
  readonly value = new Span();
  readonly contentType = new Span();
  count = 0;
  hold = NO_HOLD;
  readonly version = new Version();
  readonly veto = 0;
  reason: Reason | 0 = 0;
  #source: Source | undefined;

  begin(outcome: Outcome, source: Source | undefined): this {
    this.outcome = outcome;
    this.value.clear();
    this.contentType.clear();
    this.count = 0;
    this.hold = NO_HOLD;
    this.version.clear();
    this.reason = 0;
    this.#source = source;
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

export class Answers {
  readonly #answers: RedisAnswer[] = [];
  #depth = 0;

  /**
   * Returns an answer for `tell` that has only an outcome. `source`: the connection whose reply it
   * is read from.
   */
  begin(outcome: Outcome, source?: Source): RedisAnswer {
    const answer = this.#answers[this.#depth];
    if (answer !== undefined) return answer.begin(outcome, source);
    const deeper = new RedisAnswer();
    this.#answers.push(deeper);
    return deeper.begin(outcome, source);
  }

  tell(receiver: Receiver, answer: RedisAnswer): void {
    this.#depth++;
    try {
      receiver.onResult(answer);
    } finally {
      this.#depth--;
    }
  }
}
