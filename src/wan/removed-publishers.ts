/**
 * Remembers the event counts of removed publishers: a publisher that is added again with the same
 * names continues them, so that its counters never go back. The last REMEMBERED_MAX are remembered.
 * Tested by wan-metrics.spec.ts.
 */

/** Maximum number of removed publishers that are remembered. */
const REMEMBERED_MAX = 1000;

/** Numbers of events since the start of the member. */
export interface EventCounts {
  readonly sent: number;
  readonly dropped: number;
  readonly rejected: number;
}

const NO_EVENTS: EventCounts = { sent: 0, dropped: 0, rejected: 0 };

export class RemovedPublishers {
  /** By replication and publisher, in the order in which they were removed. */
  readonly #counts = new Map<string, EventCounts>();

  /** Remembers the counts of a removed publisher. */
  add(replication: string, publisherId: string, counts: EventCounts): void {
    this.#counts.set(nameOf(replication, publisherId), counts);
    if (this.#counts.size <= REMEMBERED_MAX) return;
    const oldest = this.#counts.keys().next().value;
    if (oldest !== undefined) this.#counts.delete(oldest);
  }

  /** Returns the counts of a removed publisher, which is added again, and forgets them. */
  take(replication: string, publisherId: string): EventCounts {
    const name = nameOf(replication, publisherId);
    const counts = this.#counts.get(name) ?? NO_EVENTS;
    this.#counts.delete(name);
    return counts;
  }
}

function nameOf(replication: string, publisherId: string): string {
  return JSON.stringify([replication, publisherId]);
}
