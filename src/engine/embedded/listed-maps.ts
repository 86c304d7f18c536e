/**
 * The names of all maps except the reserved one, for figures. Made for one scrape, as the reserved
 * map's id may change. Tested by engine/data-figures.spec.ts.
 */
import { isReservedMap, RESERVED_MAP } from '../../base/reserved-map.ts';
import type { Span } from '../../base/span.ts';
import type { StoredNames } from '../data-figures.ts';
import type { NameTable } from './name-table.ts';

export class ListedMaps implements StoredNames {
  readonly #names: NameTable;
  /** Id of the reserved map; 0 while it has no entries. */
  readonly #reserved: number;

  constructor(names: NameTable) {
    this.#names = names;
    this.#reserved = names.find(RESERVED_MAP);
  }

  get count(): number {
    return this.#names.count - (this.#reserved === 0 ? 0 : 1);
  }

  /** Number of entries of these maps. */
  get entryCount(): number {
    return this.#names.useCount - (this.#reserved === 0 ? 0 : this.#names.uses(this.#reserved));
  }

  find(name: Span): number {
    return isReservedMap(name) ? 0 : this.#names.find(name);
  }

  /** May return the reserved map's id: as that of a map that is cleared, it has no name. */
  next(id: number): number {
    return this.#names.next(id);
  }

  name(id: number, span: Span): void {
    this.#names.name(id, span);
  }
}
