/**
 * The cell store through the engine's contract: the memory of an entry, the speed at which entries
 * are written, read and overwritten, and the longest time of a single call. Each round runs in its
 * own process, so that the resident set is the store's; figures are medians over the rounds.
 *
 * Keys have 12 bytes, values 100 (50 to 150 in the churn, where four of five calls overwrite and
 * one deletes). Gets are measured in three ways: in the order of the fill; at random over all
 * entries, where nearly every call waits for memory twice; and at random over 10,000 of them, which
 * shows only the work.
 */
import { SystemClock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { EmbeddedEngine, STOCK_BYTES } from '../src/engine/embedded/embedded-engine.ts';
import { HashIndex } from '../src/engine/embedded/hash-index.ts';
import {
  APPLIED,
  FOREVER,
  FOUND,
  type OperationResult,
  type Receiver,
} from '../src/engine/engine.ts';
import { type Bench, count, type Harness, median, Random } from './harness.ts';
import { apart } from './load/apart.ts';

const PARTITIONS = 271;
const KEY_BYTES = 12;
const VALUE_BYTES = 100;
const HOT_ENTRIES = 10_000;
/** Entries of one partition if 50,000,000 are spread over 271 partitions. */
const PARTITION_ENTRIES = Math.round(50_000_000 / PARTITIONS);

interface Work {
  readonly entries: number;
  readonly gets: number;
  readonly churn: number;
  /** Time in which the memory is allocated in advance, in ms. */
  readonly beforeMs: number;
}

/** The figures of one process. */
type Round = Readonly<Record<FigureName, number>>;

const FIGURES = {
  residentBytes: 'resident bytes per entry over key and value',
  heapMiB: 'MiB of V8 heap grown',
  fillsPerSecond: 'sets/s, fill',
  fillLongestMs: 'ms, longest call of the fill',
  ordered: 'gets/s, in the order of the fill',
  random: 'gets/s, at random',
  hot: 'gets/s, at random over 10,000',
  churnsPerSecond: 'writes/s, churn',
  churnLongestMs: 'ms, longest call of the churn',
  churnedResident: 'ratio of the resident set after the churn to that before it',
  growMs: 'ms, longest step of an index that grows to 184,502 entries',
} as const;
type FigureName = keyof typeof FIGURES;

const roundApart = apart(import.meta.url, measureRound);

export const bench: Bench = {
  name: 'cell-store',
  about:
    'entries of 12-byte keys and 100-byte values in the embedded engine, one process per round',
  async run(harness: Harness): Promise<void> {
    const work: Work = {
      entries: harness.pick(20_000, 5_000_000),
      gets: harness.pick(20_000, 2_000_000),
      churn: harness.pick(20_000, 2_000_000),
      beforeMs: harness.pick(0, 2000),
    };
    const rounds: Round[] = [];
    for (let round = 0; round < harness.rounds; round++) rounds.push(await roundApart(work));
    for (const [name, label] of Object.entries(FIGURES)) {
      const values = rounds.map((round) => round[name as FigureName]);
      const middle = median(values);
      const shown = middle >= 1000 ? count(middle) : middle.toFixed(2);
      harness.print(`${shown.padStart(12)} ${label}`);
    }
  },
};

/** The engine, with the arguments of its calls. */
class Store implements Receiver {
  readonly #engine: EmbeddedEngine;
  readonly #map = new Span().set(Buffer.from('map'), 0, 3);
  readonly #type = new Span().set(Buffer.from('text/plain'), 0, 10);
  readonly #key = new Span();
  readonly #value = new Span();
  readonly #values = Buffer.alloc(256, 'value ');
  #outcome = 0;
  /** Sum of the values' first bytes, so that each value is really read. */
  sum = 0;

  constructor(stockBytes: number) {
    this.#engine = new EmbeddedEngine({
      partitionCount: PARTITIONS,
      clock: new SystemClock(),
      queueCapacity: () => Number.POSITIVE_INFINITY,
      stockBytes,
    });
  }

  onResult(answer: OperationResult): void {
    this.#outcome = answer.outcome;
    if (answer.outcome === FOUND) this.sum += answer.value.bytes[answer.value.start] ?? 0;
  }

  set(keys: Buffer, at: number, valueBytes: number): void {
    this.#key.set(keys, at, at + KEY_BYTES);
    this.#value.set(this.#values, at & 63, (at & 63) + valueBytes);
    this.#engine.set(this.#map, this.#key, this.#value, this.#type, FOREVER, undefined, this);
    if (this.#outcome !== APPLIED) throw new Error(`Cannot set: outcome ${this.#outcome}`);
  }

  get(keys: Buffer, at: number): void {
    this.#engine.get(this.#map, this.#key.set(keys, at, at + KEY_BYTES), this);
  }

  delete(keys: Buffer, at: number): void {
    this.#engine.delete(this.#map, this.#key.set(keys, at, at + KEY_BYTES), undefined, this);
  }
}

