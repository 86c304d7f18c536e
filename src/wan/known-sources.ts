/**
 * What a member remembers of the data sets that send to it: the latest epoch of each, and by publisher and
 * lane the number of the last event applied, and counts. So nothing is applied twice, whatever is sent again
 * or comes late. It lives as long as the process: after a restart merging alone tells what is known. The
 * number of data sets is limited, and so is that of the publishers of one; the one that has been silent
 * longest is forgotten.
 */
import { LANES_MAX } from './message-format.ts';

const SOURCES_MAX = 256;
const PUBLISHERS_MAX = 64;

/** One publisher of a data set. */
export class KnownPublisher {
  /** By lane, the number of the last event applied. */
  readonly lastNumbers = new Float64Array(LANES_MAX);
  /** By lane, the number of the first event of the latest batch. */
  readonly firstNumbers = new Float64Array(LANES_MAX);
  /** By lane, entries of synchronisations that were not taken, and events that were rejected. */
  readonly notTaken = new Float64Array(LANES_MAX);
  readonly rejected = new Float64Array(LANES_MAX);
  /** By lane, the end of the work under way. */
  readonly work: (Promise<void> | undefined)[] = Array.from({ length: LANES_MAX });
}

export class KnownSource {
  epoch = 0;
  /** When a clock that is ahead was last logged. */
  warnedMs = Number.NEGATIVE_INFINITY;
  readonly publishers = new Map<string, KnownPublisher>();

  publisher(name: string): KnownPublisher {
    return found(this.publishers, name, PUBLISHERS_MAX, () => new KnownPublisher());
  }

  /** From now on events have numbers of this epoch, from 1 on. */
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

export class KnownSources {
  readonly #sources = new Map<string, KnownSource>();

  source(dataSet: Buffer): KnownSource {
    return found(this.#sources, dataSet.toString('latin1'), SOURCES_MAX, () => new KnownSource());
  }
}

/** The value of the key, made where there is none; it becomes the one that was used last. */
function found<Value>(
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
