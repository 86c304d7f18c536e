/**
 * One step of an operation on many partitions, whose reply is a number.
 * Tested by redis-engine.spec.ts.
 */
import type { Dispatcher } from './dispatcher.ts';
import { type Failure, UNCONFIRMED } from './failure.ts';
import { Operation, type Work } from './operation.ts';
import { INTEGER, kindSet, type Reply } from './reply.ts';

const INTEGERS = kindSet(INTEGER);

export class NumberStep implements Work {
  readonly replyKinds = INTEGERS;
  readonly operation: Operation<undefined>;
  readonly #onNumber: (value: number) => void;
  readonly #onFailed: (failure: Failure) => void;
  #value = 0;

  constructor(
    dispatcher: Dispatcher,
    isChange: boolean,
    onNumber: (value: number) => void,
    onFailed: (failure: Failure) => void,
  ) {
    this.operation = new Operation(dispatcher, this, undefined);
    this.operation.isChange = isChange;
    this.operation.isRepeatable = !isChange;
    this.#onNumber = onNumber;
    this.#onFailed = onFailed;
  }

  onResult(reply: Reply): void {
    this.#value = reply.integer;
    if (this.operation.group === undefined) this.onConfirmed();
  }

  onConfirmed(): void {
    this.#onNumber(this.#value);
  }

  onUnconfirmed(): void {
    this.#onFailed(UNCONFIRMED);
  }

  onFailed(failure: Failure): void {
    this.#onFailed(failure);
  }
}
