/**
 * Operations on all partitions of a map: its size and its clear. Each partition is a separate step.
 * Tested by redis-engine.spec.ts.
 */
import type { Span } from '../../base/span.ts';
import { APPLIED, COUNTED, type Receiver } from '../engine.ts';
import { type CommandBuffer, header } from './command-buffer.ts';
import { type Failure, isUnknown, UNANSWERED } from './failure.ts';
import { EXPIRIES, MAP } from './layout.ts';
import { FROM_FIRST, type SweepOptions, sweep } from './lifetime-sweeps.ts';
import type { Results } from './redis-result.ts';
import { NUMBER, READ, runStep } from './run-step.ts';

const HLEN = header(2, 'HLEN');
const ZCOUNT = header(4, 'ZCOUNT');
const UNLINK = header(2, 'UNLINK');

interface WholeMapsOptions extends SweepOptions {
  readonly results: Results;
  replicaCount(map: Span): number;
  fail(receiver: Receiver, failure: Failure): void;
}

/** Sums the sizes of the partitions, after removing their expired entries. */
export function sizeOf(options: WholeMapsOptions, map: Span, receiver: Receiver): void {
  const { dispatcher, layout, results } = options;
  const name = map.toBuffer();
  const total = new Total(layout.partitionCount, (count, failure) => {
    if (failure !== undefined) return options.fail(receiver, failure);
    const result = results.begin(COUNTED);
    result.count = count;
    results.deliver(receiver, result);
  });
  const read = (
    partition: number,
    write: (commands: CommandBuffer) => void,
    onDone: (value: number) => void,
  ) =>
    runStep(dispatcher, {
      partition,
      traits: READ,
      reading: NUMBER,
      write,
      onDone,
      onFailed: total.fail,
    });
  for (let partition = 0; partition < layout.partitionCount; partition++) {
    const count = (): void => {
      const writeLength = (commands: CommandBuffer): void => {
        commands.begin(HLEN);
        commands.bytes(layout.key(MAP, partition, name));
      };
      read(partition, writeLength, total.add);
    };
    const writeExpired = (commands: CommandBuffer): void => {
      commands.begin(ZCOUNT);
      commands.bytes(layout.key(EXPIRIES, partition, name));
      commands.bytes(FROM_FIRST);
      commands.number(Math.floor(options.now()));
    };
    read(partition, writeExpired, (expired) => {
      if (expired > 0) sweep(options, partition, name, count, total.fail);
      else count();
    });
  }
}

/**
 * Removes the entries of each partition. Their expiry times are removed later, by
 * lifetime-sweeps.ts: a server that is migrating the slot refuses a command with two keys if it has
 * only one of them.
 */
export function clear(options: WholeMapsOptions, map: Span, receiver: Receiver): void {
  const { dispatcher, layout, results } = options;
  const name = map.toBuffer();
  const total = new Total(layout.partitionCount, (_, failure, doneCount) => {
    if (failure === undefined) results.deliver(receiver, results.begin(APPLIED));
    else options.fail(receiver, doneCount > 0 && !isUnknown(failure) ? UNANSWERED : failure);
  });
  const replicaCount = options.replicaCount(map);
  for (let partition = 0; partition < layout.partitionCount; partition++) {
    runStep(dispatcher, {
      partition,
      // Not repeatable: a repeated removal would lose entries set in between.
      traits: { replicaCount, isReplicated: replicaCount > 0 },
      reading: NUMBER,
      write(commands) {
        commands.begin(UNLINK);
        commands.bytes(layout.key(MAP, partition, name));
      },
      onDone: total.add,
      onFailed: total.fail,
    });
  }
}

/** Sums the parts, and calls back after the last one. */
class Total {
  readonly #onEnd: (sum: number, failure: Failure | undefined, doneCount: number) => void;
  #left: number;
  #sum = 0;
  #doneCount = 0;
  #failure: Failure | undefined;

  constructor(
    count: number,
    onEnd: (sum: number, failure: Failure | undefined, doneCount: number) => void,
  ) {
    this.#left = count;
    this.#onEnd = onEnd;
  }

  readonly add = (value: number): void => {
    this.#sum += value;
    this.#doneCount++;
    this.#end();
  };

  /** A failure that may have been done takes precedence over others. */
  readonly fail = (failure: Failure): void => {
    if (this.#failure === undefined || isUnknown(failure)) this.#failure = failure;
    this.#end();
  };

  #end(): void {
    if (--this.#left === 0) this.#onEnd(this.#sum, this.#failure, this.#doneCount);
  }
}
