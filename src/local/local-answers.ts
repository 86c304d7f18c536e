/**
 * Answers to a program that embeds the member. An answer that depends on the disk waits, as one over
 * HTTP does, until a crash can no longer undo its content.
 */

import { type Dependence, dependence, isHeld } from '../http/output-piece.ts';
import type { AnswerSender, ResponseHold } from '../http/response-hold.ts';

/** Called once; `isKnown` is false where the disk has failed before the answer could leave. */
type Leave = (isKnown: boolean) => void;

export class LocalAnswers implements AnswerSender {
  hold: ResponseHold | undefined;
  #held: { readonly waitsFor: Dependence | undefined; readonly leave: Leave }[] = [];

  constructor(hold: ResponseHold | undefined) {
    this.hold = hold;
  }

  /** Answers that wait. */
  get heldCount(): number {
    return this.#held.length;
  }

  /** Sends the answer, at once where it is not held back; `partition` and `sequence` as an Answer's. */
  send(partition: number, sequence: number, leave: Leave): void {
    const { hold } = this;
    if (hold === undefined) return leave(true);
    const waitsFor = dependence(hold, partition, sequence);
    if (waitsFor === undefined && !hold.holdsAll) return leave(true);
    this.#held.push({ waitsFor, leave });
  }

  release(): void {
    const { hold } = this;
    if (hold === undefined || hold.holdsAll) return;
    const held = this.#held;
    this.#held = [];
    for (const each of held) {
      if (each.waitsFor !== undefined && isHeld(hold, each.waitsFor)) this.#held.push(each);
      else each.leave(true);
    }
  }

  disownHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const { leave } of held) leave(false);
  }
}
