/**
 * Compares a map of this member with the same map of a target by the hash trees of its partitions:
 * first the roots of many partitions per request, then, in the partitions that differ, the nodes
 * below, LEVELS levels per request.
 *
 *     roots of both sides → partitions that differ → differing nodes LEVELS lower → … → differing leaves
 *
 * Each side builds trees when they are needed, a few partitions at a time, and drops them: the
 * roots in one pass over all partitions, whole trees in a second pass over those that differ.
 * Entries that change meanwhile may count as different. A node whose sum is 0 at the target has no
 * entries there, so nothing below it is requested.
 */

import { randomBytes } from 'node:crypto';
import { GridError, reasonOf } from '../base/errors.ts';
import { textBytes } from '../base/fields.ts';
import { getOrCreate } from '../base/get-or-create.ts';
import { SETTINGS_IN_MESSAGES } from '../base/settings-in-messages.ts';
import type { Span } from '../base/span.ts';
import type { Sender } from './batch.ts';
import { HASH_KEY_BYTES, LeafOf } from './entry-hash.ts';
import { type PartitionTree, TREE_DEPTH_MAX, treesMax } from './partition-tree.ts';
import type { TreeMaker, TreeSource } from './tree-builder.ts';
import {
  COMPARABLE,
  indexOf,
  type NodeNumber,
  nodeOf,
  OTHER_DEPTH,
  partitionOf,
  readTreesResponse,
  SUMS_MAX,
  type TreeQuestion,
  TURNED_OFF,
  treeRequest,
} from './tree-messages.ts';
import type { ComparisonFigures } from './wan-status.ts';
import { statusText, type TransportResponse } from './wan-transport.ts';

/** Levels per request: fewer mean more requests, more mean more equal sums in the responses. */
const LEVELS = 3;
/** Work of this side per request (tree-builder.ts). It limits the time that the target needs. */
const WORK_A_REQUEST = 500_000;
/** Maximum number of characters of a map's name in a message. */
const NAME_LENGTH_SHOWN = 200;

/** The member that a map is compared with. */
export interface TreeTarget {
  /** Resolves with the response to the message. Rejects if there is none. */
  send(message: Buffer): Promise<TransportResponse>;
  /** The data set that must respond; undefined for any, but always the same one. */
  readonly dataSet: Uint8Array | undefined;
}

export interface Differences extends ComparisonFigures {
  /** Returns whether the entry's leaf differs. */
  has(partition: number, key: Span): boolean;
}

/** The leaves of a partition that differ, and the number of the source's entries in them. */
interface PartitionDifferences {
  readonly differentLeaves: number;
  readonly entriesToSync: number;
}

export interface ComparisonParts {
  readonly source: TreeSource;
  /** The partitions to compare; each once. */
  readonly partitions: readonly number[];
  readonly target: TreeTarget;
  readonly sender: Sender;
  /** Required name of the target's cluster. */
  readonly clusterName: string;
  readonly isCancelled: () => boolean;
  /** Called with each partition that is compared, and what differs in it. */
  onPartition(partition: number, found: PartitionDifferences): void;
}

/**
 * Compares the map. Rejects with an Error whose message is the reason why a check fails: the target
 * has turned the tree off, has another depth or partition count, or cannot be reached; or the
 * comparison was cancelled. `depth` is the number of levels of the source's trees, 2 or more; more
 * than 16 count as 16.
 */
export async function compareMap(
  parts: ComparisonParts,
  map: Buffer,
  depth: number,
): Promise<Differences> {
  return await new Comparison(parts, map, Math.min(depth, TREE_DEPTH_MAX)).run();
}

class Comparison {
  readonly #parts: ComparisonParts;
  readonly #map: Buffer;
  readonly #depth: number;
  readonly #texts: Buffer;
  readonly #key = randomBytes(HASH_KEY_BYTES);
  readonly #maker: TreeMaker;
  readonly #found: FoundDifferences;
  #dataSet: Uint8Array | undefined;

  constructor(parts: ComparisonParts, map: Buffer, depth: number) {
    const { source, clusterName, target } = parts;
    this.#parts = parts;
    this.#map = map;
    this.#depth = depth;
    this.#texts = Buffer.concat([textBytes(clusterName), textBytes(map)]);
    this.#maker = source.makerOf(map, this.#key);
    this.#found = new FoundDifferences(parts.partitions.length, depth - 1);
    this.#dataSet = target.dataSet;
  }

