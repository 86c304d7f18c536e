/**
 * The trees that comparisons under way have asked a member for: at most TREE_BYTES_MAX in all, the ones used
 * last, and each for KEPT_MS after its last use. A comparison asks level by level; a tree that has gone is
 * made again.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { type PartitionTree, TREE_BYTES_MAX, treeBytes } from './partition-tree.ts';

const KEPT_MS = 10_000;

interface KeptTree {
  readonly tree: PartitionTree;
  usedMs: number;
}

export class KeptTrees {
  readonly #clock: Clock;
  /** By name, the one used last at the end. */
  readonly #trees = new Map<string, KeptTree>();
  #timer: Timer | undefined;
  /** Of the trees, about. */
  bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(name: string): PartitionTree | undefined {
    const kept = this.#trees.get(name);
    if (kept === undefined) return undefined;
    this.#trees.delete(name);
    kept.usedMs = this.#clock.now();
    this.#trees.set(name, kept);
    return kept.tree;
  }

  /** The name has no tree. Those that were used longest ago make room. */
  put(name: string, tree: PartitionTree): void {
    const bytes = treeBytes(tree.bits);
    for (const oldest of this.#trees.keys()) {
      if (this.bytes + bytes <= TREE_BYTES_MAX) break;
      this.#drop(oldest);
    }
    this.bytes += bytes;
    this.#trees.set(name, { tree, usedMs: this.#clock.now() });
    this.#timer ??= this.#clock.after(KEPT_MS, () => this.#dropUnused());
  }

  #drop(name: string): void {
    this.bytes -= treeBytes(this.#trees.get(name)!.tree.bits);
    this.#trees.delete(name);
  }

  #dropUnused(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.now();
    for (const [name, { usedMs }] of this.#trees) {
      const restMs = usedMs + KEPT_MS - nowMs;
      if (restMs > 0) {
        this.#timer = this.#clock.after(restMs, () => this.#dropUnused());
        return;
      }
      this.#drop(name);
    }
  }
}
