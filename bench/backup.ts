/**
 * What a backup costs those who are served meanwhile, in the directory for temporary files:
 *
 * - In one process: the longest time between two turns while sets go on; no more of it counts than
 *   its main thread has used the processor, as others may have had it.
 * - Over HTTP: POST while backups are made, one after the other, beside POST alone.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { SystemClock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { EmbeddedEngine } from '../src/engine/embedded/engine.ts';
import { FOREVER } from '../src/engine/engine.ts';
import type { Mutation } from '../src/engine/mutation.ts';
import { VisitCursor } from '../src/engine/stored-engine.ts';
import { Backup } from '../src/persistence/backup.ts';
import { FileStorage } from '../src/persistence/file-storage.ts';
import { Persistence } from '../src/persistence/persistence.ts';
import { type Bench, count, type Harness, median, time } from './harness.ts';
import { AUTOCANNON, type Generator, isWrkInstalled, WRK } from './load/generator.ts';
import { programWords } from './load/program.ts';
import { KEY, keyOf } from './load/request.ts';
import { ServerProcess } from './load/server-process.ts';

const PARTITIONS = 271;
const VALUE = Buffer.alloc(100, 'v');
const SETS_PER_TURN = 500;
const LOADED_SETS_PER_TURN = 50;
const ROUND_SECONDS = 4;
const VISIT_BUDGET = 1000;
const MAP = 'bench';

export const bench: Bench = {
  name: 'backup',
  about: 'what a backup costs those who are served meanwhile',
  async run(harness: Harness): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), 'gridnode-bench-'));
    try {
      const entries = harness.pick(5000, 2_000_000);
      await measurePauses(harness, directory, entries);
      const isFull = harness.size === 'full';
      await measurePosts(
        harness,
        isFull && isWrkInstalled() ? WRK : AUTOCANNON,
        directory,
        entries,
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
};

/** Fills the data directory, backs it up under sets, and compares what the backup holds. */
async function measurePauses(harness: Harness, directory: string, entries: number): Promise<void> {
  const segmentBytes = harness.pick(1_048_576, 33_554_432);
  const { storage, clock, persistence, engine } = await open(join(directory, 'data'), segmentBytes);
  for (let key = 0; key < entries; key += SETS_PER_TURN) {
    for (let each = 0; each < SETS_PER_TURN; each++) set(engine, key + each);
    await turn();
  }
  const target = new FileStorage(join(directory, 'backup'));
  const random = harness.random();
  let isDone = false;
  const cut = await persistence.hold();
  const wanted = checksumOf(engine);
  const from = performance.now();
  const backing = new Backup(storage, target, cut, clock).write().finally(() => {
    isDone = true;
  });
  const pauses: number[] = [];
  while (!isDone) {
    for (let each = 0; each < LOADED_SETS_PER_TURN; each++) set(engine, random.below(entries));
    const [startMs, startUsed] = [performance.now(), usedMs()];
    await turn();
    pauses.push(Math.min(performance.now() - startMs, usedMs() - startUsed));
  }
  const { files } = await backing;
  const ms = performance.now() - from;
  persistence.release();
  await persistence.close();
  engine.close();
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const longest = pauses.reduce((max, each) => Math.max(max, each), 0);
  harness.print(
    `backup of ${count(entries)} entries, ${count(bytes)} bytes, under sets: ${time(ms * 1000)}, ` +
      `longest pause ${time(longest * 1000)}`,
  );
  const restored = await open(target.place, segmentBytes);
  const found = checksumOf(restored.engine);
  await restored.persistence.close();
  restored.engine.close();
  if (found !== wanted) throw new Error(`Cannot trust the backup: it has ${found}, not ${wanted}`);
  harness.print('it holds what was stored at its moment, by checksum');
}

