/**
 * Measures the engine's background work by its effect on requests: entries that expire, and many
 * clears of tiny maps beside a large one. A load of reads and writes runs meanwhile, a few in each
 * turn of the event loop. A pause is the longest time between two of its operations, whatever its
 * cause, limited to the processor time that this process used: the work of other programs does not
 * count. Each scenario runs in its own process, so that the resident set is the engine's. It starts
 * once the memory has been allocated in advance, like the load of a member.
 */
import { SystemClock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { EmbeddedEngine, STOCK_BYTES } from '../src/engine/embedded/embedded-engine.ts';
import { APPLIED, FOREVER, type Lifetime, type OperationResult } from '../src/engine/engine.ts';
import { type Bench, type Harness, Random } from './harness.ts';
import { apart } from './load/apart.ts';

const PARTITIONS = 271;
const KEY_BYTES = 12;
const VALUE_BYTES = 100;
const OPERATIONS_PER_TURN = 100;
const TINY_ENTRIES = 3;
/**
 * Number of expiring entries for each entry that the load reads and writes. The load's entries have
 * a separate map.
 */
const STEADY_SHARE = 10;
/** Time in which the last of the cleared entries are removed, in ms. */
const AFTER_MS = 1000;

interface Work {
  readonly scenario: 'expiry' | 'clears';
  readonly entries: number;
  /** Longest time to live of an entry, in ms, or number of clears. */
  readonly amount: number;
  /** Time in which the memory is allocated in advance, in ms. */
  readonly beforeMs: number;
}

const doneApart = apart(import.meta.url, (work: Work) =>
  work.scenario === 'expiry' ? expiry(work) : clears(work),
);

export const bench: Bench = {
  name: 'background-work',
  about: 'the longest pause of a load beside entries that expire and beside clears of tiny maps',
  async run(harness: Harness): Promise<void> {
    const entries = harness.pick(5000, 1_000_000);
    const beforeMs = harness.pick(0, 2000);
    const works: Work[] = [
      { scenario: 'expiry', entries, amount: harness.pick(300, 60_000), beforeMs },
      { scenario: 'clears', entries, amount: harness.pick(200, 50_000), beforeMs },
    ];
    for (const work of works) harness.print(await doneApart(work));
  },
};

class Load {
  readonly engine = new EmbeddedEngine({
    partitionCount: PARTITIONS,
    clock: new SystemClock(),
    queueCapacity: () => Number.POSITIVE_INFINITY,
    stockBytes: STOCK_BYTES,
  });
  readonly #random = new Random(1);
  readonly #keys: Buffer;
  readonly #keyCount: number;
  readonly #key = new Span();
  readonly #value = new Span().set(Buffer.alloc(VALUE_BYTES, 'value '), 0, VALUE_BYTES);
  readonly #type = new Span().set(Buffer.from('text/plain'), 0, 10);
  #outcome = 0;
  #last = 0;
  #lastUsedMs = 0;
  longestMs = 0;

  static async begin({ entries, beforeMs }: Work): Promise<Load> {
    const load = new Load(entries);
    await passed(beforeMs);
    return load;
  }

  private constructor(keyCount: number) {
    this.#keyCount = keyCount;
    this.#keys = Buffer.alloc(keyCount * KEY_BYTES);
    for (let index = 0; index < keyCount; index++) {
      this.#keys.write(`key${String(index).padStart(9, '0')}`, index * KEY_BYTES);
    }
  }

  onResult(answer: OperationResult): void {
    this.#outcome = answer.outcome;
  }

  set(map: Span, index: number, lifetime: Lifetime): void {
    this.#key.set(this.#keys, index * KEY_BYTES, (index + 1) * KEY_BYTES);
    this.engine.set(map, this.#key, this.#value, this.#type, lifetime, undefined, this);
    if (this.#outcome !== APPLIED) throw new Error(`Cannot set: outcome ${this.#outcome}`);
  }

  /** Records the time since the previous operation. */
  mark(): void {
    const now = performance.now();
    const usage = process.cpuUsage();
    const usedMs = (usage.user + usage.system) / 1000;
    if (this.#last !== 0) {
      const pauseMs = Math.min(now - this.#last, usedMs - this.#lastUsedMs);
      this.longestMs = Math.max(this.longestMs, pauseMs);
    }
    this.#last = now;
    this.#lastUsedMs = usedMs;
  }

  /** Reads and writes entries of a map, one write in ten operations, for one turn. */
  turn(map: Span): void {
    for (let count = 0; count < OPERATIONS_PER_TURN; count++) {
      const index = this.#random.below(this.#keyCount / STEADY_SHARE);
      this.#key.set(this.#keys, index * KEY_BYTES, (index + 1) * KEY_BYTES);
      if (count % 10 === 0) this.set(map, index, FOREVER);
      else this.engine.get(map, this.#key, this);
      this.mark();
    }
  }
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function named(name: string): Span {
  const bytes = Buffer.from(name);
  return new Span().set(bytes, 0, bytes.length);
}

function residentMib(): number {
  return process.memoryUsage().rss / 2 ** 20;
}

async function expiry(work: Work): Promise<string> {
  const { entries, amount } = work;
  const load = await Load.begin(work);
  const random = new Random(2);
  const steady = named('steady');
  const expiring = named('expiring');
  for (let index = 0; index < entries / STEADY_SHARE; index++) load.set(steady, index, FOREVER);
  await nextTurn();
  const before = residentMib();
  const start = performance.now();
  for (let index = 0; index < entries; index++) {
    const timeToLiveMs = 1 + random.below(amount);
    load.set(expiring, index, { timeToLiveMs, maxIdleSeconds: 0 });
    load.mark();
    if (index % OPERATIONS_PER_TURN === 0) {
      load.turn(steady);
      await nextTurn();
    }
  }
  const filled = residentMib();
  const { memoryBytes } = load.engine;
  while (performance.now() < start + amount) {
    load.turn(steady);
    await nextTurn();
  }
  let left = Number.POSITIVE_INFINITY;
  const over = performance.now();
  // Remaining entries and the pauses of the sweep delay the release of some memory.
  while (left > before + 32 && performance.now() < over + amount / 2) {
    load.turn(steady);
    await nextTurn();
    left = residentMib();
  }
  const stored = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  return (
    `${entries} entries with up to ${amount / 1000} s to live: longest pause ` +
    `${load.longestMs.toFixed(1)} ms; resident ${before.toFixed(0)}, ${filled.toFixed(0)}, ` +
    `then ${left.toFixed(0)} MiB after ${((performance.now() - over) / 1000).toFixed(1)} s; stored ` +
    `${stored(memoryBytes)}, then ${stored(load.engine.memoryBytes)} MiB`
  );
}

async function clears(work: Work): Promise<string> {
  const { entries, amount } = work;
  const load = await Load.begin(work);
  const steady = named('steady');
  for (let index = 0; index < entries; index++) load.set(steady, index, FOREVER);
  await nextTurn();
  const used = process.cpuUsage();
  for (let count = 0; count < amount; count++) {
    const map = named(`tiny ${count}`);
    for (let index = 0; index < TINY_ENTRIES; index++) load.set(map, index + count, FOREVER);
    load.engine.clear(map, load);
    load.mark();
    if (count % 20 === 0) await nextTurn();
  }
  await passed(AFTER_MS);
  const { user, system } = process.cpuUsage(used);
  return (
    `${amount} clears of maps of ${TINY_ENTRIES} beside ${entries} entries: longest pause ` +
    `${load.longestMs.toFixed(1)} ms, ${((user + system) / 1e6).toFixed(2)} s of processor time`
  );
}
