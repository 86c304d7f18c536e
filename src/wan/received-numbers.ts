/**
 * State of the data sets that send to this member: the latest epoch of each, and per publisher and
 * lane the number of the last event applied and two counts. It ensures that no event is applied
 * twice, even if it is sent again or arrives late. It is not persisted: after a restart only the
 * merge detects duplicates. The numbers of data sets and of publishers per data set are limited;
 * the one that has been silent longest is dropped. Tested by persistent-queues.spec.ts.
 */
import { LANES_MAX } from './message-format.ts';
import { PUBLISHERS_MAX } from './wan-config.ts';

const SOURCES_MAX = 256;

/** State of one publisher of a data set. */
export class PublisherNumbers {
  /** By lane, the number of the last event applied. */
  readonly lastNumbers = new Float64Array(LANES_MAX);
  /** By lane, the number of the first event of the latest batch. */
  readonly firstNumbers = new Float64Array(LANES_MAX);
  /** By lane, the number of synchronisation entries not taken, and of events rejected. */
  readonly notTaken = new Float64Array(LANES_MAX);
  readonly rejected = new Float64Array(LANES_MAX);
  /** By lane, a promise for the end of the work in progress. */
  readonly work: (Promise<void> | undefined)[] = Array.from({ length: LANES_MAX });
}

export class SourceNumbers {
  epoch = 0;
  /** Time of the last log line about a clock that is ahead. */
  warnedMs = Number.NEGATIVE_INFINITY;
  readonly publishers = new Map<string, PublisherNumbers>();

  publisher(name: string): PublisherNumbers {
    return lastUsed(this.publishers, name, PUBLISHERS_MAX, () => new PublisherNumbers());
  }

  /** Begins an epoch: its events are numbered from 1. */
  begin(epoch: number): void {
    this.epoch = epoch;
    for (const { lastNumbers, firstNumbers, notTaken, rejected } of this.publishers.values()) {
      lastNumbers.fill(0);
      firstNumbers.fill(0);
      notTaken.fill(0);
      rejected.fill(0);
    }
  }
}

export class ReceivedNumbers {
  readonly #sources = new Map<string, SourceNumbers>();

  source(dataSet: Buffer): SourceNumbers {
    return lastUsed(
      this.#sources,
      dataSet.toString('latin1'),
      SOURCES_MAX,
      () => new SourceNumbers(),
    );
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
