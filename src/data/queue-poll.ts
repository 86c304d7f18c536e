/**
 * The poll of a request: its ticket while the poll waits, then the delivery of its item.
 * Tested by surface/dialect.spec.ts.
 */
import assert from 'node:assert';
import { NO_PARTITION } from '../base/partition-number.ts';
import type { Span } from '../base/span.ts';
import type { Waiter } from '../cluster/cluster.ts';
import {
  type Engine,
  FOUND,
  NO_HOLD,
  NO_TICKET,
  NOBODY,
  type OperationResult,
} from '../engine/engine.ts';
import type { ItemHold } from '../http/response-delay.ts';
import type { Call, Wait } from '../surface/action.ts';
import { RETRY_LATER } from '../surface/responses.ts';

export class QueuePoll implements Wait, Waiter {
  readonly #call: Call;
  readonly #engine: Engine;
  readonly #waiting: Set<Waiter>;
  #ticket = NO_TICKET;

  /** `waiting`: the polls of the member that wait. */
  constructor(call: Call, engine: Engine, waiting: Set<Waiter>) {
    this.#call = call;
    this.#engine = engine;
    this.#waiting = waiting;
  }

  /** Takes an item, or waits for one up to `timeoutMs`; the call is answered now or later. */
  begin(queue: Span, timeoutMs: number): void {
    if (this.#ticket !== NO_TICKET) assert.fail('a call polls once at a time');
    const ticket = this.#engine.take(queue, timeoutMs, this.#call);
    if (ticket === NO_TICKET) return;
    this.#ticket = ticket;
    this.#waiting.add(this);
    if (timeoutMs > 0 && !this.#call.request.awaitItem()) this.#refuseToWait();
  }

  /** Receives the engine's result. Returns the hold of the item, if it has one. */
  onResult(answer: OperationResult): ItemHold | undefined {
    if (this.#ticket !== NO_TICKET) this.#leave();
    if (answer.hold === NO_HOLD) return undefined;
    if (answer.outcome !== FOUND) assert.fail('only a found item is held');
    return new EngineHold(this.#engine, answer.hold);
  }

  /** Ends a waiting poll without an item: the client has ended its input or disconnected. */
  finishNow(): void {
    if (this.#ticket === NO_TICKET) return;
    this.#cancel();
    this.#call.request.respondEmpty(204, NO_PARTITION, 0);
  }

  endWait(): void {
    this.#cancel();
    this.#call.refuseChange('wait for an item');
  }

  #refuseToWait(): void {
    const { request } = this.#call;
    this.#cancel();
    request.refuse('NO_ROOM_TO_WAIT', { bytesMax: request.inFlightBytesMax }, RETRY_LATER);
  }

  #cancel(): void {
    if (this.#ticket === NO_TICKET) assert.fail('only a waiting poll is cancelled');
    this.#engine.cancel(this.#ticket);
    this.#leave();
  }

  #leave(): void {
    this.#ticket = NO_TICKET;
    this.#waiting.delete(this);
  }
}

/** The engine's hold on a taken item while it is delivered to its client. */
class EngineHold implements ItemHold {
  readonly #engine: Engine;
  readonly #hold: number;

  constructor(engine: Engine, hold: number) {
    this.#engine = engine;
    this.#hold = hold;
  }

  acknowledge(isDelivered: boolean): void {
    this.#engine.acknowledge(this.#hold, isDelivered, NOBODY);
  }
}
