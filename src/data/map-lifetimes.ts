/**
 * Lifetimes of a map's entries, by the map's name, from the settings of maps. Every write looks
 * them up.
 */
import type { Span } from '../base/span.ts';
import { MapSettings, nameAmong } from '../config/name-lookup.ts';
import { FOREVER, type Lifetime } from '../engine/engine.ts';

export class MapLifetimes {
  readonly #settings = new MapSettings<Lifetime>(FOREVER);

  /** The arguments are those of `replace`. */
  constructor(
    timeToLiveSeconds: ReadonlyMap<string, number>,
    maxIdleSeconds: ReadonlyMap<string, number>,
  ) {
    this.replace(timeToLiveSeconds, maxIdleSeconds);
  }

  /** Replaces the settings: seconds by name or pattern; 0 means that entries do not expire. */
  replace(
    timeToLiveSeconds: ReadonlyMap<string, number>,
    maxIdleSeconds: ReadonlyMap<string, number>,
  ): void {
    if (timeToLiveSeconds.size + maxIdleSeconds.size === 0)
      return this.#settings.configure(undefined);
    const nameFor = nameAmong(timeToLiveSeconds, maxIdleSeconds);
    this.#settings.configure((map) => {
      const name = nameFor(map);
      if (name === undefined) return undefined;
      const timeToLiveMs = (timeToLiveSeconds.get(name) ?? 0) * 1000;
      return { timeToLiveMs, maxIdleSeconds: maxIdleSeconds.get(name) ?? 0 };
    });
  }

  /** Returns the lifetime of the map's entries. */
  of(map: Span): Lifetime {
    return this.#settings.of(map);
  }
}
