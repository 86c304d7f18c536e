/**
 * The numbers of versions, as the clocks of partitions count them (layout.ts): microseconds since 1970.
 * The version of a number has its milliseconds; its counter is the microseconds in a millisecond,
 * times 65.536, rounded up. So a version is later than every version with a lower number.
 * Tested by redis-merges.spec.ts.
 */
import { msOf, type Version } from '../version.ts';

const MICROS_A_MS = 1000;
const COUNTERS_A_MS = 2 ** 16;

/** Sets `version` to that of the number, and returns it. */
export function setVersion(version: Version, number: number): Version {
  const ms = Math.floor(number / MICROS_A_MS);
  const counter = Math.ceil(((number % MICROS_A_MS) * COUNTERS_A_MS) / MICROS_A_MS);
  return version.set(
    (ms % COUNTERS_A_MS) * COUNTERS_A_MS + counter,
    Math.floor(ms / COUNTERS_A_MS),
  );
}

/** Returns the number of the version: the version of the next number is later. */
export function numberOf({ low, high }: Version): number {
  const counter = low & (COUNTERS_A_MS - 1);
  return msOf(low, high) * MICROS_A_MS + Math.floor((counter * MICROS_A_MS) / COUNTERS_A_MS);
}
