/**
 * Answers to a program that embeds the member. An answer that depends on the disk waits, as one over
 * HTTP does, until a crash can no longer undo its content.
 */

import { type Dependency, dependency, isDelayed } from '../http/output-piece.ts';
import type { ResponseDelay, ResponseSender } from '../http/response-delay.ts';

/** Called once; `isKnown` is false where the disk has failed before the answer could leave. */
type Leave = (isKnown: boolean) => void;

export class LocalAnswers implements ResponseSender {
  readonly #delay: ResponseDelay | undefined;
  #delayed: { readonly waitsFor: Dependency | undefined; readonly leave: Leave }[] = [];

  constructor(delay: ResponseDelay | undefined) {
    this.#delay = delay;
  }

  /** Answers that wait. */
  get delayedCount(): number {
    return this.#delayed.length;
  }

  /** Sends the answer, at once unless it is delayed; see OperationResult for the two numbers. */
  send(partition: number, sequence: number, leave: Leave): void {
    const delay = this.#delay;
    if (delay === undefined) return leave(true);
    const waitsFor = dependency(delay, partition, sequence);
    if (waitsFor === undefined && !delay.delaysAll) return leave(true);
    this.#delayed.push({ waitsFor, leave });
  }

  release(): void {
    const delay = this.#delay;
    if (delay === undefined || delay.delaysAll) return;
    const delayed = this.#delayed;
    this.#delayed = [];
    for (const each of delayed) {
      if (each.waitsFor !== undefined && isDelayed(delay, each.waitsFor)) this.#delayed.push(each);
      else each.leave(true);
    }
  }

  failDelayed(): void {
    const delayed = this.#delayed;
    this.#delayed = [];
    for (const { leave } of delayed) leave(false);
  }
}
