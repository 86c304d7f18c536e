/**
 * How many bytes moved of late: in the last five seconds, and up to a quarter of a second before. A ring
 * of sums, one for each quarter that the five seconds touch; adding and asking are O(1) but for quarters
 * that have passed since, of which no more are looked at than there are in the ring.
 */

/** What counts as of late, in milliseconds. */
export const RECENT_MS = 5000;
const STEP_MS = 250;
const STEPS = RECENT_MS / STEP_MS + 1;

export class RecentBytes {
  readonly #sums = new Float64Array(STEPS);
  /** The number of the step that was added to or asked about last, and the sum of the ring. */
  #step = 0;
  #total = 0;
  /** How many bytes have moved in all, and when that was told. */
  #reached = 0;
  #reachedMs = 0;

  /** None has moved of late; `reached` have before. */
  begin(reached: number, nowMs: number): void {
    this.#sums.fill(0);
    this.#step = stepAt(nowMs);
    this.#total = 0;
    this.#reached = reached;
    this.#reachedMs = nowMs;
  }

  /** So many have moved in all, what is new of them just now. */
  reach(reached: number, nowMs: number): void {
    this.#add(reached - this.#reached, nowMs);
    this.#reached = reached;
    this.#reachedMs = nowMs;
  }

  /** The same, what is new of them evenly since that was told last. */
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
