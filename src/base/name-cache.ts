/**
 * Caches what belongs to a name, such as that of a map: the last name, and up to NAMES_MAX others. The
 * full cache is emptied. Tested by engine/redis/marked-maps.spec.ts.
 */
import type { Span } from './span.ts';

/** Maximum number of names. */
const NAMES_MAX = 10_000;

export class NameCache<Value> {
  readonly #read: (name: Buffer) => Value;
  /** By name (latin1). */
  readonly #values = new Map<string, Value>();
  /** The name that was looked up last. */
  #lastName: Buffer | undefined;
  #lastValue: Value | undefined;

  /** `read` returns the value of a name, which does not change before `clear`. */
  constructor(read: (name: Buffer) => Value) {
    this.#read = read;
  }

  of(name: Span): Value {
    if (this.#lastName !== undefined && name.is(this.#lastName)) return this.#lastValue as Value;
    const bytes = name.toBuffer();
    const text = bytes.toString('latin1');
    let value = this.#values.get(text);
    if (value === undefined && !this.#values.has(text)) {
      value = this.#read(bytes);
      if (this.#values.size >= NAMES_MAX) this.#values.clear();
      this.#values.set(text, value);
    }
    this.#lastName = bytes;
    this.#lastValue = value;
    return value as Value;
  }

  clear(): void {
    this.#values.clear();
    this.#lastName = undefined;
    this.#lastValue = undefined;
  }
}
