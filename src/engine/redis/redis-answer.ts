/** The engine's answers: one object for each depth of calls that receivers make while they read theirs. */
import { Span } from '../../base/span.ts';
import {
  type Answer,
  APPLIED,
  NO_HOLD,
  NO_PARTITION,
  type Outcome,
  type Pin,
  type Receiver,
  type Unreachability,
} from '../engine.ts';
import { Version } from '../version.ts';

class RedisAnswer implements Answer {
  outcome: Outcome = APPLIED;
  readonly partition = NO_PARTITION;
  readonly sequence = 0;
  readonly value = new Span();
  readonly contentType = new Span();
  count = 0;
  hold = NO_HOLD;
  readonly version = new Version();
  readonly veto = 0;
  reason: Unreachability | 0 = 0;
  /** Keeps the bytes of `value` from being used again. */
  #keep: () => void = NOTHING_TO_DO;

  begin(outcome: Outcome, keep: () => void = NOTHING_TO_DO): this {
    this.outcome = outcome;
    this.value.clear();
    this.contentType.clear();
    this.count = 0;
    this.hold = NO_HOLD;
    this.version.clear();
    this.reason = 0;
    this.#keep = keep;
    return this;
  }

  /** The bytes have a buffer of their own, which the collector frees. */
  pin(): Pin {
    this.#keep();
    return PINNED;
  }
}

const NOTHING_TO_DO = (): void => {};
const PINNED: Pin = { isCounted: false, release: NOTHING_TO_DO };

export class Answers {
  readonly #answers: RedisAnswer[] = [];
  #depth = 0;

  /** An answer for `tell`, of that outcome alone so far. */
  begin(outcome: Outcome, keep?: () => void): RedisAnswer {
    const answer = this.#answers[this.#depth];
    if (answer !== undefined) return answer.begin(outcome, keep);
    const deeper = new RedisAnswer();
    this.#answers.push(deeper);
    return deeper.begin(outcome, keep);
  }

  tell(receiver: Receiver, answer: RedisAnswer): void {
    this.#depth++;
    try {
      receiver.onAnswer(answer);
    } finally {
      this.#depth--;
    }
  }
}
