/**
 * Finds the configuration of a map or queue by its name. In a configured name `*` matches any text.
 * The exact name takes precedence, then the matching pattern with the most literal bytes (of equal
 * ones the last), then `default`. A name is looked up once, so the patterns, at most PATTERNS_MAX,
 * are tried one by one. Tested by engine/queue-capacity.spec.ts.
 */
import { NamePattern } from '../base/name-pattern.ts';
import { isReservedMap } from '../base/reserved-map.ts';
import { NO_BYTES, type Span } from '../base/span.ts';

/** Maximum number of configured names with `*`; maps and queues are counted separately. */
export const PATTERNS_MAX = 10_000;

/** Whether the configured name matches other names. */
export function isPattern(name: string): boolean {
  return name.includes('*');
}

/**
 * Returns a function that finds the value configured for a name, or undefined. The values must not
 * change. `others`: names that are configured without a value, and so do not have that of a pattern.
 */
export function byName<Value>(
  values: ReadonlyMap<string, Value>,
  ...others: readonly ReadonlyMap<string, unknown>[]
): (name: Buffer) => Value | undefined {
  const nameFor = nameAmong(values, ...others);
  return (bytes) => {
    const name = nameFor(bytes);
    return name === undefined ? undefined : values.get(name);
  };
}

/**
 * Returns a function that finds the configured name, in any of the maps, that applies to a name. None
 * applies to the reserved map.
 */
export function nameAmong(
  ...configured: readonly ReadonlyMap<string, unknown>[]
): (name: Buffer) => string | undefined {
  const rules = new Map<string, NamePattern>();
  for (const names of configured) {
    for (const name of names.keys()) if (isPattern(name)) rules.set(name, new NamePattern(name));
  }
  const inOrder = [...rules].reverse();
  inOrder.sort(([, a], [, b]) => b.literalLength - a.literalLength);
  const has = (name: string) => configured.some((names) => names.has(name));
  const fallback = has('default') ? 'default' : undefined;
  const isFallback = (name: string) => name === 'default';
  // Names are not decoded if all of them have the same configuration.
  if (configured.every((names) => [...names.keys()].every(isFallback)))
    return (bytes) => (isReservedMap(bytes) ? undefined : fallback);
  return (bytes) => {
    if (isReservedMap(bytes)) return undefined;
    const exact = bytes.toString();
    // Decoding replaces bytes that are not UTF-8.
    if (has(exact) && Buffer.from(exact).equals(bytes)) return exact;
    const text = bytes.toString('latin1');
    const [name] = inOrder.find(([, pattern]) => pattern.matches(text)) ?? [];
    return name ?? fallback;
  };
}

/** Maximum number of cached names. Clients choose names, so their number must be bounded. */
const NAMES_KEPT_MAX = 10_000;

/**
 * A value for each map by its name, from settings whose map names may contain `*`. Every write
 * looks it up. If nothing is configured, the value is constant. Otherwise the values of the last
 * map, and of up to NAMES_KEPT_MAX others, are cached, so that the patterns are tried once for each
 * name.
 */
export class MapSettings<Value> {
  readonly #usual: Value;
  #configured: ((map: Buffer) => Value | undefined) | undefined;
  readonly #byName = new Map<string, Value>();
  #lastName: Buffer = NO_BYTES;
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
  configure(configured: ((map: Buffer) => Value | undefined) | undefined): void {
    this.#byName.clear();
    // Start with the usual value for the empty name, which no setting can have.
    this.#lastName = NO_BYTES;
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
