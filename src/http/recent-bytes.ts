/**
 * Counts the bytes moved in the last RECENT_MS, plus up to STEP_MS before that. It is a ring of sums, one
 * for each step that the period touches. Adding and reading are O(1), plus the steps passed since the last
 * call, at most the length of the ring.
 */

/** Period over which moved bytes are counted, in ms. */
export const RECENT_MS = 5000;
const STEP_MS = 250;
const STEPS = RECENT_MS / STEP_MS + 1;

export class RecentBytes {
  readonly #sums = new Float64Array(STEPS);
  /** The number of the present step, as of the last call, and the sum of the ring. */
  #step = 0;
  #total = 0;
  /** Total of moved bytes, and the time at which it was set. */
  #reached = 0;
  #reachedMs = 0;

  /** Begins a count with an earlier total of `reached` bytes, none of them recent. */
  begin(reached: number, nowMs: number): void {
    this.#sums.fill(0);
    this.#step = stepAt(nowMs);
    this.#total = 0;
    this.#reached = reached;
    this.#reachedMs = nowMs;
  }

  /** Raises the total to `reached`; the new bytes have moved just now. */
  reach(reached: number, nowMs: number): void {
    this.#add(reached - this.#reached, nowMs);
    this.#reached = reached;
    this.#reachedMs = nowMs;
  }

  /** Raises the total to `reached`; the new bytes have moved evenly since the last call. */
  reachEvenly(reached: number, nowMs: number): void {
    const share = Math.min(1, RECENT_MS / Math.max(nowMs - this.#reachedMs, 1));
    this.#add((reached - this.#reached) * share, nowMs);
    this.#reached = reached;
    this.#reachedMs = nowMs;
  }

  sum(nowMs: number): number {
    this.#advance(nowMs);
    return this.#total;
  }

  #add(bytes: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#sums[this.#step % STEPS]! += bytes;
    this.#total += bytes;
  }

  /** Removes the steps that are older than the period. */
  #advance(nowMs: number): void {
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

/** Returns the number of a step, never negative, as the clocks begin at 0 or later. */
function stepAt(nowMs: number): number {
  return Math.floor(nowMs / STEP_MS);
}
