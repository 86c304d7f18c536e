/**
 * The base of every bench: a random generator with a fixed seed, two sizes, rounds, figures, and
 * one printed line for each scenario. A bench is a file in this folder that exports `bench`;
 * bench/main.ts finds it there. The full size is for figures. The small size runs in the tests, so
 * that every bench keeps working; its figures mean nothing.
 *
 * Two things are only ever compared within one run, in rounds that alternate and reverse their
 * order each time, as the ratio of medians: other work on the machine then affects both sides
 * alike. Nothing here asserts a time. V8 has the same flags as in the program.
 */
import '../src/cli/v8-flags.ts';
import { getHeapStatistics } from 'node:v8';

const SEED = 0x9e3779b9;
const ROUNDS_FULL = 5;
const ROUNDS_SMALL = 1;
/** Number of heap readings in a round, and the maximum number of operations that each covers. */
const PROBES = 64;
const PROBE_OPERATIONS_MAX = 1000;
const BATCH_OPERATIONS = 16;

export type BenchSize = 'small' | 'full';

export interface Bench {
  /** The file's name without `.ts`, as in `make bench NAME=`. */
  readonly name: string;
  /** One phrase: the subject of the measurement, and the alternative it is compared with. */
  readonly about: string;
  run(harness: Harness): void | Promise<void>;
}

/**
 * A scenario of `measure`: an operation that can be repeated many times, synchronously in one
 * process.
 */
export interface Scenario {
  readonly name: string;
  /** Operations in one round. */
  readonly operations: number;
  /**
   * Operations between two readings of the clock; default 16. A latency is that of a batch divided
   * by its operations; 1 shows single calls, at the price of a clock reading in each.
   */
  readonly batch?: number;
  /**
   * Number of rounds, if the harness's default is unsuitable. Without `warm` the first round
   * counts.
   */
  readonly rounds?: number;
  /** Whether an uncounted round precedes the others; default true. */
  readonly warm?: boolean;
  /** Called before each round, not timed. */
  before?(): void;
  /** Performs the operations `first` to `first + count - 1` of the round. */
  run(first: number, count: number): void;
}

export interface Figures {
  readonly operationsPerSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  /** The slowest batch of all rounds, not divided by its operations. */
  readonly longestUs: number;
  /** Bytes of V8 heap allocated; memory outside the heap is not counted. */
  readonly bytesPerOperation: number;
}

/** One side of a comparison; `round` does one round and returns its result. */
export interface Side<Result> {
  readonly name: string;
  round(): Result | Promise<Result>;
}

export class Harness {
  readonly size: BenchSize;
  /** Rounds of a scenario and of a comparison. */
  readonly rounds: number;
  readonly #print: (line: string) => void;

  constructor(size: BenchSize, print: (line: string) => void) {
    this.size = size;
    this.rounds = size === 'full' ? ROUNDS_FULL : ROUNDS_SMALL;
    this.#print = print;
  }

  /** Returns the number for this size. */
  pick(small: number, full: number): number {
    return this.size === 'full' ? full : small;
  }

  /** Returns a new generator, which yields the same numbers in every run. */
  random(seed: number = SEED): Random {
    return new Random(seed);
  }

  print(line: string): void {
    this.#print(line);
  }

  /** Runs a scenario's rounds, prints its line, and returns the medians. */
  measure(scenario: Scenario): Figures {
    const recorder = new Recorder(scenario);
    const rounds = scenario.rounds ?? this.rounds;
    const results: Figures[] = [];
    for (let round = scenario.warm === false ? 0 : -1; round < rounds; round++) {
      scenario.before?.();
      const figures = recorder.round();
      if (round >= 0) results.push(figures);
    }
    const figures: Figures = {
      operationsPerSecond: median(results.map((result) => result.operationsPerSecond)),
      p50Us: median(results.map((result) => result.p50Us)),
      p99Us: median(results.map((result) => result.p99Us)),
      p999Us: median(results.map((result) => result.p999Us)),
      longestUs: Math.max(...results.map((result) => result.longestUs)),
      bytesPerOperation: median(results.map((result) => result.bytesPerOperation)),
    };
    this.print(describe(scenario.name, figures));
    return figures;
  }

  /**
   * Runs every side once a round, in reverse order every other round. Returns the results by side,
   * in order.
   */
  async alternate<Result>(
    sides: readonly Side<Result>[],
    rounds: number = this.rounds,
  ): Promise<Result[][]> {
    const results: Result[][] = sides.map(() => []);
    const order = sides.map((side, index) => ({ side, into: results[index] }));
    for (let round = 0; round < rounds; round++) {
      for (const { side, into } of order) into?.push(await side.round());
      order.reverse();
    }
    return results;
  }

