/**
 * A pool of reusable operations of one kind. The free one created first is used first.
 * Tested by redis-engine.spec.ts.
 */
import { NumberAllocator } from '../../base/number-allocator.ts';
import type { Operation } from './operation.ts';

export class OperationPool<Subject> {
  readonly #make: () => Operation<Subject>;
  readonly #operations: Operation<Subject>[] = [];
  readonly #free = new NumberAllocator();

  constructor(make: () => Operation<Subject>) {
    this.#make = make;
  }

  take(): Operation<Subject> {
    const number = this.#free.allocate();
    return number < 0 ? this.#new() : this.#operations[number]!;
  }

  /** Returns an operation that is over to the pool. */
  give(operation: Operation<Subject>): void {
    this.#free.free(operation.poolNumber);
  }

  #new(): Operation<Subject> {
    const operation = this.#make();
    operation.poolNumber = this.#operations.length;
    this.#operations.push(operation);
    return operation;
  }
}
