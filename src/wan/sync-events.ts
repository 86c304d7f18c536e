/**
 * Events of a section of entries of a synchronisation, from the entries of a partition of servers.
 * Tested by server-tasks.spec.ts.
 */
import type { Version } from '../engine/version.ts';
import type { LaneEvents } from './batch.ts';

export class SyncEvents implements LaneEvents {
  readonly number: number;
  readonly syncBegan: Version;
  readonly #events: readonly Buffer[];
  readonly #firstNumber: number;

  /** `firstNumber`: the number of the first event; the others follow it. */
  constructor(
    partition: number,
    syncBegan: Version,
    events: readonly Buffer[],
    firstNumber: number,
  ) {
    this.number = partition;
    this.syncBegan = syncBegan;
    this.#events = events;
    this.#firstNumber = firstNumber;
  }

  get count(): number {
    return this.#events.length;
  }

  /** Length of the events, in bytes. */
  get bytes(): number {
    return this.#events.reduce((sum, { length }) => sum + length, 0);
  }

  numberOf(index: number): number {
    return this.#firstNumber + index;
  }

  copyTo(to: Buffer, at: number, count: number): number {
    let next = at;
    for (let index = 0; index < count; index++) next += this.#events[index]!.copy(to, next);
    return next;
  }

  /** Returns the events from index `start` to before `end`, with the same numbers. */
  slice(start: number, end?: number): SyncEvents {
    const events = this.#events.slice(start, end);
    return new SyncEvents(this.number, this.syncBegan, events, this.#firstNumber + start);
  }
}
