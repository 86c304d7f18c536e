/**
 * Calls an engine whose results arrive during the call, without promises, for models of many
 * operations.
 */
import assert from 'node:assert/strict';
import { Span } from '../../../src/base/span.ts';
import {
  type Condition,
  type Engine,
  FOREVER,
  NO_HOLD,
  type OperationResult,
  type Receiver,
} from '../../../src/engine/engine.ts';
import { copied, type Seen, span } from '../results.ts';

/** Number of runs of a model; MODEL_RUNS sets another one. */
export const MODEL_RUNS = Number(process.env.MODEL_RUNS ?? 20);

const NO_BYTES = new Span();

export class AtOnce {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get(map: string, key: string): Seen {
    return this.#ask((receiver) => this.#engine.get(span(map), span(key), receiver));
  }

  set(
    map: string,
    key: string,
    value: Buffer,
    contentType = '',
    lifetime = FOREVER,
    condition: Condition = undefined,
  ): Seen {
    const where = span(key);
    const bytes = span(value);
    const typeOf = type(contentType);
    return this.#ask((receiver) =>
      this.#engine.set(span(map), where, bytes, typeOf, lifetime, condition, receiver),
    );
  }

  delete(map: string, key: string, condition: Condition = undefined): Seen {
    return this.#ask((receiver) => this.#engine.delete(span(map), span(key), condition, receiver));
  }

  clear(map: string): Seen {
    return this.#ask((receiver) => this.#engine.clear(span(map), receiver));
  }

  size(map: string): number {
    return this.#ask((receiver) => this.#engine.size(span(map), receiver)).count;
  }

  offer(queue: string, value: Buffer, contentType = ''): Seen {
    return this.#ask((receiver) =>
      this.#engine.offer(span(queue), span(value), type(contentType), receiver),
    );
  }

  peek(queue: string): Seen {
    return this.#ask((receiver) => this.#engine.peek(span(queue), receiver));
  }

  /** Takes an item, and acknowledges it if it is held. Returns the take's result. */
  poll(queue: string): Seen {
    const taken = this.take(queue);
    if (taken.hold !== NO_HOLD) this.acknowledge(taken.hold, true);
    return taken;
  }

  take(queue: string): Seen {
    return this.#ask((receiver) => this.#engine.take(span(queue), 0, receiver));
  }

  queueSize(queue: string): number {
    return this.#ask((receiver) => this.#engine.queueSize(span(queue), receiver)).count;
  }

  acknowledge(hold: number, isDelivered: boolean): Seen {
    return this.#ask((receiver) => this.#engine.acknowledge(hold, isDelivered, receiver));
  }

  #ask(call: (receiver: Receiver) => void): Seen {
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

function type(contentType: string): Span {
  return contentType === '' ? NO_BYTES : span(contentType);
}