  async run(): Promise<Differences> {
    const { partitions, onPartition } = this.#parts;
    const different: number[] = [];
    for (let first = 0; first < partitions.length; ) {
      first += await this.#compareRoots(first, different);
    }
    for (let done = 0; done < different.length; ) {
      const end = done + (await this.#compareInside(different, done));
      for (const partition of different.slice(done, end)) {
        onPartition(partition, this.#found.of(partition));
      }
      done = end;
    }
    return this.#found;
  }

  /**
   * Compares as many partitions as fit into one request. Returns how many; adds those that differ.
   */
  async #compareRoots(first: number, different: number[]): Promise<number> {
    const { partitions, onPartition } = this.#parts;
    const end = Math.min(first + SUMS_MAX, partitions.length);
    const workEnd = this.#maker.work + WORK_A_REQUEST;
    const roots: PartitionTree[] = [];
    const nodes: NodeNumber[] = [];
    for (let at = first; at < end && this.#maker.work < workEnd; at++) {
      const partition = partitions[at]!;
      roots.push(await this.#tree(partition, 0));
      nodes.push(nodeOf(partition, 0));
    }
    const theirs = await this.#request(0, 0, nodes);
    for (const [index, root] of roots.entries()) {
      const { low, high } = root.sum(0, 0);
      const partition = partitions[first + index]!;
      if (low !== theirs[2 * index] || high !== theirs[2 * index + 1]) different.push(partition);
      else onPartition(partition, NOTHING_DIFFERENT);
    }
    return roots.length;
  }

  /**
   * Compares as many partitions, from index `first` on, as trees fit into memory. Returns how many.
   */
  async #compareInside(partitions: readonly number[], first: number): Promise<number> {
    const bits = this.#depth - 1;
    const end = Math.min(first + treesMax(bits), partitions.length);
    const workEnd = this.#maker.work + WORK_A_REQUEST;
    const trees = new Map<number, PartitionTree>();
    for (let at = first; at < end && this.#maker.work < workEnd; at++) {
      const partition = partitions[at]!;
      trees.set(partition, await this.#tree(partition, bits));
    }
    let nodes = [...trees.keys()].map((partition) => nodeOf(partition, 0));
    for (let level = 0; level < bits; ) {
      const levels = Math.min(LEVELS, bits - level);
      nodes = await this.#descend(trees, level, levels, nodes);
      level += levels;
    }
    for (const [at, node] of nodes.entries()) {
      const partition = partitionOf(node);
      this.#found.add(partition, indexOf(node), trees.get(partition)!);
      const pause = at % 1024 === 0 ? this.#maker.pause() : undefined;
      if (pause !== undefined) await pause;
    }
    return trees.size;
  }

  /** Returns the nodes that differ, `levels` levels below these. */
  async #descend(
    trees: ReadonlyMap<number, PartitionTree>,
    level: number,
    levels: number,
    nodes: readonly NodeNumber[],
  ): Promise<NodeNumber[]> {
    const width = 2 ** levels;
    const count = Math.floor(SUMS_MAX / width);
    const different: NodeNumber[] = [];
    for (let first = 0; first < nodes.length; first += count) {
      const requested = nodes.slice(first, first + count);
      const theirs = await this.#request(level, levels, requested);
      let at = 0;
      for (const node of requested) {
        const partition = partitionOf(node);
        const tree = trees.get(partition)!;
        const start = indexOf(node) * width;
        for (let index = start; index < start + width; index++, at += 2) {
          const { low, high } = tree.sum(level + levels, index);
          const theirLow = theirs[at]!;
          const theirHigh = theirs[at + 1]!;
          if (low === theirLow && high === theirHigh) continue;
          if (theirLow !== 0 || theirHigh !== 0) different.push(nodeOf(partition, index));
          else this.#found.addAll(partition, level + levels, index, tree);
        }
        const pause = this.#maker.pause();
        if (pause !== undefined) await pause;
      }
    }
    return different;
  }

  async #tree(partition: number, bits: number): Promise<PartitionTree> {
    if (this.#parts.isCancelled()) throw this.#failure('it was cancelled');
    return await this.#maker.tree(partition, bits, bits > 0);
  }

  /** Requests the target's sums: low and high words. */
  async #request(
    level: number,
    levels: number,
    nodes: readonly NodeNumber[],
  ): Promise<Uint32Array> {
    const { source, target, sender, isCancelled } = this.#parts;
    if (isCancelled()) throw this.#failure('it was cancelled');
    const { partitionCount } = source;
    const depth = this.#depth;
    const question: TreeQuestion = { key: this.#key, partitionCount, depth, level, levels, nodes };
    const message = treeRequest(sender, this.#texts, question);
    let response: TransportResponse;
    try {
      response = await target.send(message);
    } catch (error) {
      throw this.#failure(`no response from the target, ${reasonOf(error)}`);
    }
    if (response.status !== 200)
      throw this.#failure(`the target responded with ${statusText(response)}`);
    return await this.#sumsOf(response, message, question);
  }

  async #sumsOf(
    { body }: TransportResponse,
    message: Buffer,
    question: TreeQuestion,
  ): Promise<Uint32Array> {
    const response = await readTreesResponse(body, message, question).catch((error: unknown) => {
      if (!(error instanceof GridError)) throw error;
      throw this.#failure(`the target sent an invalid response, ${error.message}`);
    });
    this.#dataSet ??= Buffer.from(response.dataSet);
    if (!response.dataSet.equals(this.#dataSet)) {
      throw this.#failure('the data set of the target has changed');
    }
    const { reason, depth, partitionCount } = response;
    if (reason === COMPARABLE) return response.sums;
    if (reason === TURNED_OFF) {
      throw this.#failure('its merkle-tree is on here and off at the target');
    }
    if (reason === OTHER_DEPTH) {
      const own = question.depth;
      throw this.#failure(`its merkle-tree has depth ${own} here and ${depth} at the target`);
    }
    const own = question.partitionCount;
    const { partitionCount: setting } = SETTINGS_IN_MESSAGES;
    throw this.#failure(`${setting} is ${own} here and ${partitionCount} at the target`);
  }

  #failure(reason: string): Error {
    const name = this.#map.toString().slice(0, NAME_LENGTH_SHOWN);
    return new Error(`Cannot compare map "${name}": ${reason}`);
  }
}

const NOTHING_DIFFERENT: PartitionDifferences = { differentLeaves: 0, entriesToSync: 0 };

interface DifferentPartition {
  readonly leaves: Uint8Array;
  differentLeaves: number;
  entriesToSync: number;
}

class FoundDifferences implements Differences {
  readonly checkedPartitions: number;
  readonly checkedLeaves: number;
  differentLeaves = 0;
  entriesToSync = 0;
  readonly #bits: number;
  readonly #leafOf = new LeafOf();
  /** By partition, what differs in it, and a bit for each leaf that differs. */
  readonly #partitions = new Map<number, DifferentPartition>();

