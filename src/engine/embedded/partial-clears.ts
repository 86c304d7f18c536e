/**
 * Clears that were merged although the map has later entries. The entries that are not later than
 * the clear are removed in steps (expiry.ts). A partial clear is recorded by the map's id until all
 * of them are removed.
 */
import { isAfter, Version } from '../version.ts';
import { ownerAt, versionHighAt, versionLowAt } from './cell.ts';

export class PartialClears {
  readonly #clears = new Map<number, Version>();
  /** Whether any map may have entries to be removed. */
  isActive = false;

  /** Records that every entry of the map that is not later than the version is to be removed. */
  add(map: number, version: Version): void {
    const recorded = this.#clears.get(map);
    if (recorded !== undefined && !version.isAfter(recorded)) return;
    this.#clears.set(map, new Version().copyFrom(version));
    this.isActive = true;
  }

  /** Ends the map's partial clear: the map has ended, or its id belongs to another map. */
  end(map: number): void {
    if (this.isActive && this.#clears.delete(map)) this.isActive = this.#clears.size > 0;
  }

  /** Ends all partial clears: every entry that they cover has been removed. */
  endAll(): void {
    this.#clears.clear();
    this.isActive = false;
  }

  /** Whether the entry is to be removed. */
  has(words: Int32Array, at: number): boolean {
    if (!this.isActive) return false;
    const clear = this.#clears.get(ownerAt(words, at));
    if (clear === undefined) return false;
    return !isAfter(versionLowAt(words, at), versionHighAt(words, at), clear.low, clear.high);
  }

  /** Sets `version` to the version of the map's partial clear, which must exist. */
  read(map: number, version: Version): void {
    version.copyFrom(this.#clears.get(map)!);
  }
}
