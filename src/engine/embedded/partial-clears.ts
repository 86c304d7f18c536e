/**
 * Clears that were merged although the map has later entries. The entries that are not later than
 * the clear are removed in steps (expiry.ts). A cut is recorded by the map's id until all of them
 * are removed.
 */
import { isAfter, Version } from '../version.ts';
import { ownerAt, versionHighAt, versionLowAt } from './cell.ts';

export class MapCuts {
  readonly #cuts = new Map<number, Version>();
  /** Whether any map may have entries to be removed. */
  isActive = false;

  /** Records that every entry of the map that is not later than the version is to be removed. */
  add(map: number, version: Version): void {
    const known = this.#cuts.get(map);
    if (known !== undefined && !version.isAfter(known)) return;
    this.#cuts.set(map, new Version().copyFrom(version));
    this.isActive = true;
  }

  /** Ends the map's cut: the map has ended, or its id belongs to another map. */
  end(map: number): void {
    if (this.isActive && this.#cuts.delete(map)) this.isActive = this.#cuts.size > 0;
  }

  /** Ends all cuts: every entry that they cover has been removed. */
  endAll(): void {
    this.#cuts.clear();
    this.isActive = false;
  }

  /** Whether the entry is to be removed. */
  has(words: Int32Array, at: number): boolean {
    if (!this.isActive) return false;
    const cut = this.#cuts.get(ownerAt(words, at));
    if (cut === undefined) return false;
    return !isAfter(versionLowAt(words, at), versionHighAt(words, at), cut.low, cut.high);
  }

  /** Sets `version` to that of the map's cut, which must exist. */
  read(map: number, version: Version): void {
    version.copyFrom(this.#cuts.get(map)!);
  }
}
