/**
 * Measures the cost of data on the disk, in the directory for temporary files:
 *
 * - Recovery of a log, and of a snapshot followed by a log, each in a separate process.
 * - Reads while a snapshot is written. In the engine: the longest time between two reads, limited
 *   to the processor time of the process. Over HTTP: the latency of reads.
 * - POST in each mode beside POST to memory only, and the disk's rate of syncs of 4 KiB.
 *   With `always`, the disk limits the rate of responses to 64 connections.
 * - POST beside Redis with its append-only file, if Redis is installed.
 */
import {
  closeSync,
  cpSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SystemClock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { EmbeddedEngine, STOCK_BYTES } from '../src/engine/embedded/embedded-engine.ts';
import { APPLIED, FOREVER, type OperationResult } from '../src/engine/engine.ts';
import { FileStorage } from '../src/persistence/file-storage.ts';
import { readManifest } from '../src/persistence/manifest.ts';
import { Persistence } from '../src/persistence/persistence.ts';
import { type Bench, count, type Harness, median, percentile, Random, time } from './harness.ts';
import { apart } from './load/apart.ts';
import {
  AUTOCANNON,
  type Generator,
  isWrkInstalled,
  type Load,
  type LoadFigures,
  WRK,
} from './load/generator.ts';
import { programWords } from './load/program.ts';
import { isRedisInstalled, Redis } from './load/redis.ts';
import { KEY, keyOf } from './load/request.ts';
import { ServerProcess } from './load/server-process.ts';

const PARTITIONS = 271;
const KEY_BYTES = 12;
const VALUE_BYTES = 100;
const MAP = 'bench';
const PATH = `/grid/rest/maps/${MAP}/`;
const SETS_PER_TURN = 1000;
const GETS_PER_TURN = 20;
const ROUND_SECONDS = 3;
/**
 * Time for which a freshly started member is loaded before it is measured, in ms, so that the
 * compilation of its code does not count.
 */
const WARM_SECONDS = 1;
const SYNC_BYTES = 4096;
const RETRY_MS = 50;

interface Work {
  readonly step: 'fill' | 'snapshot' | 'recover';
  readonly directory: string;
  readonly entries: number;
  readonly segmentBytes: number;
}

const doneApart = apart(import.meta.url, runStep);

export const bench: Bench = {
  name: 'persistence',
  about: 'recovery, snapshots under load, and the cost of data on the disk for a POST',
  async run(harness: Harness): Promise<void> {
    const isFull = harness.size === 'full';
    const generator = isFull && isWrkInstalled() ? WRK : AUTOCANNON;
    const directory = mkdtempSync(join(tmpdir(), 'gridnode-bench-'));
    try {
      await measureRecovery(harness, generator, join(directory, 'data'));
      await measurePosts(harness, generator, directory);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

async function measureRecovery(
  harness: Harness,
  generator: Generator,
  directory: string,
): Promise<void> {
  const work = {
    directory,
    entries: harness.pick(5000, 5_000_000),
    segmentBytes: harness.pick(65_536, 33_554_432),
  };
  await doneApart({ ...work, step: 'fill' });
  harness.print(`the log: ${await doneApart({ ...work, step: 'recover' })}`);
  harness.print(await doneApart({ ...work, step: 'snapshot' }));
  harness.print(`snapshot and log: ${await doneApart({ ...work, step: 'recover' })}`);
  if (harness.size === 'full') await measureReads(harness, generator, work);
}

/**
 * Measures GET over HTTP while the snapshot that is due at each start is written, then after it, in
 * each round.
 */
async function measureReads(
  harness: Harness,
  generator: Generator,
  work: Omit<Work, 'step'>,
): Promise<void> {
  const { directory } = work;
  const filled = `${directory}-filled`;
  await doneApart({ ...work, directory: filled, step: 'fill' });
  const rounds: ReadRound[] = [];
  for (let round = 0; round < harness.rounds; round++) {
    rmSync(directory, { recursive: true, force: true });
    cpSync(filled, directory, { recursive: true });
    rounds.push(await readRound(harness, generator, work));
  }
  rmSync(filled, { recursive: true });
  const told = (of: (round: ReadRound) => LoadFigures) => {
    const each = rounds.map((round) => of(round).p99Us);
    const perSecond = median(rounds.map((round) => of(round).requestsPerSecond));
    return `${count(perSecond)} ops/s, p99 ${time(median(each))} (${each.map(time).join(', ')})`;
  };
  const ended = rounds.filter(({ isWhole }) => !isWhole).length;
  const but = ended === 0 ? '' : `, which ended earlier in ${ended} rounds`;
  harness.print(`GET while a snapshot is written${but}: ${told(({ during }) => during)}`);
  harness.print(`after it: ${told(({ after }) => after)}`);
}

interface ReadRound {
  readonly during: LoadFigures;
  readonly after: LoadFigures;
  /** Whether the snapshot was being written during the whole measurement. */
  readonly isWhole: boolean;
}

async function readRound(
  harness: Harness,
  generator: Generator,
  { directory, entries }: Omit<Work, 'step'>,
): Promise<ReadRound> {
  const server = startMember('gridnode', ['--data-dir', directory]);
  const storage = new FileStorage(directory);
  const isWritten = async () => (await readManifest(storage)).snapshot !== undefined;
  try {
    await server.serving();
    const url = `http://127.0.0.1:${server.port}${PATH}${keyOf(0)}`;
    await until(async () => (await fetch(url)).status !== 503);
    const load = { ...loadOf(harness, server, 'GET', 1), keyCount: entries };
    await generator.drive({ ...load, seconds: harness.pick(0.2, WARM_SECONDS) });
    const during = await generator.drive(load);
    const isWhole = !(await isWritten());
    await until(isWritten);
    return { during, after: await generator.drive(load), isWhole };
  } finally {
    await server.stop();
  }
}

async function measurePosts(
  harness: Harness,
  generator: Generator,
  directory: string,
): Promise<void> {
  const servers = [startMember('memory', [])];
  const isFull = harness.size === 'full';
  for (const mode of isFull ? ['never', 'interval', 'always'] : ['always']) {
    const words = ['--data-dir', join(directory, mode)];
    servers.push(startMember(mode, words, { GRID_PERSISTENCE_SYNC: mode }));
  }
  const redis: { readonly name: string; readonly server: Redis }[] = [];
  try {
    for (const server of servers) await server.serving();
    if (isFull && isRedisInstalled()) {
      for (const sync of ['everysec', 'always'] as const) {
        const at = mkdtempSync(join(directory, 'redis-'));
        redis.push({ name: `redis ${sync}`, server: await Redis.start(at, sync) });
      }
    } else harness.print('without Redis: it is not installed, or the size is small');
    const syncs = { name: 'syncs', round: () => syncsPerSecond(harness, directory) };
    for (const depth of isFull ? [1, 32] : [1]) {
      const sides = servers.map((server) => ({
        name: `POST ${server.name}`,
        round: async () =>
          (await generator.drive(loadOf(harness, server, 'POST', depth))).requestsPerSecond,
      }));
      const rivals = depth === 1 ? [] : redis;
      for (const { name, server } of rivals) {
        const load = loadOf(harness, { port: server.port }, 'POST', depth);
        const requests = name.endsWith('always') ? 400_000 : 2_000_000;
        sides.push({ name, round: () => server.drive(load, VALUE_BYTES, requests) });
      }
      for (const side of isFull ? sides : []) await side.round();
      await harness.compare(`depth ${depth}`, sides);
      const rates = (await harness.alternate([syncs], 3))[0] ?? [];
      harness.print(`the disk completes ${count(median(rates))} syncs of 4 KiB/s, one by one`);
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(redis.map(({ server }) => server.stop()));
  }
}

function startMember(
  name: string,
  words: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): ServerProcess {
  const serve = ['serve', '--port', '0', '--enable-group', 'DATA', ...words];
  return new ServerProcess(name, [...programWords('bin/gridnode'), ...serve], variables);
}

function loadOf(
  harness: Harness,
  { port }: { readonly port: number },
  method: 'GET' | 'POST',
  depth: number,
): Load {
  const bodyBytes = method === 'POST' ? { bodyBytes: VALUE_BYTES } : {};
  return {
    port,
    requests: [{ method, target: `${PATH}${KEY}`, ...bodyBytes }],
    keyCount: harness.pick(100, 10_000),
    connections: harness.pick(8, 64),
    depth,
    seconds: harness.pick(0.2, ROUND_SECONDS),
    ...(harness.size === 'full' ? {} : { amount: 500 }),
  };
}

/** Measures the rate of appends of 4 KiB, each synced before the next. */
function syncsPerSecond(harness: Harness, directory: string): number {
  const bytes = Buffer.alloc(SYNC_BYTES, 'sync ');
  const file = openSync(join(directory, 'syncs'), 'w');
  const end = performance.now() + harness.pick(20, 1000);
  const start = performance.now();
  let done = 0;
  for (; performance.now() < end; done++) {
    writeSync(file, bytes);
    fdatasyncSync(file);
  }
  closeSync(file);
  return (done / (performance.now() - start)) * 1000;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
}

/** An engine with its persistence, and the arguments of its calls. */
class Subject {
  readonly persistence: Persistence;
  readonly engine: EmbeddedEngine;
  isSnapshotWritten = false;
  #outcome = 0;
  readonly #map = new Span().set(Buffer.from(MAP), 0, MAP.length);
  readonly #type = new Span().set(Buffer.from('text/plain'), 0, 10);
  readonly #value = new Span().set(Buffer.alloc(VALUE_BYTES, 'value '), 0, VALUE_BYTES);
  readonly #keyBytes = Buffer.alloc(KEY_BYTES);
  readonly #key = new Span();

  constructor(directory: string, segmentBytes: number, snapshotBytesMin: number) {
    const clock = new SystemClock();
    const storage = new FileStorage(directory);
    const common = { clock, partitionCount: PARTITIONS };
    this.persistence = new Persistence(
      {
        ...common,
        storage,
        sync: 'interval',
        syncIntervalMs: 1000,
        segmentBytes,
        snapshotBytesMin,
      },
      {
        onReleased() {},
        onRefusing() {},
        onFailed: fail,
        onProgress() {},
        onSnapshot: () => {
          this.isSnapshotWritten = true;
        },
        onCompacted() {},
        onSnapshotFailed: fail,
        onCompactionFailed: fail,
      },
    );
    this.engine = new EmbeddedEngine({
      ...common,
      queueCapacity: () => Number.POSITIVE_INFINITY,
      stockBytes: STOCK_BYTES,
      sinks: [this.persistence.log],
    });
  }

  onResult(answer: OperationResult): void {
    this.#outcome = answer.outcome;
  }

  async fill(entries: number): Promise<void> {
    for (let index = 0; index < entries; index++) {
      const key = this.#keyOf(index);
      this.engine.set(this.#map, key, this.#value, this.#type, FOREVER, undefined, this);
      if (this.#outcome !== APPLIED) throw new Error(`Cannot set: outcome ${this.#outcome}`);
      if (index % SETS_PER_TURN === 0) await nextTurn();
    }
  }

  get(index: number): void {
    this.engine.get(this.#map, this.#keyOf(index), this);
  }

  /** Writes the key that the load over HTTP uses for this number. */
  #keyOf(index: number): Span {
    const length = this.#keyBytes.write(keyOf(index), 'latin1');
    return this.#key.set(this.#keyBytes, 0, length);
  }
}

function fail(error: Error): void {
  throw error;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

async function runStep({ step, directory, entries, segmentBytes }: Work): Promise<string> {
  const snapshotBytesMin = step === 'snapshot' ? 0 : Number.POSITIVE_INFINITY;
  const subject = new Subject(directory, segmentBytes, snapshotBytesMin);
  const start = performance.now();
  const { records } = await subject.persistence.open(subject.engine);
  const ms = performance.now() - start;
  let line = `${count((records / ms) * 1000)} entries/s recovered, ${records} in ${time(ms * 1000)}`;
  if (step === 'fill') await subject.fill(entries);
  if (step === 'snapshot') {
    line = await readBeside(subject, entries);
    await subject.fill(entries / 5);
  }
  await subject.persistence.close();
  return line;
}

/**
 * Measures reads, a few in each turn of the event loop, while the snapshot that is due is written,
 * and for the same time after it, at most 5 s.
 */
async function readBeside(subject: Subject, entries: number): Promise<string> {
  const start = performance.now();
  const during = await readWhile(subject, entries, () => !subject.isSnapshotWritten);
  const tookMs = performance.now() - start;
  const end = performance.now() + Math.min(tookMs, 5000);
  const after = await readWhile(subject, entries, () => performance.now() < end);
  const p99 = (turns: readonly number[]) => time(percentile(turns, 0.99) * 1000);
  return (
    `a snapshot of ${entries} entries beside reads: ${time(tookMs * 1000)}, longest pause ` +
    `${time((during.at(-1) ?? 0) * 1000)}, p99 of a turn ${p99(during)}, after it ${p99(after)}`
  );
}

/** Duration of each turn, sorted, in ms. */
async function readWhile(
  subject: Subject,
  entries: number,
  isSo: () => boolean,
): Promise<readonly number[]> {
  const random = new Random(1);
  const turns: number[] = [];
  let last = performance.now();
  let used = process.cpuUsage();
  while (isSo()) {
    for (let done = 0; done < GETS_PER_TURN; done++) subject.get(random.below(entries));
    await nextTurn();
    const now = performance.now();
    const { user, system } = process.cpuUsage(used);
    turns.push(Math.min(now - last, (user + system) / 1000));
    used = process.cpuUsage();
    last = now;
  }
  return turns.sort((a, b) => a - b);
}
