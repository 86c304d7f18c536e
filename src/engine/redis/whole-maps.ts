/** Operations on all partitions of a map: its size, and its clear. Each partition is a step of its own. */
import type { Span } from '../../base/span.ts';
import { APPLIED, COUNTED, type Receiver, UNKNOWN, UNREACHABLE } from '../engine.ts';
import { header } from './command-buffer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { EXPIRIES, type Layout, MAP } from './layout.ts';
import { SWEEP } from './map-scripts.ts';
import { type Failure, Operation } from './operation.ts';
import type { Answers } from './redis-answer.ts';
import { INTEGER, type Reply } from './reply.ts';

const HLEN = header(2, 'HLEN');
const ZCOUNT = header(4, 'ZCOUNT');
const UNLINK = header(3, 'UNLINK');
const FROM_FIRST = Buffer.from('-inf');
/** Ended entries that one step removes at most. */
const SWEPT_MAX = 100;

interface WholeMapsOptions {
  readonly dispatcher: Dispatcher;
  readonly layout: Layout;
  readonly answers: Answers;
  /** The servers' time, in ms. */
  now(): number;
  replicaCount(map: Span): number;
  fail(receiver: Receiver, failure: Failure): void;
}

/** Asks the size of each partition, and removes what has ended first. */
export function sizeOf(options: WholeMapsOptions, map: Span, receiver: Receiver): void {
  const { dispatcher, layout, answers } = options;
  const name = map.toBuffer();
  const total = new Total(layout.partitionCount, (count, failure) => {
    if (failure !== undefined) return options.fail(receiver, failure);
    const answer = answers.begin(COUNTED);
    answer.count = count;
    answers.tell(receiver, answer);
  });
  const count = (partition: number): void => {
    const length = new Step(dispatcher, false, total.add, total.fail);
    const commands = dispatcher.begin(length, partition);
    if (commands === undefined) return;
    commands.begin(HLEN);
    commands.bytes(keyOf(layout, MAP, partition, name));
    dispatcher.end(length);
  };
  const sweep = (partition: number): void => {
    const step = sweepStep(options, partition, name, () => count(partition), total.fail);
    if (step !== undefined) dispatcher.end(step);
  };
  for (let partition = 0; partition < layout.partitionCount; partition++) {
    const ended = new Step(
      dispatcher,
      false,
      (found) => (found > 0 ? sweep(partition) : count(partition)),
      total.fail,
    );
    const commands = dispatcher.begin(ended, partition);
    if (commands === undefined) continue;
    commands.begin(ZCOUNT);
    commands.bytes(keyOf(layout, EXPIRIES, partition, name));
    commands.bytes(FROM_FIRST);
    commands.number(Math.floor(options.now()));
    dispatcher.end(ended);
  }
}

/** Removes the entries of each partition. */
export function clear(options: WholeMapsOptions, map: Span, receiver: Receiver): void {
  const { dispatcher, layout, answers } = options;
  const name = map.toBuffer();
  const total = new Total(layout.partitionCount, (_, failure, doneCount) => {
    if (failure === undefined) answers.tell(receiver, answers.begin(APPLIED));
    else options.fail(receiver, doneCount > 0 ? UNKNOWN : failure);
  });
  const replicaCount = options.replicaCount(map);
  for (let partition = 0; partition < layout.partitionCount; partition++) {
    const step = new Step(dispatcher, true, total.add, total.fail);
    step.replicaCount = replicaCount;
    // Removing what is removed already changes nothing, but a set that came between would be lost.
    const commands = dispatcher.begin(step, partition);
    if (commands === undefined) continue;
    commands.begin(UNLINK);
    commands.bytes(keyOf(layout, MAP, partition, name));
    commands.bytes(keyOf(layout, EXPIRIES, partition, name));
    dispatcher.end(step);
  }
}

/** Removes ended entries of a partition until none is left; undefined where it has failed at once. */
function sweepStep(
  options: WholeMapsOptions,
  partition: number,
  name: Buffer,
  onDone: () => void,
  onFailed: (failure: Failure) => void,
): Step | undefined {
  const { dispatcher, layout } = options;
  const onSwept = (left: number): void => {
    if (left === 0) return onDone();
    const next = sweepStep(options, partition, name, onDone, onFailed);
    if (next !== undefined) dispatcher.end(next);
  };
  const step = new Step(dispatcher, true, onSwept, onFailed);
  step.isRepeatable = true;
  // The entries have ended without it, for everybody.
  step.changesData = false;
  const commands = dispatcher.begin(step, partition);
  if (commands === undefined) return undefined;
  commands.begin(SWEEP.header);
  commands.bytes(keyOf(layout, MAP, partition, name));
  commands.bytes(keyOf(layout, EXPIRIES, partition, name));
  commands.number(SWEPT_MAX);
  return step;
}

function keyOf(
  layout: Layout,
  kind: typeof MAP | typeof EXPIRIES,
  partition: number,
  name: Buffer,
): Buffer {
  return Buffer.concat([layout.prefix(kind, partition), name]);
}

/** One partition's part. */
class Step extends Operation {
  readonly #onNumber: (value: number) => void;
  readonly #onFailed: (failure: Failure) => void;
  #value = 0;

  constructor(
    dispatcher: Dispatcher,
    isChange: boolean,
    onNumber: (value: number) => void,
    onFailed: (failure: Failure) => void,
  ) {
    super(dispatcher);
    this.isChange = isChange;
    this.isRepeatable = !isChange;
    this.#onNumber = onNumber;
    this.#onFailed = onFailed;
  }

  onResult(reply: Reply): void {
    this.#value = reply.kind === INTEGER ? reply.integer : 0;
    if (this.group === undefined) this.onConfirmed();
  }

  override onConfirmed(): void {
    this.#onNumber(this.#value);
  }

  override onUnconfirmed(): void {
    this.#onFailed(UNKNOWN);
  }

  onFailed(failure: Failure): void {
    this.#onFailed(failure);
  }
}

/** Sums the parts, and tells when all have come. */
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

  /** UNKNOWN counts more than UNREACHABLE. */
  readonly fail = (failure: Failure): void => {
    if (this.#failure === undefined || this.#failure === UNREACHABLE) this.#failure = failure;
    this.#end();
  };

  #end(): void {
    if (--this.#left === 0) this.#onEnd(this.#sum, this.#failure, this.#doneCount);
  }
}
