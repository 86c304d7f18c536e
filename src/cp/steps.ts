/**
 * Work in steps, each an operation of the engine. If the engine responds during the call, as the embedded
 * one does, the work is done during the call that begins it: without promises, and before anything else
 * runs. Tested by cp-state.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import type { OperationResult, Receiver } from '../engine/engine.ts';
import { failureCode } from '../engine/failure-code.ts';

/** Name of the subsystem in the messages of errors. */
const NAME = 'the CP subsystem';

/** Work that waits for its steps with `yield*`. */
export interface Steps<Result> {
  [Symbol.iterator](): Iterator<Step<unknown>, Result, unknown>;
  next(part?: unknown): IteratorResult<Step<unknown>, Result>;
  throw(error: unknown): IteratorResult<Step<unknown>, Result>;
}

/**
 * Work of one step: an operation of the engine. Throws GridError if the engine has not done it, or may
 * not have done it. `begin` asks the engine, `read` returns the part of its result that the work
 * continues with.
 */
export class Step<Part> implements Steps<Part> {
  readonly begin: (receiver: Receiver) => void;
  readonly read: (answer: OperationResult) => Part;
  #isBegun = false;

  constructor(begin: Step<Part>['begin'], read: Step<Part>['read']) {
    this.begin = begin;
    this.read = read;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(part?: unknown): IteratorResult<Step<unknown>, Part> {
    if (this.#isBegun) return { value: part as Part, done: true };
    this.#isBegun = true;
    return { value: this, done: false };
  }

  throw(error: unknown): never {
    throw error;
  }
}

/** Returns why the engine has not done an operation, or may not have done it; undefined if it has. */
export function faultOf(answer: OperationResult): GridError | undefined {
  const code = failureCode(answer);
  return code === undefined ? undefined : new GridError(code, { name: NAME });
}

/** Does the work, and calls `onEnd` with its result or `onFault` with what it has thrown. */
export function perform<Result>(
  steps: Steps<Result>,
  onEnd: (result: Result) => void,
  onFault: (error: unknown) => void,
): void {
  new Performance(steps, onEnd, onFault).proceed();
}

/** Returns a promise of the work, which has begun. */
export function promised<Result>(steps: Steps<Result>): Promise<Result> {
  return new Promise((resolve, reject) => perform(steps, resolve, reject));
}

class Performance<Result> implements Receiver {
  readonly #steps: Steps<Result>;
  readonly #onEnd: (result: Result) => void;
  readonly #onFault: (error: unknown) => void;
  #read: Step<unknown>['read'] | undefined;
  /** The part of the last step's result. */
  #part: unknown;
  #error: GridError | undefined;
  #isAnswered = false;
  /** Whether the last step has begun, but its call has not returned. */
  #isBeginning = false;

  constructor(
    steps: Steps<Result>,
    onEnd: (result: Result) => void,
    onFault: (error: unknown) => void,
  ) {
    this.#steps = steps;
    this.#onEnd = onEnd;
    this.#onFault = onFault;
  }

  proceed(): void {
    let result: Result;
    try {
      for (;;) {
        const error = this.#error;
        const next = error === undefined ? this.#steps.next(this.#part) : this.#steps.throw(error);
        if (next.done === true) {
          result = next.value;
          break;
        }
        this.#begin(next.value);
        if (!this.#isAnswered) return;
      }
    } catch (error) {
      return this.#onFault(error);
    }
    this.#onEnd(result);
  }

  onResult(answer: OperationResult): void {
    this.#error = faultOf(answer);
    if (this.#error === undefined) this.#part = this.#read!(answer);
    this.#isAnswered = true;
    if (!this.#isBeginning) this.proceed();
  }

  #begin({ begin, read }: Step<unknown>): void {
    this.#read = read;
    this.#error = undefined;
    this.#isAnswered = false;
    this.#isBeginning = true;
    begin(this);
    this.#isBeginning = false;
  }
}
