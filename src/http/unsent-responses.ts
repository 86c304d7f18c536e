/**
 * The responses that have been written and not yet handed to their carriers, so that each is counted with
 * its duration when it leaves. A run of responses has a list of them, a number; equal ones are one entry,
 * so a list usually has one. The entries of all connections of a server are in one table, so that a
 * response allocates nothing. Tested by traffic.spec.ts.
 */
import assert from 'node:assert';
import { type TrafficMeter, withStatus } from './traffic-meter.ts';

/** The list without a response. */
export const NO_RESPONSES = 0;
/** Number of entries of an unused table. */
const ENTRIES_MIN = 256;

export class UnsentResponses {
  readonly #meter: TrafficMeter;
  #exchanges = new Int32Array(ENTRIES_MIN);
  #counts = new Int32Array(ENTRIES_MIN);
  /** Time at which the requests were complete, in ms. */
  #beganMs = new Float64Array(ENTRIES_MIN);
  /** The next entry of the list, or of the free entries. */
  #next = new Int32Array(ENTRIES_MIN);
  #free = NO_RESPONSES;
  /** Number of entries that are in a list or free, with NO_RESPONSES. */
  #end = 1;
  /** Number of entries in lists. */
  #used = 0;

  constructor(meter: TrafficMeter) {
    this.#meter = meter;
  }

  /** Adds equal responses to the list. Returns the list. */
  add(list: number, exchange: number, beganMs: number, count = 1): number {
    if (
      list !== NO_RESPONSES &&
      this.#exchanges[list] === exchange &&
      this.#beganMs[list] === beganMs
    ) {
      this.#counts[list]! += count;
      return list;
    }
    const entry = this.#acquire();
    this.#exchanges[entry] = exchange;
    this.#counts[entry] = count;
    this.#beganMs[entry] = beganMs;
    this.#next[entry] = list;
    return entry;
  }

  /** Joins two lists. O(entries of `other`). */
  join(list: number, other: number): number {
    if (list === NO_RESPONSES || other === NO_RESPONSES) return list + other;
    let last = other;
    while (this.#next[last] !== NO_RESPONSES) last = this.#next[last]!;
    this.#next[last] = list;
    return other;
  }

  /** Changes the status of all responses of the list. */
  setStatus(list: number, status: number): void {
    for (let entry = list; entry !== NO_RESPONSES; entry = this.#next[entry]!)
      this.#exchanges[entry] = withStatus(this.#exchanges[entry]!, status);
  }

  /** Counts the responses of the list, which have been handed over, and ends it. */
  count(list: number, nowMs: number): void {
    for (let entry = list; entry !== NO_RESPONSES; entry = this.#release(entry)) {
      const durationMs = nowMs - this.#beganMs[entry]!;
      this.#meter.countResponses(this.#exchanges[entry]!, this.#counts[entry]!, durationMs);
    }
  }

  /** Ends the list of a client that has disconnected. */
  drop(list: number): void {
    for (let entry = list; entry !== NO_RESPONSES; ) entry = this.#release(entry);
  }

  #acquire(): number {
    this.#used++;
    const entry = this.#free;
    if (entry !== NO_RESPONSES) {
      this.#free = this.#next[entry]!;
      return entry;
    }
    if (this.#end === this.#next.length) this.#resize(2 * this.#end);
    return this.#end++;
  }

  /** Frees an entry. Returns the next one of its list. */
  #release(entry: number): number {
    const next = this.#next[entry]!;
    this.#next[entry] = this.#free;
    this.#free = entry;
    if (--this.#used > 0 || this.#end <= ENTRIES_MIN) return next;
    assert(next === NO_RESPONSES, 'the last entry of all lists');
    this.#free = NO_RESPONSES;
    this.#end = 1;
    this.#resize(ENTRIES_MIN);
    return next;
  }

  /** Changes the number of entries; those beyond the new one are lost. */
  #resize(length: number): void {
    const resized = <Numbers extends Int32Array | Float64Array>(old: Numbers, next: Numbers) => {
      next.set(old.subarray(0, length));
      return next;
    };
    this.#exchanges = resized(this.#exchanges, new Int32Array(length));
    this.#counts = resized(this.#counts, new Int32Array(length));
    this.#beganMs = resized(this.#beganMs, new Float64Array(length));
    this.#next = resized(this.#next, new Int32Array(length));
  }
}
