/** A step of an operation on many partitions, whose reply is a number. */
import { UNKNOWN } from '../engine.ts';
import type { Dispatcher } from './dispatcher.ts';
import { type Failure, Operation } from './operation.ts';
import { INTEGER, type Reply } from './reply.ts';

export class NumberStep extends Operation {
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
