/**
 * Results for the program that embeds the member. A result that depends on the disk is delayed,
 * like a response over HTTP, until a crash can no longer undo it.
 */

import { type Dependency, dependency, isDelayed } from '../http/output-piece.ts';
import type { ResponseDelay, ResponseSender } from '../http/response-delay.ts';

/** Called once. `isDurable` is false if the disk failed before the result could be delivered. */
type Deliver = (isDurable: boolean) => void;

export class LocalResults implements ResponseSender {
  readonly #delay: ResponseDelay | undefined;
  #delayed: { readonly waitsFor: Dependency | undefined; readonly deliver: Deliver }[] = [];

  constructor(delay: ResponseDelay | undefined) {
    this.#delay = delay;
  }

  /** Number of delayed results. */
  get delayedCount(): number {
    return this.#delayed.length;
  }

  /**
   * Calls `deliver`, at once if the result is not delayed. `partition` and `sequence`: as in the
   * engine's OperationResult.
   */
  send(partition: number, sequence: number, deliver: Deliver): void {
    const delay = this.#delay;
    if (delay === undefined) return deliver(true);
    const waitsFor = dependency(delay, partition, sequence);
    if (waitsFor === undefined && !delay.delaysAll) return deliver(true);
    this.#delayed.push({ waitsFor, deliver });
  }

  release(): void {
    const delay = this.#delay;
    if (delay === undefined || delay.delaysAll) return;
    const delayed = this.#delayed;
    this.#delayed = [];
    for (const each of delayed) {
      if (each.waitsFor !== undefined && isDelayed(delay, each.waitsFor)) this.#delayed.push(each);
      else each.deliver(true);
    }
  }

  failDelayed(): void {
    const delayed = this.#delayed;
    this.#delayed = [];
    for (const { deliver } of delayed) deliver(false);
  }
}
