/**
 * The dead entries and items that earlier segments and the snapshot still have, as hashes. A removal of
 * anything else has no more use. Two of them with the same hash only keep a removal without need. Their
 * number is bounded; beyond it every removal is kept.
 */
import { crc32 } from 'node:zlib';
import { CLEAR, type Mutation, OFFER } from '../engine/mutation.ts';

const COUNT_MAX = 100_000;

export class LeftBehind {
  readonly #things = new Set<number>();
  readonly #names = new Set<number>();
  /** Whether everything that is left behind is listed. */
  #isComplete: boolean;

  constructor(isComplete: boolean) {
    this.#isComplete = isComplete;
  }

  /** `hashes` come in pairs: of the name of the map or queue, and of the entry or item. */
  add(hashes: readonly number[]): void {
    for (let at = 0; at < hashes.length && this.#isComplete; at += 2) {
      this.#names.add(hashes[at] as number);
      this.#things.add(hashes[at + 1] as number);
      if (this.#things.size > COUNT_MAX) this.giveUp();
    }
  }

  /** Called when more is left behind than can be listed. */
  giveUp(): void {
    this.#isComplete = false;
    this.#things.clear();
    this.#names.clear();
  }

  /** Whether the DELETE, EXPIRE, CLEAR or REMOVE may end something that is left behind. */
  mayEnd(removal: Mutation): boolean {
    if (!this.#isComplete) return true;
    if (removal.operation === CLEAR) return this.#names.has(hashOfName(removal));
    return this.#things.has(hashOfThing(removal));
  }
}

export function hashOfName({ operation, name }: Mutation): number {
  return crc32(name.toBuffer(), operation >= OFFER ? 1 : 0);
}

/** The hash of an entry's key, or of an item's number, with the name. */
export function hashOfThing(mutation: Mutation): number {
  const { operation, key, item } = mutation;
  const named = hashOfName(mutation);
  return operation >= OFFER ? crc32(String(item), named) : crc32(key.toBuffer(), named);
}
