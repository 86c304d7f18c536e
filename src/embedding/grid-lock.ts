/** A lock of the program that embeds the member. Tested by member-locks.spec.ts. */
/// <reference lib="esnext.disposable" preserve="true" />
import type { GivingUp } from '../local/known-options.ts';

/** AbortSignal, or the part of it that a poll needs if the program's types have none. */
export type LockSignal = typeof globalThis extends { AbortSignal: { prototype: infer Signal } }
  ? Signal
  : GivingUp;

/**
 * A lock that this program holds until `release`, until `signal` aborts, or until the member ends.
 * With `await using`, it is released at the end of the block.
 */
export class GridLock {
  /** The name as text. */
  readonly name: string;
  /** Number that is later than that of every earlier holder of the lock. Below 2^53. */
  readonly fence: number;
  /**
   * Aborts with a GridError when the lock is lost: up to 5 s before another session can take it if no
   * heartbeat gets through, otherwise once its session has ended. Not after `release`.
   */
  readonly signal: LockSignal;
  readonly #release: () => Promise<void>;
  #released: Promise<void> | undefined;

  /** @internal */
  constructor(name: string, fence: number, signal: LockSignal, release: () => Promise<void>) {
    this.name = name;
    this.fence = fence;
    this.signal = signal;
    this.#release = release;
  }

  /**
   * Releases the lock; does nothing if it is lost or released. Rejects with GridError if the member
   * cannot do it: the lock then ends by itself, with its session.
   */
  release(): Promise<void> {
    this.#released ??= this.#release();
    return this.#released;
  }

  /** Releases the lock; see `release`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
