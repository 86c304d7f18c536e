/**
 * Responds to requests for hash trees of this member's maps. Trees are built on request, for one
 * request at a time, in slices; if a request reads below the roots, its trees are cached for the
 * next one (tree-cache.ts). A request changes no data. Tested by tree-comparison.spec.ts.
 */

import { createHash } from 'node:crypto';
import type { Clock, Timer } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import { type PartitionTree, TREE_BYTES_MAX, treeBytes } from './partition-tree.ts';
import type { TreeMaker, TreeSource } from './tree-builder.ts';
import {
  COMPARABLE,
  indexOf,
  OTHER_DEPTH,
  OTHER_PARTITION_COUNT,
  partitionOf,
  type ReceivedTreeRequest,
  type RespondingSide,
  TURNED_OFF,
  unsealedTreesResponse,
} from './tree-messages.ts';
import type { MapTree } from './wan-maps.ts';

/** Maximum number of waiting requests; each may take as long as a pass over all data. */
const WAITING_MAX = 64;

export interface TreeParts {
  /** The data that is compared. */
  readonly source: TreeSource;
  readonly clock: Clock;
  /** Returns the configured hash trees of a map. */
  readonly treeOf: (map: Buffer) => MapTree;
}

export class TreeResponder {
  readonly #parts: TreeParts;
  readonly #cache: TreeCache;
  readonly #requests = new SerialQueue();
  #waitingCount = 0;

  constructor(parts: TreeParts) {
    this.#parts = parts;
    this.#cache = new TreeCache(parts.clock);
  }

  /** Bytes of the cached trees. */
  get cachedBytes(): number {
    return this.#cache.bytes;
  }

  /** Resolves with a response without its head. Rejects with GridError WAN_TREES_BUSY. */
  async respond(sender: Buffer, request: ReceivedTreeRequest): Promise<Buffer> {
    const side = this.#judge(request);
    if (side.reason !== COMPARABLE) return unsealedTreesResponse(side, new Uint32Array(0));
    if (this.#waitingCount >= WAITING_MAX) {
      throw new GridError('WAN_TREES_BUSY', { waitingMax: WAITING_MAX });
    }
    this.#waitingCount++;
    try {
      const sums = await this.#requests.run(() => this.#sums(sender, request));
      return unsealedTreesResponse(side, sums);
    } finally {
      this.#waitingCount--;
    }
  }

  #judge({
    map,
    depth: theirDepth,
    partitionCount: theirCount,
  }: ReceivedTreeRequest): RespondingSide {
    const { partitionCount } = this.#parts.source;
    const { isOn, depth } = this.#parts.treeOf(map);
    if (!isOn) return { reason: TURNED_OFF, depth, partitionCount };
    if (depth !== theirDepth) return { reason: OTHER_DEPTH, depth, partitionCount };
    const isSame = partitionCount === theirCount;
    return { reason: isSame ? COMPARABLE : OTHER_PARTITION_COUNT, depth, partitionCount };
  }

  async #sums(sender: Buffer, request: ReceivedTreeRequest): Promise<Uint32Array> {
    const { map, key, level, levels, nodes } = request;
    const maker = this.#parts.source.makerOf(map, key);
    const comparison = nameOf(sender, request);
    const width = 2 ** levels;
    const sums = new Uint32Array(2 * nodes.length * width);
    const trees = this.#cachedOf(comparison, request);
    let at = 0;
    for (const node of nodes) {
      const partition = partitionOf(node);
      const tree =
        trees.get(partition) ?? (await this.#made(maker, comparison, partition, request));
      trees.set(partition, tree);
      const first = indexOf(node) * width;
      for (let index = first; index < first + width; index++) {
        const { low, high } = tree.sum(level + levels, index);
        sums[at++] = low;
        sums[at++] = high;
      }
      const pause = maker.pause();
      if (pause !== undefined) await pause;
    }
    return sums;
  }

  /** Returns the cached trees and marks them as recently used, so that none of them is evicted. */
  #cachedOf(comparison: string, { nodes }: ReceivedTreeRequest): Map<number, PartitionTree> {
    const trees = new Map<number, PartitionTree>();
    for (const node of nodes) {
      const partition = partitionOf(node);
      if (trees.has(partition)) continue;
      const tree = this.#cache.get(comparison + partition);
      if (tree !== undefined) trees.set(partition, tree);
    }
    return trees;
  }

  async #made(
    maker: TreeMaker,
    comparison: string,
    partition: number,
    { depth, level, levels }: ReceivedTreeRequest,
  ): Promise<PartitionTree> {
    // Nothing more is requested from a tree that is only a root.
    if (level + levels === 0) return await maker.tree(partition, 0, false);
    const tree = await maker.tree(partition, depth - 1, false);
    this.#cache.put(comparison + partition, tree);
    return tree;
  }
}

/** Returns a hash that identifies the comparison, as names may be long. */
function nameOf(sender: Buffer, { key, depth, map }: ReceivedTreeRequest): string {
  const hash = createHash('sha256').update(sender).update(key).update(`${depth}`).update(map);
  return `${hash.digest('base64')} `;
}

/** Time after which an unused tree is dropped, in ms. */
const IDLE_MS_MAX = 10_000;

interface CachedTree {
  readonly tree: PartitionTree;
  usedMs: number;
}

/**
 * Cache of the trees that comparisons in progress have requested from this member. It has at most
 * TREE_BYTES_MAX bytes and evicts the least recently used tree. A comparison requests level after
 * level; an evicted tree is built again.
 */
class TreeCache {
  readonly #clock: Clock;
  /** Trees by name, least recently used first. */
  readonly #trees = new Map<string, CachedTree>();
  #timer: Timer | undefined;
  /** Approximate size of the trees. */
  bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(name: string): PartitionTree | undefined {
    const cached = this.#trees.get(name);
    if (cached === undefined) return undefined;
    this.#trees.delete(name);
    cached.usedMs = this.#clock.now();
    this.#trees.set(name, cached);
    return cached.tree;
  }

  /** Adds a tree under a new name. Evicts the least recently used trees to make room. */
  put(name: string, tree: PartitionTree): void {
    const bytes = treeBytes(tree.bits);
    for (const oldest of this.#trees.keys()) {
      if (this.bytes + bytes <= TREE_BYTES_MAX) break;
      this.#drop(oldest);
    }
    this.bytes += bytes;
    this.#trees.set(name, { tree, usedMs: this.#clock.now() });
    this.#timer ??= this.#clock.after(IDLE_MS_MAX, () => this.#dropUnused());
  }

  #drop(name: string): void {
    this.bytes -= treeBytes(this.#trees.get(name)!.tree.bits);
    this.#trees.delete(name);
  }

  #dropUnused(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.now();
    for (const [name, { usedMs }] of this.#trees) {
      const restMs = usedMs + IDLE_MS_MAX - nowMs;
      if (restMs > 0) {
        this.#timer = this.#clock.after(restMs, () => this.#dropUnused());
        return;
      }
      this.#drop(name);
    }
  }
}
