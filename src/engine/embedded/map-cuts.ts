/**
 * Clears that were merged although the map has later entries: those that are not later than the clear go in
 * steps (expiry.ts). By the map's id, until all are gone.
 */
import { isAfter, Version } from '../version.ts';
import { ownerAt, versionHighAt, versionLowAt } from './cell.ts';

export class MapCuts {
  readonly #cuts = new Map<number, Version>();
  /** Whether entries of any map may have to go. */
  isActive = false;

  /** Everything in the map that is not later than the version is to go. */
  add(map: number, version: Version): void {
    const known = this.#cuts.get(map);
    if (known !== undefined && !version.isAfter(known)) return;
    this.#cuts.set(map, new Version().copyFrom(version));
    this.isActive = true;
  }

  /** The map has ended, or its id is another map's. */
  end(map: number): void {
    if (this.isActive && this.#cuts.delete(map)) this.isActive = this.#cuts.size > 0;
  }

  /** Everything that was to go has gone. */
  endAll(): void {
    this.#cuts.clear();
    this.isActive = false;
  }

  /** Whether the entry is to go. */
  has(words: Int32Array, at: number): boolean {
    if (!this.isActive) return false;
    const cut = this.#cuts.get(ownerAt(words, at));
    if (cut === undefined) return false;
    return !isAfter(versionLowAt(words, at), versionHighAt(words, at), cut.low, cut.high);
  }

  /** Sets `version` to that of the map's cut, which there is. */
  read(map: number, version: Version): void {
    version.copyFrom(this.#cuts.get(map)!);
  }
}
