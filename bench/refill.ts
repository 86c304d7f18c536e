/**
 * Measures a start with much data: slabs whose pages a thread touches (prefault.ts) beside
 * untouched slabs. An engine is filled with new entries, then half of them are overwritten in
 * another order. Each round runs in its own process. Only the processor time of the main thread
 * counts, if the system reports it. The longest turn is limited to the processor time of the
 * process.
 */
import { readFileSync } from 'node:fs';
import { SystemClock } from '../src/base/clock.ts';
import { EmbeddedEngine, STOCK_BYTES } from '../src/engine/embedded/embedded-engine.ts';
import { FROM_REPLAY, Mutation, SET } from '../src/engine/mutation.ts';
import { type Bench, count, type Harness, median, Random, time } from './harness.ts';
import { apart } from './load/apart.ts';

const PARTITIONS = 271;
const KEY_BYTES = 12;
const VALUE_BYTES = 100;
const CHANGES_PER_TURN = 1024;
/** Size of the largest stock whose slabs are not touched (slabs.ts). */
const UNTOUCHED_BYTES = 15 * 33_554_432;
const THREAD_TIME = '/proc/thread-self/schedstat';

interface Work {
  readonly entries: number;
  readonly stockBytes: number;
  /** Time in which the stock is allocated, in ms. */
  readonly beforeMs: number;
}

interface Done {
  readonly entriesPerSecond: number;
  readonly longestUs: number;
}

const filledApart = apart(import.meta.url, filled);

export const bench: Bench = {
  name: 'refill',
  about: 'filling an engine, with slabs whose pages a thread touches and with untouched slabs',
  async run(harness: Harness): Promise<void> {
    const entries = harness.pick(3000, 5_000_000);
    const common = { entries, beforeMs: harness.pick(0, 2000), stockBytes: STOCK_BYTES };
    const works = {
      'touched pages': common,
      'untouched pages': { ...common, stockBytes: UNTOUCHED_BYTES },
    };
    const sides = Object.entries(works).map(([name, work]) => ({
      name,
      round: () => filledApart(work),
    }));
    const results = await harness.alternate(sides);
    const first = median((results[0] ?? []).map((done) => done.entriesPerSecond));
    for (const [index, { name }] of sides.entries()) {
      const done = results[index] ?? [];
      const speed = median(done.map((each) => each.entriesPerSecond));
      const longest = median(done.map((each) => each.longestUs));
      harness.print(
        `${name.padEnd(20)} ${count(speed).padStart(10)} entries/s  ` +
          `${(speed / first).toFixed(2)}  longest turn ${time(longest)}`,
      );
    }
  },
};

async function filled({ entries, stockBytes, beforeMs }: Work): Promise<Done> {
  const engine = new EmbeddedEngine({
    partitionCount: PARTITIONS,
    clock: new SystemClock(),
    queueCapacity: () => Number.POSITIVE_INFINITY,
    stockBytes,
  });
  await new Promise((resolve) => setTimeout(resolve, beforeMs));
  const changes = Array.from({ length: CHANGES_PER_TURN }, changeOfMap);
  const random = new Random(1);
  const replay = engine.replay();
  const total = entries + (entries >> 1);
  let usedUs = 0;
  let longestUs = 0;
  for (let from = 0; from < total; from += CHANGES_PER_TURN) {
    const made = Math.min(CHANGES_PER_TURN, total - from);
    for (let at = 0; at < made; at++) {
      const number = from + at < entries ? from + at : random.below(entries);
      describe(changes[at] as Mutation, number, from + at + 1);
    }
    const thread = threadUs();
    const used = process.cpuUsage();
    const start = performance.now();
    for (let at = 0; at < made; at++) replay.apply(changes[at] as Mutation);
    const passedUs = (performance.now() - start) * 1000;
    const { user, system } = process.cpuUsage(used);
    usedUs += threadUs() - thread;
    longestUs = Math.max(longestUs, Math.min(passedUs, user + system));
    await new Promise((resolve) => setImmediate(resolve));
  }
  replay.end();
  return { entriesPerSecond: (total / usedUs) * 1e6, longestUs };
}

function changeOfMap(): Mutation {
  const change = new Mutation();
  change.operation = SET;
  change.origin = FROM_REPLAY;
  change.name.set(Buffer.from('map'), 0, 3);
  change.key.set(Buffer.alloc(KEY_BYTES), 0, KEY_BYTES);
  change.value.set(Buffer.alloc(VALUE_BYTES, 'value '), 0, VALUE_BYTES);
  change.contentType.set(Buffer.from('text/plain'), 0, 10);
  change.life.low = 1;
  return change;
}

/** Makes it the change of the entry of that number with the version `version`. */
function describe(change: Mutation, number: number, version: number): void {
  change.key.bytes.write(`key${String(number).padStart(9, '0')}`, 0, 'latin1');
  change.partition = Math.imul(number, 0x9e3779b1) >>> 0;
  change.partition %= PARTITIONS;
  change.sequence = version;
  change.version.low = version + 1;
}

/** Returns the processor time of this thread in µs; outside Linux, the elapsed time. */
function threadUs(): number {
  try {
    return Number(readFileSync(THREAD_TIME, 'latin1').split(' ')[0]) / 1000;
  } catch {
    return performance.now() * 1000;
  }
}
