/**
 * Calls an engine whose results arrive during the call, without promises, for models of many
 * operations.
 */
import assert from 'node:assert/strict';
import { NO_HOLD, type Receiver } from '../../../src/engine/engine.ts';
import { Keeper, Operations, type Seen } from '../results.ts';

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
    const keeper = new Keeper();
    call(keeper);
    assert.ok(keeper.seen !== undefined, 'No result during the call');
    return keeper.seen;
  }
}
