/**
 * The version of an entry or an item: 48 bits of milliseconds since 1970 and 16 bits of counter, in
 * two words, as JavaScript's numbers have 53 bits. If a key has several versions, from any source,
 * the latest wins. 0 means none. Tested by embedded/tombstones.spec.ts.
 */
export class Version {
  /** The lower 16 bits of the milliseconds, then the counter. */
  low = 0;
  /** The upper 32 bits of the milliseconds. */
  high = 0;

  set(low: number, high: number): this {
    this.low = low | 0;
    this.high = high | 0;
    return this;
  }

  copyFrom(other: Version): this {
    return this.set(other.low, other.high);
  }

  clear(): this {
    return this.set(0, 0);
  }

  /** Sets it to the version right before it; the version must not be none. */
  stepBack(): this {
    return this.set(this.low - 1, this.low === 0 ? this.high - 1 : this.high);
  }

  /** Sets it to the version right after it. */
  stepForward(): this {
    return this.set(this.low + 1, this.low === -1 ? this.high + 1 : this.high);
  }

  get isNone(): boolean {
    return this.low === 0 && this.high === 0;
  }

  is(other: Version): boolean {
    return this.low === other.low && this.high === other.high;
  }

  isAfter(other: Version): boolean {
    return isAfter(this.low, this.high, other.low, other.high);
  }
}

/** Whether the first version (low and high word) is the later one. */
export function isAfter(low: number, high: number, otherLow: number, otherHigh: number): boolean {
  return high === otherHigh ? low >>> 0 > otherLow >>> 0 : high >>> 0 > otherHigh >>> 0;
}

/** Returns the time of a version in ms since 1970, given its two words. */
export function msOf(low: number, high: number): number {
  return (high >>> 0) * 2 ** 16 + (low >>> 16);
}
