/** Asks an engine that answers during the call, without promises, for models of many operations. */
import assert from 'node:assert/strict';
import { Span } from '../../../src/base/span.ts';
import { type Answer, type Engine, FOREVER, type Receiver } from '../../../src/engine/engine.ts';
import { copied, type Seen, span } from '../answers.ts';

const NO_BYTES = new Span();

export class AtOnce {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get(map: string, key: string): Seen {
    return this.#ask((receiver) => this.#engine.get(span(map), span(key), receiver));
  }

  set(map: string, key: string, value: Buffer, contentType = '', lifetime = FOREVER): Seen {
    return this.#ask((receiver) =>
      this.#engine.set(span(map), span(key), span(value), type(contentType), lifetime, receiver),
    );
  }

  delete(map: string, key: string): Seen {
    return this.#ask((receiver) => this.#engine.delete(span(map), span(key), receiver));
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

  poll(queue: string): Seen {
    return this.#ask((receiver) => this.#engine.poll(span(queue), receiver));
  }

  take(queue: string): Seen {
    return this.#ask((receiver) => this.#engine.take(span(queue), 0, receiver));
  }

  queueSize(queue: string): number {
    return this.#ask((receiver) => this.#engine.queueSize(span(queue), receiver)).count;
  }

  settle(hold: number, confirm: boolean): Seen {
    return this.#ask((receiver) => this.#engine.settle(hold, confirm, receiver));
  }

  #ask(call: (receiver: Receiver) => void): Seen {
    const copier = new Copier();
    call(copier);
    assert.ok(copier.seen !== undefined, 'Not answered during the call');
    return copier.seen;
  }
}

/** A Keeper without a promise: a million promises are too much for the test runner. */
class Copier implements Receiver {
  seen: Seen | undefined;

  onAnswer(answer: Answer): void {
    assert.ok(this.seen === undefined, 'Answered twice');
    this.seen = copied(answer);
  }
}

function type(contentType: string): Span {
  return contentType === '' ? NO_BYTES : span(contentType);
}
