/**
 * Measures the cost of a backup for clients that are served meanwhile, in the directory for
 * temporary files:
 *
 * - In one process: the longest time between two turns of the event loop while maps and queues
 *   change, limited to the processor time of the main thread, as other programs may have used the
 *   processor. All maps and queues of the restored backup are compared with the data at the
 *   backup's moment.
 * - Over HTTP: POST while backups are made, one after the other, beside POST without backups.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { SystemClock } from '../src/base/clock.ts';
import { Span } from '../src/base/span.ts';
import { EmbeddedEngine } from '../src/engine/embedded/embedded-engine.ts';
import { FOREVER } from '../src/engine/engine.ts';
import type { Mutation } from '../src/engine/mutation.ts';
import { VisitCursor } from '../src/engine/stored-engine.ts';
import { Backup } from '../src/persistence/backup.ts';
import { FileStorage } from '../src/persistence/file-storage.ts';
import { Persistence } from '../src/persistence/persistence.ts';
import { restore } from '../src/persistence/restore.ts';
import { type Bench, count, type Harness, median, type Random, time } from './harness.ts';
import { AUTOCANNON, type Generator, isWrkInstalled, WRK } from './load/generator.ts';
import { programWords } from './load/program.ts';
import { KEY, keyOf } from './load/request.ts';
import { ServerProcess } from './load/server-process.ts';

const PARTITIONS = 271;
const VALUE_BYTES = 100;
const SETS_PER_TURN = 500;
const LOADED_CHANGES_PER_TURN = 50;
const ROUND_SECONDS = 4;
const VISIT_BUDGET = 1000;
/** Maps for eight of ten entries: the first map gets five, the others get one each. */
const MAPS = ['bench', 'second', 'third', 'fourth'].map(Span.of);
const BIG_MAP_SHARE = 5;
/** Queues for the last two of ten, which are items. */
const QUEUES = ['first-queue', 'second-queue', 'third-queue', 'fourth-queue'].map(Span.of);
const PLACES = 10;
const ITEM_PLACE = 8;

export const bench: Bench = {
  name: 'backup',
  about: 'the cost of a backup for clients that are served meanwhile',
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

/** Fills the data directory, backs it up under changes, and checks the restored data. */
async function measurePauses(harness: Harness, directory: string, entries: number): Promise<void> {
  const segmentBytes = harness.pick(1_048_576, 33_554_432);
  const { storage, clock, persistence, engine } = await open(join(directory, 'data'), segmentBytes);
  for (let number = 0; number < entries; number += SETS_PER_TURN) {
    for (let each = 0; each < SETS_PER_TURN; each++) add(engine, number + each);
    await turn();
  }
  const target = new FileStorage(join(directory, 'backup'));
  const random = harness.random();
  let isDone = false;
  const cut = await persistence.retainFiles();
  const wanted = contentOf(engine);
  const from = performance.now();
  const backing = new Backup(storage, target, cut, clock).write().finally(() => {
    isDone = true;
  });
  const pauses: number[] = [];
  let changes = 0;
  while (!isDone) {
    for (let each = 0; each < LOADED_CHANGES_PER_TURN; each++) change(engine, random, entries);
    changes += LOADED_CHANGES_PER_TURN;
    const startMs = performance.now();
    const startUsed = usedMs();
    await turn();
    pauses.push(Math.min(performance.now() - startMs, usedMs() - startUsed));
  }
  const { files } = await backing;
  const ms = performance.now() - from;
  persistence.releaseFiles();
  await persistence.close();
  engine.close();
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const longest = pauses.reduce((max, each) => Math.max(max, each), 0);
  harness.print(
    `backup of ${count(entries)} entries, ${count(bytes)} bytes, under ${count(changes)} changes: ` +
      `${time(ms * 1000)}, longest pause ${time(longest * 1000)}`,
  );
  const elsewhere = new FileStorage(join(directory, 'restored'));
  await restore(target, elsewhere);
  const restored = await open(elsewhere.path, segmentBytes);
  const found = contentOf(restored.engine);
  await restored.persistence.close();
  restored.engine.close();
  for (const [name, content] of wanted) {
    const seen = describe(found.get(name));
    const sought = describe(content);
    if (seen !== sought)
      throw new Error(`Cannot trust the backup: "${name}" has ${seen}, not ${sought}`);
  }
  if (found.size !== wanted.size) throw new Error(`Cannot trust the backup: it has more names`);
  const told = [...wanted].map(([name, content]) => `${name} ${describe(content)}`);
  harness.print(`the restored data is that of the backup's moment: ${told.sort().join(', ')}`);
}

async function open(directory: string, segmentBytes: number) {
  const clock = new SystemClock();
  const storage = new FileStorage(directory);
  const observer = { onReleased, onRefusing, onFailed, onProgress, onSnapshot, onCompacted };
  const persistence = new Persistence(
    {
      storage,
      clock,
      partitionCount: PARTITIONS,
      sync: 'interval',
      syncIntervalMs: 1000,
      segmentBytes,
    },
    { ...observer, onSnapshotFailed: onFailed, onCompactionFailed: onFailed },
  );
  const engine = new EmbeddedEngine({
    partitionCount: PARTITIONS,
    clock,
    sinks: [persistence.log],
    queueCapacity: () => Number.POSITIVE_INFINITY,
  });
  await persistence.begin();
  await persistence.open(engine);
  return { clock, storage, persistence, engine };
}

/** The content of a map or a queue. */
interface Content {
  count: number;
  /** Sum of CRC-32s, which does not depend on the order of iteration. */
  sum: number;
}

/**
 * Returns a digest of all stored data by the name of its map or queue: it covers every field of
 * each entry and item, and its position.
 */
function contentOf(engine: EmbeddedEngine): Map<string, Content> {
  const found = new Map<string, Content>();
  const numbers = new Float64Array(7);
  const numberBytes = Buffer.from(numbers.buffer);
  const onStored = (stored: Mutation): void => {
    const { operation, item, version, expiryMs, maxIdleSeconds, value: bytes } = stored;
    numbers.set([
      operation,
      item,
      version.high,
      version.low,
      expiryMs,
      maxIdleSeconds,
      bytes.length,
    ]);
    let sum = crc32(numberBytes);
    for (const part of [stored.key, stored.contentType, bytes]) sum = crc32(part.toBuffer(), sum);
    const name = stored.name.toBuffer().toString('latin1');
    const content = found.get(name) ?? { count: 0, sum: 0 };
    found.set(name, content);
    content.count++;
    content.sum = (content.sum + sum) >>> 0;
  };
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const cursor = new VisitCursor();
    while (engine.visit(partition, cursor, VISIT_BUDGET, { onStored }));
  }
  return found;
}

