/** The life of each map, by the map's id: the version that it began with (see ../mutation.ts). */
import type { Version } from '../version.ts';
import type { IdColumns } from './id-columns.ts';
import type { PagedIntegers } from './paged-array.ts';

export class MapLives {
  readonly #lows: PagedIntegers;
  readonly #highs: PagedIntegers;

  constructor(ids: IdColumns) {
    this.#lows = ids.integers();
    this.#highs = ids.integers();
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