/** Keys in one buffer, for the entries whose numbers `number` returns. */
function keysOf(entries: number, number: (index: number) => number): Buffer {
  const keys = Buffer.alloc(entries * KEY_BYTES, 'key000000000');
  for (let index = 0; index < entries; index++) {
    let rest = number(index);
    for (let at = index * KEY_BYTES + KEY_BYTES - 1; rest > 0; at--) {
      keys[at] = 48 + (rest % 10);
      rest = Math.floor(rest / 10);
    }
  }
  return keys;
}

function getsPerSecond(store: Store, keys: Buffer): number {
  const start = performance.now();
  for (let at = 0; at < keys.length; at += KEY_BYTES) store.get(keys, at);
  return perSecond(keys.length / KEY_BYTES, start);
}

function perSecond(operations: number, start: number): number {
  return (operations / (performance.now() - start)) * 1000;
}

function longestOf(operations: number, run: (index: number) => void): number {
  let longest = 0;
  let last = performance.now();
  for (let index = 0; index < operations; index++) {
    run(index);
    const now = performance.now();
    if (now - last > longest) longest = now - last;
    last = now;
  }
  return longest;
}

/**
 * Returns the longest step of an index that grows to one partition's share of 50,000,000 entries.
 */
function growMs(): number {
  const random = new Random(3);
  const index = new HashIndex();
  let longest = 0;
  for (let entry = 1; entry <= PARTITION_ENTRIES; entry++) {
    const start = performance.now();
    if (index.bitsToInsert !== index.bits) index.resize(index.bitsToInsert);
    longest = Math.max(longest, performance.now() - start);
    index.insert(random.next() | 0, entry);
  }
  return longest;
}

async function measureRound({ entries, gets, churn, beforeMs }: Work): Promise<Round> {
  const warm = new Store(0);
  const warmKeys = keysOf(HOT_ENTRIES, (index) => index);
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < warmKeys.length; at += KEY_BYTES) warm.set(warmKeys, at, VALUE_BYTES);
  }
  const random = new Random(1);
  const all = keysOf(entries, (index) => index);
  const ordered = all.subarray(0, gets * KEY_BYTES);
  const anywhere = keysOf(gets, () => random.below(entries));
  const hot = keysOf(gets, () => random.below(HOT_ENTRIES));
  const store = new Store(STOCK_BYTES);
  await new Promise((resolve) => setTimeout(resolve, beforeMs));
  const before = process.memoryUsage();
  let start = performance.now();
  const fillLongestMs = longestOf(entries, (index) => {
    store.set(all, index * KEY_BYTES, VALUE_BYTES);
  });
  const fillsPerSecond = perSecond(entries, start);
  const filled = process.memoryUsage();
  getsPerSecond(store, hot);
  const figures = {
    residentBytes: (filled.rss - before.rss) / entries - KEY_BYTES - VALUE_BYTES,
    heapMiB: (filled.heapUsed - before.heapUsed) / 2 ** 20,
    fillsPerSecond,
    fillLongestMs,
    ordered: getsPerSecond(store, ordered),
    random: getsPerSecond(store, anywhere),
    hot: getsPerSecond(store, hot),
  };
  start = performance.now();
  const churnLongestMs = longestOf(churn, () => {
    const at = random.below(entries) * KEY_BYTES;
    if (random.below(5) === 0) store.delete(all, at);
    else store.set(all, at, 50 + random.below(101));
  });
  return {
    ...figures,
    churnsPerSecond: perSecond(churn, start),
    churnLongestMs,
    churnedResident: (process.memoryUsage().rss - before.rss) / (filled.rss - before.rss),
    growMs: growMs(),
  };
}
