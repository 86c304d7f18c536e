/**
 * Measures how long a request waits for a new slab, in a process with the heap of a member that has
 * many connections: slabs allocated in advance (slab-stock.ts) beside slabs allocated on demand.
 * Each round runs in its own process.
 */
import { SystemClock } from '../src/base/clock.ts';
import { SlabStock } from '../src/engine/embedded/slab-stock.ts';
import { SLAB_BYTES } from '../src/engine/embedded/slabs.ts';
import { type Bench, type Harness, median, time } from './harness.ts';
import { apart } from './load/apart.ts';

const SLABS = 28;
const STOCK_SLABS = 32;
/**
 * Objects that remain in the heap, and objects that a turn of requests leaves for V8 to collect.
 */
const HELD_OBJECTS = 20_000;
const DROPPED_OBJECTS = 2000;
const TURNS_PER_SLAB = 20;

interface Work {
  readonly stockSlabs: number;
  /** Time in which the stock is allocated, in ms. */
  readonly beforeMs: number;
}

/** Figures of the times in which slabs were obtained, in µs. */
interface Times {
  readonly sum: number;
  readonly longest: number;
}

const takenApart = apart(import.meta.url, taken);

export const bench: Bench = {
  name: 'slab-stock',
  about: `getting ${SLABS} slabs of 32 MiB, allocated in advance and on demand`,
  async run(harness: Harness): Promise<void> {
    const beforeMs = harness.pick(0, 2000);
    const works = {
      'allocated in advance': { stockSlabs: STOCK_SLABS, beforeMs },
      'allocated on demand': { stockSlabs: 0, beforeMs },
    };
    const sides = Object.entries(works).map(([name, work]) => ({
      name,
      round: () => takenApart(work),
    }));
    for (const [index, times] of (await harness.alternate(sides)).entries()) {
      const longest = median(times.map((each) => each.longest));
      const sum = median(times.map((each) => each.sum));
      const name = `${sides[index]?.name}`.padEnd(20);
      harness.print(`${name} longest ${time(longest)}  together ${time(sum)}`);
    }
  },
};

async function taken({ stockSlabs, beforeMs }: Work): Promise<Times> {
  const stock = new SlabStock(new SystemClock(), SLAB_BYTES, stockSlabs, () => {});
  const held = objects(HELD_OBJECTS);
  await new Promise((resolve) => setTimeout(resolve, beforeMs));
  const slabs: ArrayBuffer[] = [];
  let sum = 0;
  let longest = 0;
  for (let turn = 1; turn <= SLABS * TURNS_PER_SLAB; turn++) {
    objects(DROPPED_OBJECTS);
    await new Promise((resolve) => setImmediate(resolve));
    if (turn % TURNS_PER_SLAB > 0) continue;
    const start = performance.now();
    slabs.push(stock.take());
    const us = (performance.now() - start) * 1000;
    sum += us;
    longest = Math.max(longest, us);
  }
  stock.close();
  if (held.length + slabs.length !== HELD_OBJECTS + SLABS)
    throw new Error('An object or slab is missing');
  return { sum, longest };
}

function objects(count: number): readonly object[] {
  return Array.from({ length: count }, (_, number) => ({ name: `connection ${number}`, of: {} }));
}