  /**
   * Compares speeds (operations per second, more is better). Prints one line per side; each except
   * the first shows its ratio to the first. Returns the medians, by side.
   */
  async compare(name: string, sides: readonly Side<number>[]): Promise<number[]> {
    const medians = (await this.alternate(sides)).map(median);
    const first = medians[0] ?? Number.NaN;
    sides.forEach((side, index) => {
      const speed = medians[index] ?? Number.NaN;
      const ratio = index === 0 ? '' : `  ${(speed / first).toFixed(2)} of ${sides[0]?.name}`;
      this.print(`${name.padEnd(24)} ${side.name.padEnd(18)} ${count(speed)} ops/s${ratio}`);
    });
    return medians;
  }
}

/** xorshift32: small, fast, the same everywhere. Not for secrets. */
export class Random {
  #state: number;

  /** The seed is any integer; 0 is replaced by 1. */
  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** Returns an integer from 0 to 2^32-1. */
  next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state >>> 0;
    return this.#state;
  }

  /** Returns an integer from 0 to `limit - 1`. */
  below(limit: number): number {
    return Math.floor((this.next() / 0x1_0000_0000) * limit);
  }

  /** Returns random bytes. */
  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    for (let at = 0; at < length; at++) bytes[at] = this.next() >>> 24;
    return bytes;
  }
}

/** Returns the median, the mean of the middle two for an even count; NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** Returns the quantile `share` (0 to 1) of the sorted values. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1));
  return sorted[index] ?? Number.NaN;
}

/** Formats an integer as `1,234,567`. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/**
 * Runs rounds of one scenario. Its arrays are allocated in advance, so that it does not measure its
 * own garbage.
 */
class Recorder {
  readonly #scenario: Scenario;
  readonly #batch: number;
  /** Microseconds of each batch of the round. */
  readonly #samples: Float64Array;
  #sampleCount = 0;
  /** Microseconds of the operations whose allocation was measured; these have no samples. */
  #probedUs = 0;
  readonly #probes = new Float64Array(PROBES);
  /** Bytes that reading the heap allocates. */
  readonly #probeCost: number;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#batch = scenario.batch ?? BATCH_OPERATIONS;
    this.#samples = new Float64Array(Math.ceil(scenario.operations / this.#batch) + PROBES);
    const costs: number[] = [];
    for (let attempt = 0; attempt < PROBES; attempt++) costs.push(-heapUsed() + heapUsed());
    this.#probeCost = median(costs);
  }

  round(): Figures {
    const { operations } = this.#scenario;
    const stride = Math.max(1, Math.ceil(operations / PROBES));
    const probed = Math.min(Math.ceil(stride / 2), PROBE_OPERATIONS_MAX);
    this.#sampleCount = 0;
    this.#probedUs = 0;
    let probeCount = 0;
    for (let first = 0; first < operations; first += stride) {
      const end = Math.min(operations, first + stride);
      const middle = Math.min(end, first + probed);
      const start = performance.now();
      const before = heapUsed();
      this.#scenario.run(first, middle - first);
      const after = heapUsed();
      this.#probedUs += (performance.now() - start) * 1000;
      // If the heap has shrunk, a collection ran in between, and the probe is not used.
      if (after >= before) {
        const bytes = Math.max(0, after - before - this.#probeCost);
        this.#probes[probeCount++] = bytes / (middle - first);
      }
      this.#stretch(middle, end);
    }
    return this.#figures(probeCount);
  }

  #stretch(from: number, to: number): void {
    for (let first = from; first < to; first += this.#batch) {
      const count = Math.min(this.#batch, to - first);
      const start = performance.now();
      this.#scenario.run(first, count);
      this.#samples[this.#sampleCount++] = (performance.now() - start) * 1000;
    }
  }

  #figures(probeCount: number): Figures {
    const sorted = this.#samples.slice(0, this.#sampleCount).sort();
    const total = sorted.reduce((sum, sample) => sum + sample, this.#probedUs);
    return {
      operationsPerSecond: (this.#scenario.operations / total) * 1e6,
      p50Us: percentile(sorted, 0.5) / this.#batch,
      p99Us: percentile(sorted, 0.99) / this.#batch,
      p999Us: percentile(sorted, 0.999) / this.#batch,
      longestUs: percentile(sorted, 1),
      bytesPerOperation: median(Array.from(this.#probes.subarray(0, probeCount))),
    };
  }
}

function describe(name: string, figures: Figures): string {
  return (
    `${name.padEnd(32)} ${count(figures.operationsPerSecond).padStart(12)} ops/s` +
    `  p50 ${time(figures.p50Us)}  p99 ${time(figures.p99Us)}  p99.9 ${time(figures.p999Us)}` +
    `  longest ${time(figures.longestUs)}  ${figures.bytesPerOperation.toFixed(1)} bytes/op`
  );
}

/** Formats a time in microseconds in a suitable unit; NaN is an unknown time. */
export function time(us: number): string {
  if (Number.isNaN(us)) return 'unknown';
  if (us < 1) return `${(us * 1000).toFixed(0)} ns`;
  if (us < 1000) return `${us.toFixed(us < 10 ? 2 : 1)} µs`;
  return `${(us / 1000).toFixed(2)} ms`;
}

function heapUsed(): number {
  return getHeapStatistics().used_heap_size;
}
