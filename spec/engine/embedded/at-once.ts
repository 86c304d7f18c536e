/** Asks an engine that answers during the call, without promises, for models of many operations. */
import assert from 'node:assert/strict';
import { Span } from '../../../src/base/span.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { Keeper, type Seen, span } from '../answers.ts';

const NO_BYTES = new Span();

export class AtOnce {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get(map: string, key: string): Seen {
    return this.#ask((keeper) => this.#engine.get(span(map), span(key), keeper));
  }

  set(map: string, key: string, value: Buffer, contentType = ''): Seen {
    return this.#ask((keeper) =>
      this.#engine.set(span(map), span(key), span(value), type(contentType), keeper),
    );
  }

  delete(map: string, key: string): Seen {
    return this.#ask((keeper) => this.#engine.delete(span(map), span(key), keeper));
  }

  clear(map: string): Seen {
    return this.#ask((keeper) => this.#engine.clear(span(map), keeper));
  }

  size(map: string): number {
    return this.#ask((keeper) => this.#engine.size(span(map), keeper)).count;
  }

  offer(queue: string, value: Buffer, contentType = ''): Seen {
    return this.#ask((keeper) =>
      this.#engine.offer(span(queue), span(value), type(contentType), keeper),
    );
  }

  peek(queue: string): Seen {
    return this.#ask((keeper) => this.#engine.peek(span(queue), keeper));
  }

  poll(queue: string): Seen {
    return this.#ask((keeper) => this.#engine.poll(span(queue), keeper));
  }

  take(queue: string): Seen {
    return this.#ask((keeper) => this.#engine.take(span(queue), 0, keeper));
  }

  queueSize(queue: string): number {
    return this.#ask((keeper) => this.#engine.queueSize(span(queue), keeper)).count;
  }

  settle(hold: number, confirm: boolean): Seen {
    return this.#ask((keeper) => this.#engine.settle(hold, confirm, keeper));
  }

  #ask(call: (keeper: Keeper) => void): Seen {
    const keeper = new Keeper();
    call(keeper);
    assert.ok(keeper.seen !== undefined, 'Not answered during the call');
    return keeper.seen;
  }
}

function type(contentType: string): Span {
  return contentType === '' ? NO_BYTES : span(contentType);
}
