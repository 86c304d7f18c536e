/**
 * The count of bytes that moved of late: in the last five seconds, and up to a quarter of a second
 * before. A ring of sums, one for each quarter that the five seconds touch. Adding and reading are O(1)
 * but for quarters that have passed since, of which at most the ring's length are visited.
 */

/** The time that counts as of late, in milliseconds. */
export const RECENT_MS = 5000;
const STEP_MS = 250;
const STEPS = RECENT_MS / STEP_MS + 1;

export class RecentBytes {
  readonly #sums = new Float64Array(STEPS);
  /** The number of the last step that was added to or read, and the sum of the ring. */
  #step = 0;
  #total = 0;
  /** Bytes that have moved in all, and the time of that count. */
  #reached = 0;
  #reachedMs = 0;

  /** No byte has moved of late; `reached` have before. */
  begin(reached: number, nowMs: number): void {
    this.#sums.fill(0);
    this.#step = stepAt(nowMs);
    this.#total = 0;
    this.#reached = reached;
    this.#reachedMs = nowMs;
  }

  /** So many bytes have moved in all, the new ones just now. */
  reach(reached: number, nowMs: number): void {
    this.#add(reached - this.#reached, nowMs);
    this.#reached = reached;
    this.#reachedMs = nowMs;
  }

  /** The same, the new ones evenly since the last call. */
  reachEvenly(reached: number, nowMs: number): void {
    const share = Math.min(1, RECENT_MS / Math.max(nowMs - this.#reachedMs, 1));
    this.#add((reached - this.#reached) * share, nowMs);
    this.#reached = reached;
    this.#reachedMs = nowMs;
  }

  sum(nowMs: number): number {
    this.#forget(nowMs);
    return this.#total;
  }

  #add(bytes: number, nowMs: number): void {
    this.#forget(nowMs);
    this.#sums[this.#step % STEPS]! += bytes;
    this.#total += bytes;
  }

  /** Leaves out the steps that are no longer of late. */
  #forget(nowMs: number): void {
    const step = stepAt(nowMs);
    const passed = Math.min(step - this.#step, STEPS);
    for (let count = 1; count <= passed; count++) {
      const at = (this.#step + count) % STEPS;
      this.#total -= this.#sums[at]!;
      this.#sums[at] = 0;
    }
    this.#step = step;
  }
}

/** From 0 up, as no clock here begins before 0. */
function stepAt(nowMs: number): number {
  return Math.floor(nowMs / STEP_MS);
}
