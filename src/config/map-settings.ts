/**
 * A value for each map by its name, from settings of maps, whose names may have `*`. Each write asks for
 * it. Where nothing is configured the answer is constant. Otherwise the last map asked for is remembered,
 * and some thousand names before it, so that patterns are tried once a name.
 */
import type { Span } from '../base/span.ts';

/** Names whose value is remembered. Clients choose names, so there is a limit. */
const NAMES_KEPT_MAX = 10_000;

export class MapSettings<Value> {
  readonly #usual: Value;
  #configured: ((map: Buffer) => Value | undefined) | undefined;
  readonly #byName = new Map<string, Value>();
  #lastName: Buffer = Buffer.alloc(0);
  #lastValue: Value;

  /** `usual`: the value of a map that no setting names. */
  constructor(usual: Value) {
    this.#usual = usual;
    this.#lastValue = usual;
  }

  /** From now on `configured` tells a map's value, or undefined; without it, all have the usual one. */
  protected configure(configured: ((map: Buffer) => Value | undefined) | undefined): void {
    this.#byName.clear();
    // The usual value is that of the empty name, which no setting can have.
    this.#lastName = Buffer.alloc(0);
    this.#lastValue = this.#usual;
    this.#configured = configured;
  }

  /** The value of the map now. */
  of(map: Span): Value {
    if (this.#configured === undefined) return this.#usual;
    if (!map.is(this.#lastName)) {
      this.#lastName = map.toBuffer();
      this.#lastValue = this.#lookUp(this.#lastName);
    }
    return this.#lastValue;
  }

  #lookUp(name: Buffer): Value {
    const key = name.toString('latin1');
    let value = this.#byName.get(key);
    if (value === undefined) {
      value = this.#configured?.(name) ?? this.#usual;
      if (this.#byName.size === NAMES_KEPT_MAX) this.#byName.clear();
      this.#byName.set(key, value);
    }
    return value;
  }
}
