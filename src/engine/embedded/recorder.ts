/**
 * The engine's side of its sinks: asks them before a mutation, and notifies them after it. A sink
 * may want only the mutations of some maps (MapFlags stores the sinks of each map), or none of
 * queues. Sinks are added and removed between two calls of the engine, when no consent is open.
 * Tested by embedded-engine.spec.ts.
 */
import assert from 'node:assert/strict';
import { FROM_REPLAY, type Mutation } from '../mutation.ts';
import { ADMITTED, type MutationSink } from '../mutation-sink.ts';

export type Sinks = readonly MutationSink[];

export const NO_SINKS: Sinks = [];

export class Recorder {
  /** Whether there are any sinks; without them messages need not be filled. */
  isActive = false;
  /** Whether a sink wants the mutations of queues. */
  recordsQueues = false;
  /** Whether a sink wants only the mutations of some maps. */
  isSelective = false;
  #isActiveInReplay = false;
  #sinks: Sinks = NO_SINKS;
  #ofQueues: Sinks = NO_SINKS;
  /**
   * The mutation that the sinks have consented to, until it is recorded or abandoned, and those
   * sinks.
   */
  #admitted: Mutation | undefined;
  #consenting: Sinks = NO_SINKS;
  /** The code of the last veto, until takeVeto returns it. */
  #veto = 0;

  constructor(sinks: Sinks) {
    this.replace(sinks);
  }

  /** All sinks, in the order in which they are asked. */
  get sinks(): Sinks {
    return this.#sinks;
  }

  /** Replaces the sinks. */
  replace(sinks: Sinks): void {
    if (this.#admitted !== undefined) assert.fail('sinks are replaced only between mutations');
    this.#sinks = sinks;
    this.#ofQueues = sinks.filter(({ ignoresQueues }) => ignoresQueues !== true);
    this.isActive = sinks.length > 0;
    this.recordsQueues = this.#ofQueues.length > 0;
    this.isSelective = sinks.some(({ wants }) => wants !== undefined);
    this.#isActiveInReplay = sinks.some(({ ignoresReplay }) => ignoresReplay !== true);
  }

  /** Whether any sink is asked about, and notified of, mutations with this origin. */
  isActiveFor(origin: number): boolean {
    return origin === FROM_REPLAY ? this.#isActiveInReplay : this.isActive;
  }

  /** Whether all of the sinks consent to a map's mutation; if so, record or abandon follows. */
  admits(mutation: Mutation, sinks = this.#sinks): boolean {
    if (this.#admitted !== undefined) assert.fail('the previous consent is still open');
    for (let index = 0; index < sinks.length; index++) {
      const code = sinks[index]!.admit(mutation);
      if (code === ADMITTED) continue;
      for (let before = 0; before < index; before++) sinks[before]!.abandon(mutation);
      this.#veto = code;
      return false;
    }
    this.#admitted = mutation;
    this.#consenting = sinks;
    return true;
  }

  /** Whether the sinks for queues consent to the mutation; if so, record or abandon follows. */
  admitsOfQueue(mutation: Mutation): boolean {
    return this.admits(mutation, this.#ofQueues);
  }

  /** Returns the code of the last veto, for one result. */
  takeVeto(): number {
    const code = this.#veto;
    if (code === ADMITTED) assert.fail('no sink has refused');
    this.#veto = ADMITTED;
    return code;
  }

  abandon(mutation: Mutation): void {
    this.#use(mutation);
    const sinks = this.#consenting;
    for (let index = 0; index < sinks.length; index++) sinks[index]!.abandon(mutation);
  }

  record(mutation: Mutation): void {
    this.#use(mutation);
    const sinks = this.#consenting;
    for (let index = 0; index < sinks.length; index++) sinks[index]!.record(mutation);
  }

  /** Records the mutation with the sinks that were asked, if any. */
  recordIfAdmitted(mutation: Mutation): void {
    if (this.#admitted !== undefined) this.record(mutation);
  }

  /** Asserts that no consent is open. */
  invariants(): void {
    assert.equal(this.#admitted, undefined, 'every consent was used');
  }

  /** Ends the consent to the mutation. */
  #use(mutation: Mutation): void {
    if (this.#admitted !== mutation) assert.fail('the sinks have not consented to the mutation');
    this.#admitted = undefined;
  }

  /** Whether a sink has failed. */
  get hasFailed(): boolean {
    for (let index = 0; index < this.#sinks.length; index++) {
      if (this.#sinks[index]!.hasFailed === true) return true;
    }
    return false;
  }

  /** Whether a sink that would have delayed results that depend on this sequence has failed. */
  mayLose(partition: number, sequence: number): boolean {
    return this.#sinks.some(
      (sink) => sink.hasFailed === true && sink.durable(partition) < sequence,
    );
  }

  /** Whether a sink delays results that depend on this sequence of the partition. */
  delays(partition: number, sequence: number): boolean {
    for (let index = 0; index < this.#sinks.length; index++) {
      if (this.#sinks[index]!.durable(partition) < sequence) return true;
    }
    return false;
  }
}
