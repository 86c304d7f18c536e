/**
 * State of the data sets that send to this member: the latest epoch of each, and per publisher and
 * lane the number of the last event applied and two counts. It ensures that no event is applied
 * twice, even if it is sent again or arrives late. It is not persisted: after a restart only the
 * merge detects duplicates. The numbers of data sets and of lanes are limited; the one that has been
 * silent longest is dropped.
 */
import { GridError } from '../base/errors.ts';
import type { ReceivedSection } from './received-batch.ts';

const SOURCES_MAX = 256;
/** Maximum number of lanes of all data sets. */
const LANES_MAX = 65_536;

/** State of one lane of a publisher. */
export class LaneNumbers {
  epoch = 0;
  /** Number of the last event applied. */
  lastNumber = 0;
  /** Number of the first event of the latest section. */
  #firstNumber = 0;
  /** Synchronisation entries not taken, and events rejected, since that section first began. */
  notTaken = 0;
  rejected = 0;
  /** How many of them a response has reported. */
  #reportedNotTaken = 0;
  #reportedRejected = 0;
  /** A promise for the end of the work in progress. */
  work: Promise<void> | undefined;

  /**
   * Checks the first number of a section. A lane has one batch in flight, so its sections never
   * begin before the latest one. A section that does is late, or another peer has sent numbers that
   * the sender has not assigned: then the sender's events could be mistaken for applied ones. Throws
   * GridError WAN_NUMBERS_PASSED, and the sender begins a later epoch.
   */
  check({ lane, firstNumber: number }: ReceivedSection, epoch: number): void {
    const passed = this.#firstNumber;
    if (epoch > this.epoch || number >= passed) return;
    throw new GridError('WAN_NUMBERS_PASSED', { lane, number, passed });
  }

  /** Records the first number of a section that was checked. In each epoch numbers begin at 1. */
  enter({ firstNumber }: ReceivedSection, epoch: number): void {
    if (epoch > this.epoch) {
      this.epoch = epoch;
      this.lastNumber = 0;
      this.#firstNumber = 0;
      this.notTaken = 0;
      this.rejected = 0;
      this.#reportedNotTaken = 0;
      this.#reportedRejected = 0;
    }
    if (firstNumber === this.#firstNumber) return;
    this.#firstNumber = firstNumber;
    // Events that were acknowledged on receipt may have been counted since.
    this.notTaken -= this.#reportedNotTaken;
    this.rejected -= this.#reportedRejected;
    this.#reportedNotTaken = 0;
    this.#reportedRejected = 0;
  }

  /** Called when a response reports the counts. */
  onReported(): void {
    this.#reportedNotTaken = this.notTaken;
    this.#reportedRejected = this.rejected;
  }
}

export class SourceNumbers {
  epoch = 0;
  /** Time of the last log line about a clock that is ahead. */
  warnedMs = Number.NEGATIVE_INFINITY;
}

export class ReceivedNumbers {
  readonly #sources = new Map<string, SourceNumbers>();
  readonly #lanes = new Map<string, LaneNumbers>();

  source(dataSet: Buffer): SourceNumbers {
    const name = dataSet.toString('latin1');
    return lastUsed(this.#sources, name, SOURCES_MAX, () => new SourceNumbers());
  }

  /** `publisher`: the hash of its names. */
  lane(dataSet: Buffer, publisher: Buffer, { lane, syncBegan }: ReceivedSection): LaneNumbers {
    const source = `${dataSet.toString('latin1')}${publisher.toString('latin1')}`;
    const name = `${source}${lane}${syncBegan.isNone ? '' : ' of a synchronisation'}`;
    return lastUsed(this.#lanes, name, LANES_MAX, () => new LaneNumbers());
  }
}

/** Returns the key's value, created if necessary, and marks it as the most recently used. */
function lastUsed<Value>(
  values: Map<string, Value>,
  key: string,
  most: number,
  make: () => Value,
): Value {
  const value = values.get(key) ?? make();
  values.delete(key);
  if (values.size >= most) {
    for (const oldest of values.keys()) {
      values.delete(oldest);
      break;
    }
  }
  values.set(key, value);
  return value;
}
