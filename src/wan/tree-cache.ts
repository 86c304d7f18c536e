/**
 * Cache of the hash trees that comparisons in progress have requested from this member. It has at
 * most TREE_BYTES_MAX bytes, evicts the least recently used tree, and drops a tree IDLE_MS_MAX after
 * its last use. A comparison requests level after level; an evicted tree is built again.
 * Tested by tree-comparison.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { type PartitionTree, TREE_BYTES_MAX, treeBytes } from './partition-tree.ts';

const IDLE_MS_MAX = 10_000;

interface CachedTree {
  readonly tree: PartitionTree;
  usedMs: number;
}

export class TreeCache {
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
