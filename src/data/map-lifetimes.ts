/**
 * Lifetimes of a map's entries, by the map's name, from the settings of maps. Every write looks
 * them up.
 */
import { MapSettings, nameAmong } from '../config/name-lookup.ts';
import { FOREVER, type Lifetime } from '../engine/engine.ts';

export class MapLifetimes extends MapSettings<Lifetime> {
  /** The arguments are those of `replace`. */
  constructor(
    timeToLiveSeconds: ReadonlyMap<string, number>,
    maxIdleSeconds: ReadonlyMap<string, number>,
  ) {
    super(FOREVER);
    this.replace(timeToLiveSeconds, maxIdleSeconds);
  }

  /** Replaces the settings: seconds by name or pattern; 0 means that entries do not expire. */
  replace(
    timeToLiveSeconds: ReadonlyMap<string, number>,
    maxIdleSeconds: ReadonlyMap<string, number>,
  ): void {
    if (timeToLiveSeconds.size + maxIdleSeconds.size === 0) return this.configure(undefined);
    const nameFor = nameAmong(timeToLiveSeconds, maxIdleSeconds);
    this.configure((map) => {
      const name = nameFor(map);
      if (name === undefined) return undefined;
      const timeToLiveMs = (timeToLiveSeconds.get(name) ?? 0) * 1000;
      return { timeToLiveMs, maxIdleSeconds: maxIdleSeconds.get(name) ?? 0 };
    });
  }
}
