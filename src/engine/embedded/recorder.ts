/** The engine's side of its sinks: asks all before a mutation, and notifies all after it. */
import assert from 'node:assert/strict';
import { FROM_REPLAY, type Mutation } from '../mutation.ts';
import { ADMITTED, type MutationSink } from '../mutation-sink.ts';

export class Recorder {
  /** Whether there are any sinks; without them messages need not be filled. */
  readonly isActive: boolean;
  readonly #isActiveInReplay: boolean;
  readonly #sinks: readonly MutationSink[];
  /** The mutation that the sinks have consented to, until it is recorded or abandoned. */
  #admitted: Mutation | undefined;
  /** The code of the last veto, until it is asked for. */
  #veto = 0;

  constructor(sinks: readonly MutationSink[]) {
    this.#sinks = sinks;
    this.isActive = sinks.length > 0;
    this.#isActiveInReplay = sinks.some(({ ignoresReplay }) => ignoresReplay !== true);
  }

  /** Whether any sink is asked about, and notified of, mutations with that origin. */
  isActiveFor(origin: number): boolean {
    return origin === FROM_REPLAY ? this.#isActiveInReplay : this.isActive;
  }

  /** Whether every sink consents; if so, record or abandon follows. */
  admits(mutation: Mutation): boolean {
    if (this.#admitted !== undefined) assert.fail('the consent before was used');
    for (let index = 0; index < this.#sinks.length; index++) {
      const code = this.#sinks[index]!.admit(mutation);
      if (code === ADMITTED) continue;
      for (let before = 0; before < index; before++) this.#sinks[before]!.abandon(mutation);
      this.#veto = code;
      return false;
    }
    this.#admitted = mutation;
    return true;
  }

  /** The code of the veto that is to be answered, once. */
  takeVeto(): number {
    const code = this.#veto;
    if (code === ADMITTED) assert.fail('a sink has refused');
    this.#veto = ADMITTED;
    return code;
  }

  abandon(mutation: Mutation): void {
    this.#use(mutation);
    for (let index = 0; index < this.#sinks.length; index++) this.#sinks[index]!.abandon(mutation);
  }

  record(mutation: Mutation): void {
    this.#use(mutation);
    for (let index = 0; index < this.#sinks.length; index++) this.#sinks[index]!.record(mutation);
  }

  /** Records the mutation with the sinks that were asked, if any. */
  tell(mutation: Mutation): void {
    if (this.isActiveFor(mutation.origin)) this.record(mutation);
  }

  /** Asserts that no consent is open. */
  invariants(): void {
    assert.equal(this.#admitted, undefined, 'every consent was used');
  }

  /** Ends the consent to the mutation. */
  #use(mutation: Mutation): void {
    if (this.#admitted !== mutation) assert.fail('sinks consent to a mutation before it is made');
    this.#admitted = undefined;
  }

  /** Whether a sink has failed. */
  get hasFailed(): boolean {
    for (let index = 0; index < this.#sinks.length; index++) {
      if (this.#sinks[index]!.hasFailed === true) return true;
    }
    return false;
  }

  /** Whether a sink has failed that would have kept back answers that depend on this sequence. */
  mayLose(partition: number, sequence: number): boolean {
    return this.#sinks.some(
      (sink) => sink.hasFailed === true && sink.durable(partition) < sequence,
    );
  }

  /** Whether a sink delays answers that depend on this sequence of the partition. */
  delays(partition: number, sequence: number): boolean {
    for (let index = 0; index < this.#sinks.length; index++) {
      if (this.#sinks[index]!.durable(partition) < sequence) return true;
    }
    return false;
  }
}
