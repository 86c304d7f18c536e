/** An engine on the embedded one whose results are changed before a receiver gets them. */
import type { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import type { Engine, OperationResult, Receiver } from '../../src/engine/engine.ts';

/** `change` returns the new values of some properties of a result. */
export function changingResults(
  engine: EmbeddedEngine,
  change: (result: OperationResult) => Partial<OperationResult>,
): Engine {
  const changing = (receiver: Receiver): Receiver => ({
    onResult: (result) => receiver.onResult(withValues(result, change(result))),
  });
  return new Proxy(engine, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...words: unknown[]): unknown =>
        value.apply(
          target,
          words.map((word) => (isReceiver(word) ? changing(word) : word)),
        );
    },
  });
}

function withValues<T extends object>(object: T, values: Partial<T>): T {
  return new Proxy(object, {
    get: (_, name) => {
      const value = values[name as keyof T] ?? Reflect.get(object, name, object);
      return typeof value === 'function' ? value.bind(object) : value;
    },
  });
}

function isReceiver(word: unknown): word is Receiver {
  return typeof word === 'object' && word !== null && 'onResult' in word;
}
