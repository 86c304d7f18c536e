/**
 * The lifetimes of a map's entries, by its name, from the settings of maps, whose names may have `*`.
 * Each write asks for them. Where no lifetime is configured the answer is constant. Otherwise the last
 * map asked for is remembered, and some thousand names before it, so that patterns are tried once a
 * name.
 */
import type { Span } from '../base/span.ts';
import { nameAmong } from '../config/by-name.ts';
import { FOREVER, type Lifetime } from '../engine/engine.ts';

/** Names whose lifetime is remembered. Clients choose names, so there is a limit. */
const NAMES_KEPT_MAX = 10_000;

export class MapLifetimes {
  #configured: ((name: Buffer) => Lifetime | undefined) | undefined;
  readonly #byName = new Map<string, Lifetime>();
  #lastName: Buffer = Buffer.alloc(0);
  #lastLifetime = FOREVER;

  /** The arguments are those of `replace`. */
  constructor(
    timeToLiveSeconds: ReadonlyMap<string, number>,
    maxIdleSeconds: ReadonlyMap<string, number>,
  ) {
    this.replace(timeToLiveSeconds, maxIdleSeconds);
  }

  /** Replaces the settings from now on: seconds by name, 0 for ever. */
  replace(
    timeToLiveSeconds: ReadonlyMap<string, number>,
    maxIdleSeconds: ReadonlyMap<string, number>,
  ): void {
    this.#byName.clear();
    this.#lastName = Buffer.alloc(0);
    this.#lastLifetime = FOREVER;
    const nameFor = nameAmong(timeToLiveSeconds, maxIdleSeconds);
    const isNone = timeToLiveSeconds.size + maxIdleSeconds.size === 0;
    this.#configured = isNone
      ? undefined
      : (map) => {
          const name = nameFor(map);
          if (name === undefined) return undefined;
          const timeToLiveMs = (timeToLiveSeconds.get(name) ?? 0) * 1000;
          return { timeToLiveMs, maxIdleSeconds: maxIdleSeconds.get(name) ?? 0 };
        };
  }

  /** The lifetime of an entry written to the map now. */
  of(map: Span): Lifetime {
    if (this.#configured === undefined) return FOREVER;
    const last = this.#lastName;
    if (map.length !== last.length || last.compare(map.bytes, map.start, map.end) !== 0) {
      this.#lastName = map.toBuffer();
      this.#lastLifetime = this.#lookUp(this.#lastName);
    }
    return this.#lastLifetime;
  }

  #lookUp(name: Buffer): Lifetime {
    const key = name.toString('latin1');
    let lifetime = this.#byName.get(key);
    if (lifetime === undefined) {
      lifetime = this.#configured?.(name) ?? FOREVER;
      if (this.#byName.size === NAMES_KEPT_MAX) this.#byName.clear();
      this.#byName.set(key, lifetime);
    }
    return lifetime;
  }
}
