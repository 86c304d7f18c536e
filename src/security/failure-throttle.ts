/**
 * Counts failed logins by key (failed-logins.ts). After five within ten seconds, or the
 * constructor's number, the key has to wait until the oldest of the last five is ten seconds old.
 * An attempt counts as failed from its start until it proves right.
 *
 * The table is bounded. A key is dropped once its last failure is ten seconds old. A full table
 * first looks for such keys; if it finds none, it reports that it has no room.
 */

const FAILURES_MAX = 5;
const WINDOW_MS = 10_000;
const KEYS_MAX = 10_000;

export class FailureThrottle {
  readonly #keysMax: number;
  readonly #failuresMax: number;
  /**
   * Start times of the last counted attempts by key, oldest first. The least recently used keys
   * come first.
   */
  readonly #attempts = new Map<string, number[]>();

  constructor(keysMax: number = KEYS_MAX, failuresMax: number = FAILURES_MAX) {
    this.#keysMax = keysMax;
    this.#failuresMax = failuresMax;
  }

  /** Returns the time that the key has to wait before its next attempt, in ms; 0 for none. */
  waitMs(key: string, nowMs: number): number {
    const starts = this.#attempts.get(key);
    if (starts === undefined) return 0;
    dropOld(starts, nowMs);
    const oldest = starts[0];
    if (oldest === undefined) this.#attempts.delete(key);
    return oldest === undefined || starts.length < this.#failuresMax
      ? 0
      : oldest + WINDOW_MS - nowMs;
  }

  /** Whether an attempt of the key can be counted without dropping another key. */
  hasRoom(key: string, nowMs: number): boolean {
    if (this.#attempts.size < this.#keysMax || this.#attempts.has(key)) return true;
    for (const [old, starts] of this.#attempts) {
      dropOld(starts, nowMs);
      if (starts.length > 0) break;
      this.#attempts.delete(old);
    }
    return this.#attempts.size < this.#keysMax;
  }

  /** Counts an attempt. In a full table it replaces the least recently used key. */
  begin(key: string, nowMs: number): void {
    const starts = this.#attempts.get(key) ?? [];
    if (!this.hasRoom(key, nowMs)) this.#attempts.delete(this.#attempts.keys().next().value ?? '');
    starts.push(nowMs);
    if (starts.length > this.#failuresMax) starts.shift();
    this.#attempts.delete(key);
    this.#attempts.set(key, starts);
  }

  /** Withdraws the attempt that started at `startMs`: it proved right. */
  withdraw(key: string, startMs: number): void {
    const starts = this.#attempts.get(key) ?? [];
    const at = starts.indexOf(startMs);
    if (at !== -1) starts.splice(at, 1);
    if (starts.length === 0) this.#attempts.delete(key);
  }

  /** Number of keys in the table. */
  get size(): number {
    return this.#attempts.size;
  }
}

function dropOld(starts: number[], nowMs: number): void {
  while (starts[0] !== undefined && starts[0] + WINDOW_MS <= nowMs) starts.shift();
}