async function open(directory: string, segmentBytes: number) {
  const clock = new SystemClock();
  const storage = new FileStorage(directory);
  const observer = { onReleased, onRefusing, onFailed, onProgress, onSnapshot, onCompacted };
  const persistence = new Persistence(
    {
      ...{ storage, clock, partitionCount: PARTITIONS, sync: 'interval', syncIntervalMs: 1000 },
      segmentBytes,
    },
    { ...observer, onSnapshotFailed: onFailed },
  );
  const engine = new EmbeddedEngine({
    ...{ partitionCount: PARTITIONS, clock, sinks: [persistence.log] },
    queueCapacity: () => Number.POSITIVE_INFINITY,
  });
  await persistence.begin();
  await persistence.open(engine);
  return { clock, storage, persistence, engine };
}

/** Over everything stored, in whatever order it is given. */
function checksumOf(engine: EmbeddedEngine): number {
  let sum = 0;
  const onStored = ({ name, key: stored, value: bytes, version }: Mutation): void => {
    const ofNames = crc32(stored.toBuffer(), crc32(name.toBuffer(), version.low >>> 0));
    sum = (sum + crc32(bytes.toBuffer(), ofNames)) | 0;
  };
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const cursor = new VisitCursor();
    while (engine.visit(partition, cursor, VISIT_BUDGET, { onStored }));
  }
  return sum;
}

async function measurePosts(
  harness: Harness,
  generator: Generator,
  directory: string,
  entries: number,
): Promise<void> {
  const backups = join(directory, 'backups');
  const words = ['serve', '--port', '0', '--enable-group', 'all'];
  const places = ['--data-dir', join(directory, 'data'), '--backup-dir', backups];
  const server = new ServerProcess('member', [
    ...programWords('bin/gridnode'),
    ...words,
    ...places,
  ]);
  const target = `/grid/rest/maps/${MAP}/${KEY}`;
  const load = {
    requests: [{ method: 'POST', target, bodyBytes: VALUE.length }],
    ...{ keyCount: entries, connections: harness.pick(8, 64), depth: 1 },
    seconds: harness.pick(1, ROUND_SECONDS),
    ...(harness.size === 'full' ? {} : { amount: 1000 }),
  };
  try {
    await server.serving();
    const drive = async () =>
      (await generator.drive({ ...load, port: server.port })).requestsPerSecond;
    const lengths: number[] = [];
    const beside = async (): Promise<number> => {
      let isOver = false;
      const driving = drive().finally(() => {
        isOver = true;
      });
      while (!isOver) {
        const from = performance.now();
        await backUp(server.port);
        lengths.push(performance.now() - from);
        rmSync(backups, { recursive: true, force: true });
        mkdirSync(backups);
      }
      return await driving;
    };
    await harness.compare('POST', [
      { name: 'alone', round: drive },
      { name: 'beside backups', round: beside },
    ]);
    harness.print(`each of those backups took ${time(median(lengths) * 1000)}`);
  } finally {
    await server.stop();
  }
}

async function backUp(port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}/grid/rest/management/cluster/backup`;
  const response = await fetch(url, { method: 'POST', body: 'dev&' });
  const told = await response.text();
  if (response.status !== 200) throw new Error(`Cannot back up: ${response.status} ${told}`);
}

const map = spanOf(MAP);
const value = spanOf(VALUE);
const none = spanOf('');
const key = spanOf('');
const receiver = { onAnswer: () => {} };

function set(engine: EmbeddedEngine, number: number): void {
  const bytes = Buffer.from(keyOf(number));
  key.set(bytes, 0, bytes.length);
  engine.set(map, key, value, none, FOREVER, receiver);
}

function spanOf(content: string | Buffer): Span {
  const bytes = Buffer.from(content);
  const span = new Span();
  span.set(bytes, 0, bytes.length);
  return span;
}

/** Processor time of the main thread, as Linux tells it; elsewhere all time counts. */
function usedMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function onFailed(error: Error): never {
  throw error;
}

function onRefusing(isRefusing: boolean): void {
  if (isRefusing) throw new Error('Cannot measure: the disk is full');
}

function onReleased(): void {}
function onProgress(): void {}
function onSnapshot(): void {}
function onCompacted(): void {}
