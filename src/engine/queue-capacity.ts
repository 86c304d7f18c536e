/** The capacity of a queue by its name, from settings in which 0 means no limit. */
import { byName } from '../config/name-lookup.ts';

/**
 * Returns a function that returns the capacity of a queue, in items, or Infinity. `maxSizes`: items
 * by name, 0 for no limit.
 */
export function queueCapacity(maxSizes: ReadonlyMap<string, number>): (queue: Buffer) => number {
  const maxSizeOf = byName(maxSizes);
  return (queue) => maxSizeOf(queue) || Number.POSITIVE_INFINITY;
}
