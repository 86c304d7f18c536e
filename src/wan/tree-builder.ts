/**
 * Builds the hash trees of a map's partitions. A pass over a partition visits the entries of all
 * maps, in steps and in slices of the event loop, and hashes those of the requested map. Each long
 * value is hashed in a step of its own. An entry that changes during the pass counts in its old or
 * new form. Tested by tree-comparison.spec.ts.
 */
import { Slices } from '../base/slices.ts';
import type { Span } from '../base/span.ts';
import { type Mutation, SET } from '../engine/mutation.ts';
import { type StoredEngine, type StoredVisitor, VisitCursor } from '../engine/stored-engine.ts';
import { EntryHash, LeafOf } from './entry-hash.ts';
import { PartitionTree } from './partition-tree.ts';

/** Entries per step. Small, as each may have a value of almost LONG_BYTES. */
const STEP_BUDGET = 16;
/** Length from which a value is hashed in a step of its own, in bytes. */
const LONG_BYTES = 262_144;
/** `longIndex` of the steps that skip long values. */
const NO_LONG = -1;
/** Binary logarithm of the bytes whose hashing counts as much work as visiting one entry. */
export const WORK_BYTES_SHIFT = 8;

/** Builds hash trees of a map's partitions; calls of `tree` must not overlap. */
export interface TreeMaker {
  /** Work done: about 1 per entry, and 1 per 256 bytes hashed. */
  readonly work: number;
  /** Builds the tree of a partition, with 2^bits leaves. */
  tree(partition: number, bits: number, hasCounts: boolean): Promise<PartitionTree>;
  /** Returns the promise to wait for before more work; undefined if work may continue at once. */
  pause(): Promise<void> | undefined;
}

/** The data of which trees are built. */
export interface TreeSource {
  readonly partitionCount: number;
  /** Returns a builder for the map. `key`: the hash key of HASH_KEY_BYTES bytes. */
  makerOf(map: Buffer, key: Uint8Array): TreeMaker;
}

/** Returns the data of an engine that stores it in this member. */
export function treesOf(engine: Pick<StoredEngine, 'partitionCount' | 'visit'>): TreeSource {
  return {
    partitionCount: engine.partitionCount,
    makerOf: (map, key) => new TreeBuilder(engine, map, key),
  };
}

class TreeBuilder implements TreeMaker, StoredVisitor {
  /** Work done: 1 per entry of any map, and 1 per 256 bytes hashed. */
  work = 0;
  readonly #engine: Pick<StoredEngine, 'visit'>;
  readonly #map: Buffer;
  readonly #hash: EntryHash;
  readonly #leafOf = new LeafOf();
  /** Shared by all trees in sequence, as each may take less than a slice. */
  readonly #slices = new Slices();
  #tree = new PartitionTree(0, false);
  /** Index of the long value that the current step hashes, among those that it visits. */
  #longIndex = NO_LONG;
  /** Number of long values that the current step has visited. */
  #longCount = 0;

  /** `key`: the hash key of HASH_KEY_BYTES bytes. */
  constructor(engine: Pick<StoredEngine, 'visit'>, map: Buffer, key: Uint8Array) {
    this.#engine = engine;
    this.#map = map;
    this.#hash = new EntryHash(key);
  }

  async tree(partition: number, bits: number, hasCounts: boolean): Promise<PartitionTree> {
    const tree = new PartitionTree(bits, hasCounts);
    const slices = this.#slices;
    const cursor = new VisitCursor();
    for (let isMore = true; isMore; ) {
      const { place } = cursor;
      isMore = this.#step(tree, partition, cursor, NO_LONG);
      const longCount = this.#longCount;
      for (let index = 0; index < longCount; index++) {
        await slices.pause();
        const nextCursor = new VisitCursor();
        nextCursor.place = place;
        this.#step(tree, partition, nextCursor, index);
      }
      const pause = slices.pause();
      if (pause !== undefined) await pause;
    }
    return tree;
  }

  pause(): Promise<void> | undefined {
    return this.#slices.pause();
  }

  onStored(stored: Mutation): void {
    this.work++;
    if (stored.operation !== SET || !this.#isOfMap(stored.name)) return;
    const { length } = stored.value;
    if (length >= LONG_BYTES) {
      if (this.#longCount++ !== this.#longIndex) return;
    } else if (this.#longIndex !== NO_LONG) return;
    this.work += length >>> WORK_BYTES_SHIFT;
    const hash = this.#hash;
    hash.hash(stored);
    const tree = this.#tree;
    tree.add(this.#leafOf.leaf(stored.key, tree.bits), hash.low, hash.high);
  }

  /** Visits the entries of one step. Returns whether more remain. */
  #step(tree: PartitionTree, partition: number, cursor: VisitCursor, longIndex: number): boolean {
    this.#tree = tree;
    this.#longIndex = longIndex;
    this.#longCount = 0;
    return this.#engine.visit(partition, cursor, STEP_BUDGET, this);
  }

  #isOfMap({ bytes, start, end }: Span): boolean {
    const map = this.#map;
    if (end - start !== map.length) return false;
    for (let at = map.length - 1; at >= 0; at--) if (bytes[start + at] !== map[at]) return false;
    return true;
  }
}
