/**
 * The counts in the responses to a lane's sections. They are counted since a section first began with
 * its first number, so a section that is sent again reports earlier ones once more.
 * Tested by publisher.spec.ts.
 */

/** Entries not taken, and events rejected. */
interface Counts {
  readonly notTaken: number;
  readonly rejected: number;
}

export class ResponseCounts<LaneKey> {
  /** By lane, the counts in the last response, and the number of its section's first event. */
  readonly #last = new Map<LaneKey, Counts & { readonly firstNumber: number }>();

  /** Returns how many were added since the previous response to a section with the same first number. */
  newly(lane: LaneKey, firstNumber: number, { notTaken, rejected }: Counts): Counts {
    const before = this.#last.get(lane);
    this.#last.set(lane, { firstNumber, notTaken, rejected });
    if (before?.firstNumber !== firstNumber) return { notTaken, rejected };
    return { notTaken: notTaken - before.notTaken, rejected: rejected - before.rejected };
  }

  /** Forgets the counts: the target begins to count again. */
  clear(): void {
    this.#last.clear();
  }
}
