/**
 * Results of the late engine: copies whose bytes are overwritten as soon as their receiver has
 * returned, or the last pin is released. Their fields are invalid afterwards, so a receiver that
 * still reads one finds the overwritten bytes.
 */
import assert from 'node:assert/strict';
import { NO_PARTITION } from '../../src/base/partition-number.ts';
import type { Pin } from '../../src/base/pin.ts';
import { Span } from '../../src/base/span.ts';
import {
  ABSENT,
  FOUND,
  NO_HOLD,
  NOT_COUNTED,
  type OperationResult,
  type Outcome,
  type Reason,
  type Receiver,
  VALUE_COPY_BYTES_MAX,
} from '../../src/engine/engine.ts';
import { Version } from '../../src/engine/version.ts';

/** Value of overwritten bytes. */
export const SPOILT = 0xdd;
/**
 * Number of bytes before, between and after those of a result, so that no offset is 0 or at the end
 * of a buffer.
 */
const GAP_BYTES = 3;

/** Number of open pins. */
export interface PinCount {
  pinCount: number;
}

export class LateResult implements OperationResult {
  outcome: Outcome = ABSENT;
  partition = NO_PARTITION;
  sequence = 0;
  count = 0;
  bytes = NOT_COUNTED;
  hold = NO_HOLD;
  wasPresent = false;
  timeToLiveMs = 0;
  maxIdleSeconds = 0;
  veto = 0;
  reason: Reason | 0 = 0;
  readonly value = new Span();
  readonly contentType = new Span();
  readonly place = new Span();
  readonly version = new Version();
  readonly #open: PinCount;
  #bytes: Buffer = NOTHING;
  #pins = 0;
  #isRead = false;

  constructor(open: PinCount) {
    this.#open = open;
  }

  /** Sets only an outcome. */
  set(outcome: Outcome, reason: Reason | 0 = 0): this {
    this.outcome = outcome;
    this.reason = reason;
    return this;
  }

  copyFrom(answer: OperationResult): this {
    const { value, contentType, place } = answer;
    const valueStart = GAP_BYTES;
    const typeStart = valueStart + value.length + GAP_BYTES;
    const placeStart = typeStart + contentType.length + GAP_BYTES;
    this.#bytes = Buffer.alloc(placeStart + place.length + GAP_BYTES, SPOILT);
    value.bytes.copy(this.#bytes, valueStart, value.start, value.end);
    contentType.bytes.copy(this.#bytes, typeStart, contentType.start, contentType.end);
    place.bytes.copy(this.#bytes, placeStart, place.start, place.end);
    this.value.set(this.#bytes, valueStart, valueStart + value.length);
    this.contentType.set(this.#bytes, typeStart, typeStart + contentType.length);
    this.place.set(this.#bytes, placeStart, placeStart + place.length);
    this.outcome = answer.outcome;
    this.partition = answer.partition;
    this.sequence = answer.sequence;
    this.count = answer.count;
    this.bytes = answer.bytes;
    this.hold = answer.hold;
    this.veto = answer.veto;
    this.reason = answer.reason;
    this.version.copyFrom(answer.version);
    this.wasPresent = answer.wasPresent;
    this.timeToLiveMs = answer.timeToLiveMs;
    this.maxIdleSeconds = answer.maxIdleSeconds;
    return this;
  }

  give(receiver: Receiver): void {
    try {
      receiver.onResult(this);
    } finally {
      this.#isRead = true;
      this.#spoil();
    }
  }

  pin(): Pin {
    assert(!this.#isRead, 'A result may be read only during onResult');
    assert(this.outcome === FOUND && this.value.length > VALUE_COPY_BYTES_MAX);
    let isReleased = false;
    this.#pins++;
    this.#open.pinCount++;
    return {
      isCounted: true,
      release: () => {
        assert(!isReleased, 'A pin may be released only once');
        isReleased = true;
        this.#pins--;
        this.#open.pinCount--;
        this.#spoil();
      },
    };
  }

  #spoil(): void {
    if (!this.#isRead) return;
    if (this.#pins === 0) this.#bytes.fill(SPOILT);
    this.partition = -SPOILT;
    this.sequence = -SPOILT;
    this.count = -SPOILT;
    this.bytes = -SPOILT;
    this.hold = -SPOILT;
    this.veto = -SPOILT;
    this.version.set(SPOILT, SPOILT);
    this.timeToLiveMs = -SPOILT;
    this.maxIdleSeconds = -SPOILT;
    this.value.clear();
    this.contentType.clear();
    this.place.clear();
  }
}

const NOTHING = Buffer.alloc(0);