  constructor(partitionCount: number, bits: number) {
    this.#bits = bits;
    this.checkedPartitions = partitionCount;
    this.checkedLeaves = partitionCount * 2 ** bits;
  }

  get differentPartitions(): number {
    return this.#partitions.size;
  }

  has(partition: number, key: Span): boolean {
    const leaves = this.#partitions.get(partition)?.leaves;
    if (leaves === undefined) return false;
    const leaf = this.#leafOf.leaf(key, this.#bits);
    return (leaves[leaf >>> 3]! & (1 << (leaf & 7))) !== 0;
  }

  of(partition: number): PartitionDifferences {
    return this.#partitions.get(partition) ?? NOTHING_DIFFERENT;
  }

  add(partition: number, leaf: number, tree: PartitionTree): void {
    const bytes = Math.ceil(2 ** this.#bits / 8);
    const found = getOrCreate(this.#partitions, partition, () => {
      return { leaves: new Uint8Array(bytes), differentLeaves: 0, entriesToSync: 0 };
    });
    found.leaves[leaf >>> 3]! |= 1 << (leaf & 7);
    found.differentLeaves++;
    found.entriesToSync += tree.counts![leaf]!;
    this.differentLeaves++;
    this.entriesToSync += tree.counts![leaf]!;
  }

  /** Adds every leaf below the node that has entries. */
  addAll(partition: number, level: number, index: number, tree: PartitionTree): void {
    const width = 2 ** (this.#bits - level);
    for (let leaf = index * width; leaf < (index + 1) * width; leaf++) {
      if (tree.counts![leaf] !== 0) this.add(partition, leaf, tree);
    }
  }
}
