/**
 * A value for each map by its name, from settings whose map names may contain `*`. Every write
 * looks it up. If nothing is configured, the value is constant. Otherwise the values of the last
 * map, and of up to NAMES_KEPT_MAX others, are cached, so that the patterns are tried once for each
 * name. Tested by data/map-lifetimes.spec.ts.
 */
import type { Span } from '../base/span.ts';

/** Maximum number of cached names. Clients choose names, so their number must be bounded. */
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

  /**
   * Replaces the configuration: `configured` returns a map's value, or undefined; without it, all
   * maps have the usual value.
   */
  protected configure(configured: ((map: Buffer) => Value | undefined) | undefined): void {
    this.#byName.clear();
    // Start with the usual value for the empty name, which no setting can have.
    this.#lastName = Buffer.alloc(0);
    this.#lastValue = this.#usual;
    this.#configured = configured;
  }

  /** Returns the current value of the map. */
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
