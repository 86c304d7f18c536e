/**
 * SOAK_REFUSALS refused starts for each kind of unusable data directory, with a health request
 * every 10 ms. Each start ends with exit code 3 and its reason, and leaves the files unchanged byte
 * for byte. As many starts are stopped by SIGTERM at a random moment of recovery: each ends with
 * exit code 0, and no data is lost.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { RawClient } from '../integration/client.ts';
import { serve, start } from '../integration/member-process.ts';
import {
  changed,
  damagedIn,
  type Files,
  recordsOf,
  wholeDirectory,
} from '../persistence/damaged-directory.ts';
import { inFormat } from '../persistence/other-format.ts';
import { openPersistent, PARTITION_COUNT, until } from '../persistence/subject.ts';
import { MemoryStorage } from '../world/memory-storage.ts';

const REFUSALS = Number(process.env.SOAK_REFUSALS ?? Number(process.env.SOAK_SIZE ?? 1000) / 50);
const HEALTH_MS = 10;

/** Number of keys of a directory that takes time to load, and length of a value. */
const KEYS = 10_000;
const VALUE_BYTES = 2000;
const LITTLE_MEMORY = '16m';
/** Maximum time from the first log line to a stop, in ms. */
const STOP_MS_MAX = 400;
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);

const { files } = await wholeDirectory();
const large = await largeDirectory();
const killed = await killedDirectory();
const logs = [...files.keys()].filter((name) => name.startsWith('log-0')).sort();

const used = logs.filter((name) => recordsOf(files, name).length > 2);
const [firstLog = '', lastLog = ''] = [used[0], used.at(-1)];
const OTHER_COUNT = ['--partition-count', `${PARTITION_COUNT + 1}`];
const KINDS: readonly (readonly [string, Files, readonly string[], string])[] = [
  ['damaged manifest', damagedIn(files, 'manifest'), [], 'DATA_DAMAGED'],
  ['damaged member file', damagedIn(files, 'member'), [], 'DATA_DAMAGED'],
  ['damaged first segment', damagedIn(files, firstLog), [], 'DATA_DAMAGED'],
  ['damaged end of the log', damagedIn(killed, 'log-end'), [], 'DATA_DAMAGED'],
  ['missing segment', changed(files, lastLog, undefined), [], 'DATA_DAMAGED'],
  ['other partition count', files, OTHER_COUNT, 'PARTITION_COUNT_CHANGED'],
  ['older format', inFormat(files, 2), [], 'DATA_FORMAT_OLDER'],
  ['too little memory', large, ['--max-memory', LITTLE_MEMORY], 'DATA_NEEDS_MEMORY'],
];

async function largeDirectory(): Promise<Files> {
  const storage = new MemoryStorage(new Random(1), 'boot');
  const { ask, persistence, quiet } = await openPersistent(storage, { memoryBytesMax: 2 ** 26 });
  for (let key = 0; key < KEYS; key++) ask.set('m', `${key}`, Buffer.alloc(VALUE_BYTES, 'v'));
  await until(persistence.close(), quiet);
  return storage.files;
}

/**
 * Returns the directory of a member that was killed since the machine booted; only then is a
 * damaged end of the log an error.
 */
async function killedDirectory(): Promise<Files> {
  const { directory, data } = written(files);
  try {
    const { child, port } = await serve(...flagsOf(data));
    const client = new RawClient(port);
    for (let key = 0; key < 20; key++) {
      await client.request('POST', `maps/m/new${key}`, Buffer.alloc(VALUE_BYTES));
    }
    // The log is written within 50 ms.
    await sleep(1000);
    client.destroy();
    child.kill('SIGKILL');
    await once(child, 'close');
    return read(data);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function flagsOf(data: string): string[] {
  return ['--enable-group', 'DATA', '--data-dir', data, '--partition-count', `${PARTITION_COUNT}`];
}

function written(content: Files): { readonly directory: string; readonly data: string } {
  const directory = mkdtempSync(join(tmpdir(), 'gridnode-refused-'));
  const data = join(directory, 'data');
  mkdirSync(data);
  for (const [name, bytes] of content) writeFileSync(join(data, name), bytes);
  return { directory, data };
}

function read(directory: string): Files {
  const names = readdirSync(directory).filter((name) => name !== 'lock');
  return new Map(names.sort().map((name) => [name, readFileSync(join(directory, name))]));
}

/**
 * Requests health until the member has ended; kills it if it serves. Returns the number of
 * responses.
 */
async function requestHealth({ child, lines }: ReturnType<typeof start>): Promise<number> {
  let responses = 0;
  for (; child.exitCode === null && child.signalCode === null; await sleep(HEALTH_MS)) {
    if (lines.some(({ msg }) => msg === 'listening')) child.kill('SIGKILL');
    const port = lines.find((line) => line.port !== undefined)?.port;
    if (port === undefined) continue;
    const request = get({ port, host: '127.0.0.1', path: '/hazelcast/health' }, (response) => {
      responses++;
      response.resume();
    });
    request.on('error', () => {});
  }
  return responses;
}

for (const [kind, content, flags, reason] of KINDS) {
  test(`${REFUSALS} starts are refused: ${kind}`, async () => {
    const { directory, data } = written(content);
    const before = read(data);
    let responses = 0;
    try {
      for (let count = 0; count < REFUSALS; count++) {
        const started = start(...flagsOf(data), ...flags);
        const requesting = requestHealth(started);
        const [code] = (await once(started.child, 'close')) as [number | null];
        assert.deepEqual([code, started.lines.at(-1)?.code], [3, reason], `${count}`);
        responses += await requesting;
        assert.deepEqual(read(data), before);
      }
      console.log(`${kind}: ${REFUSALS} refusals, ${responses} health responses`);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
}

test(`${REFUSALS} starts are stopped during recovery and lose no data (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const { directory, data } = written(large);
  try {
    let early = 0;
    for (let count = 0; count < REFUSALS; count++) {
      const { child, lines, line } = start(...flagsOf(data));
      const closed = once(child, 'close');
      await line(0);
      setTimeout(() => child.kill('SIGTERM'), random.below(STOP_MS_MAX));
      assert.deepEqual(await closed, [0, null], `${count}`);
      if (!lines.some(({ msg }) => msg === 'listening')) early++;
    }
    assert.ok(early > 0, 'no start was stopped before the member served');
    const { child, exited, port } = await serve(...flagsOf(data));
    const client = new RawClient(port);
    for (let key = 0; key < KEYS; key++) {
      const { status, body } = await client.request('GET', `maps/m/${key}`);
      assert.deepEqual([status, body.length], [200, VALUE_BYTES]);
    }
    client.destroy();
    child.kill('SIGTERM');
    await exited;
    console.log(`${REFUSALS} stops, ${early} of them before the member served`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
