/** The life of each map, by the map's id: the version that it began with (see ../mutation.ts). */
import type { Version } from '../version.ts';
import type { MemoryMeter } from './memory-meter.ts';
import { type PagedIntegers, pagedIntegers } from './paged-array.ts';

export class MapLives {
  readonly #lows: PagedIntegers;
  readonly #highs: PagedIntegers;

  constructor(meter: MemoryMeter) {
    this.#lows = pagedIntegers(meter);
    this.#highs = pagedIntegers(meter);
  }

  set(map: number, life: Version): void {
    this.#lows.set(map, life.low);
    this.#highs.set(map, life.high);
  }

  /** Sets `life` to that of the map. */
  get(map: number, life: Version): void {
    life.set(this.#lows.get(map), this.#highs.get(map));
  }
}
