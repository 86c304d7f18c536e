/** The number of items that a queue may have, by its name, from settings where 0 is no limit. */
import { byName } from './by-name.ts';

/** Items by name, 0 for no limit; returns a positive number of items, or Infinity. */
export function queueCapacity(maxSizes: ReadonlyMap<string, number>): (queue: Buffer) => number {
  const maxSizeOf = byName(maxSizes);
  return (queue) => maxSizeOf(queue) || Number.POSITIVE_INFINITY;
}