function describe(content: Content | undefined): string {
  if (content === undefined) return 'nothing';
  return `${count(content.count)} (${content.sum.toString(16).padStart(8, '0')})`;
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
  const target = `/grid/rest/maps/${MAPS[0]?.toBuffer()}/${KEY}`;
  const load = {
    requests: [{ method: 'POST', target, bodyBytes: VALUE_BYTES }],
    keyCount: (entries * BIG_MAP_SHARE) / PLACES,
    connections: harness.pick(8, 64),
    depth: 1,
    seconds: harness.pick(0.2, ROUND_SECONDS),
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

const value = Span.of(Buffer.alloc(VALUE_BYTES, 'v'));
const none = Span.of('');
const key = Span.of('');
const receiver = { onResult: () => {} };
let changeCount = 0;

/** Adds the entry or item with the number `number`. */
function add(engine: EmbeddedEngine, number: number): void {
  value.bytes.writeUInt32LE(changeCount++);
  const [map, queue] = placeOf(number);
  if (queue !== undefined) engine.offer(queue, value, none, receiver);
  else engine.set(map, key, value, none, FOREVER, undefined, receiver);
}

/** Sets or deletes an entry, or offers or polls an item, at random. */
function change(engine: EmbeddedEngine, random: Random, entries: number): void {
  const number = random.below(entries);
  const [map, queue] = placeOf(number);
  if (random.below(queue === undefined ? 4 : 2) > 0) add(engine, number);
  else if (queue !== undefined) engine.take(queue, 0, receiver);
  else engine.delete(map, key, undefined, receiver);
}

/** Returns the map of the entry and sets its key in `key`, or returns the queue of the item. */
function placeOf(number: number): readonly [map: Span, queue: Span | undefined] {
  const round = Math.floor(number / PLACES);
  const place = number % PLACES;
  const isBig = place < BIG_MAP_SHARE;
  const bytes = Buffer.from(keyOf(isBig ? round * BIG_MAP_SHARE + place : round));
  key.set(bytes, 0, bytes.length);
  const map = (isBig ? MAPS[0] : MAPS[place - BIG_MAP_SHARE + 1]) ?? none;
  return [map, place < ITEM_PLACE ? undefined : QUEUES[(round * 2 + place) & 3]];
}

/** Processor time of the main thread in ms, read from Linux; elsewhere the elapsed time. */
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
