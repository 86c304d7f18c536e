/**
 * Builds the hash trees of a map's partitions from the entries on servers, which it reads page by page.
 * Each long value is read and hashed by itself. If a list has to begin again, so does its tree: no entry
 * counts twice. Tested by server-comparison.spec.ts.
 */
import type { Clock } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import { Slices } from '../base/slices.ts';
import type { Mutation } from '../engine/mutation.ts';
import type { PartitionEntries } from '../engine/partition-entries.ts';
import { EntryHash, LeafOf } from './entry-hash.ts';
import { PartitionTree } from './partition-tree.ts';
import { type TreeMaker, type TreeSource, WORK_BYTES_SHIFT } from './tree-builder.ts';

/** Limits of a page; see PAGE_COUNT in partition-walk.ts. */
const PAGE_ROOM = { count: 250, bytes: 1_048_576 };
/** Tries to read a page, and the delay between two, in ms. */
const TRIES_MAX = 20;
const RETRY_MS = 250;
/** How often the list of a partition may begin again. */
const LISTS_MAX = 20;

interface ServerTreesParts {
  readonly entries: PartitionEntries;
  readonly clock: Clock;
  /** Called when a page was read. */
  readonly onPage?: () => void;
}

/** Returns the data of an engine on servers. Its trees reject with GridError WAN_TREES_UNREAD. */
export function serverTrees(parts: ServerTreesParts): TreeSource {
  return {
    partitionCount: parts.entries.partitionCount,
    makerOf: (map, key) => new ServerTreeMaker(parts, map, key),
  };
}

class ServerTreeMaker implements TreeMaker {
  work = 0;
  readonly #parts: ServerTreesParts;
  readonly #map: Buffer;
  readonly #hash: EntryHash;
  readonly #leafOf = new LeafOf();
  readonly #slices = new Slices();

  constructor(parts: ServerTreesParts, map: Buffer, key: Uint8Array) {
    this.#parts = parts;
    this.#map = map;
    this.#hash = new EntryHash(key);
  }

  async tree(partition: number, bits: number, hasCounts: boolean): Promise<PartitionTree> {
    for (let list = 1; list <= LISTS_MAX; list++) {
      const tree = new PartitionTree(bits, hasCounts);
      if (await this.#fill(tree, partition)) return tree;
    }
    throw unread('the servers change');
  }

  pause(): Promise<void> | undefined {
    return this.#slices.pause();
  }

  /** Adds the entries of the partition. Resolves with false if the list has to begin again. */
  async #fill(tree: PartitionTree, partition: number): Promise<boolean> {
    const { entries } = this.#parts;
    const map = this.#map;
    for (let place: Buffer | undefined; ; ) {
      const page = await this.#read(() => entries.readEntries(map, partition, place, PAGE_ROOM));
      this.#parts.onPage?.();
      if (page.beganAgain) return false;
      this.work++;
      for (const entry of page.entries) this.#add(tree, entry);
      for (const key of page.longKeys) {
        const { entry } = await this.#read(() => entries.readEntry(map, key));
        if (entry !== undefined) this.#add(tree, entry);
        const pause = this.#slices.pause();
        if (pause !== undefined) await pause;
      }
      if (page.place === undefined) return true;
      place = page.place;
      const pause = this.#slices.pause();
      if (pause !== undefined) await pause;
    }
  }

  #add(tree: PartitionTree, entry: Mutation): void {
    this.work += 1 + (entry.value.length >>> WORK_BYTES_SHIFT);
    const hash = this.#hash;
    hash.hash(entry);
    tree.add(this.#leafOf.leaf(entry.key, tree.bits), hash.low, hash.high);
  }

  async #read<Result>(read: () => Promise<Result | undefined>): Promise<Result> {
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const result = await read();
      if (result !== undefined) return result;
      await new Promise<void>((resolve) => void this.#parts.clock.after(RETRY_MS, resolve));
    }
    throw unread('the servers do not return entries');
  }
}

function unread(reason: string): GridError {
  return new GridError('WAN_TREES_UNREAD', { reason });
}
