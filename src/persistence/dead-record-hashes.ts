/**
 * Hashes of the dead entries and items whose records are still in earlier segments or the snapshot.
 * A removal of anything else is no longer needed. A hash collision only retains a removal without
 * need. The number of hashes is bounded; beyond it every removal is retained.
 * Tested by tombstones.spec.ts.
 */
import { crc32 } from 'node:zlib';
import { CLEAR, type Mutation, OFFER } from '../engine/mutation.ts';

const COUNT_MAX = 100_000;

export class DeadRecordHashes {
  readonly #contents = new Set<number>();
  readonly #names = new Set<number>();
  /** Whether all dead records are listed. */
  #isComplete: boolean;

  constructor(isComplete: boolean) {
    this.#isComplete = isComplete;
  }

  /**
   * Adds hashes in pairs: the hash of the name of the map or queue, then that of the entry or item.
   */
  add(hashes: readonly number[]): void {
    for (let at = 0; at < hashes.length && this.#isComplete; at += 2) {
      this.#names.add(hashes[at] as number);
      this.#contents.add(hashes[at + 1] as number);
      if (this.#contents.size > COUNT_MAX) this.stopListing();
    }
  }

  /**
   * Stops listing, after which every removal is retained. Called if dead records cannot be listed.
   */
  stopListing(): void {
    this.#isComplete = false;
    this.#contents.clear();
    this.#names.clear();
  }

  /** Whether the DELETE, EXPIRE, CLEAR or REMOVE may remove one of the listed entries or items. */
  mayRemove(removal: Mutation): boolean {
    if (!this.#isComplete) return true;
    if (removal.operation === CLEAR) return this.#names.has(hashOfName(removal));
    return this.#contents.has(hashOfEntryOrItem(removal));
  }
}

export function hashOfName({ operation, name }: Mutation): number {
  return crc32(name.toBuffer(), operation >= OFFER ? 1 : 0);
}

/** Returns the hash of an entry's key, or of an item's number, combined with the name. */
export function hashOfEntryOrItem(mutation: Mutation): number {
  const { operation, key, item } = mutation;
  const named = hashOfName(mutation);
  return operation >= OFFER ? crc32(String(item), named) : crc32(key.toBuffer(), named);
}
