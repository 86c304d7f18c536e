/**
 * Calls an engine whose results arrive during the call, without promises, for models of many
 * operations.
 */
import assert from 'node:assert/strict';
import { NO_HOLD, type OperationResult, type Receiver } from '../../../src/engine/engine.ts';
import { copied, Operations, type Seen } from '../results.ts';

/** Number of runs of a model; MODEL_RUNS sets another one. */
export const MODEL_RUNS = Number(process.env.MODEL_RUNS ?? 20);

export class AtOnce extends Operations<Seen> {
  /** Takes an item, and acknowledges it if it is held. Returns the take's result. */
  poll(queue: string): Seen {
    const taken = this.take(queue);
    if (taken.hold !== NO_HOLD) this.acknowledge(taken.hold, true);
    return taken;
  }

  protected override ask(call: (receiver: Receiver) => void): Seen {
    const copier = new Copier();
    call(copier);
    assert.ok(copier.seen !== undefined, 'No result during the call');
    return copier.seen;
  }
}

/** A Keeper without a promise: the test runner cannot handle a million promises. */
class Copier implements Receiver {
  seen: Seen | undefined;

  onResult(answer: OperationResult): void {
    assert.ok(this.seen === undefined, 'Two results');
    this.seen = copied(answer);
  }
}
