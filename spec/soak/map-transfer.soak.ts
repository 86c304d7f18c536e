/**
 * Exports a map of 100 * SOAK_SIZE entries and imports it into another one: once without an
 * interruption, which reports the rates, and once with the client killed (export) or interrupted
 * (import) after random times, and continued. Both copies have the same keys, values, types and
 * lifetimes.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { NODE_FLAGS } from '../../bench/load/program.ts';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const COUNT = 100 * Number(process.env.SOAK_SIZE ?? 10_000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const VALUE_BYTES = 100;
/** Every entry of this many has a long value, which lists leave out. */
const LONG_EVERY = 100_000;
const LONG_BYTES = 1_500_000;
const TIME_TO_LIVE_SECONDS = 10_000_000;
/** Longest time until a client is interrupted, in ms. */
const INTERRUPTED_MS = 3000;
/** The program of `make build`, which starts faster than one with a loader. */
const PROGRAM = [...NODE_FLAGS, join(import.meta.dirname, '../../dist/bin/gridnode.js')];

let address = '';

/** Runs a client command; with a signal, it is sent after a random time. */
async function client(
  words: readonly string[],
  random?: Random,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<{ readonly code: number | null; readonly errors: string }> {
  const child = spawn(process.execPath, [...PROGRAM, 'map', ...words, '--address', address], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const exited = once(child, 'close');
  const isOver = exited.then(() => true);
  if (random !== undefined) {
    const isEnded = await Promise.race([isOver, sleep(random.below(INTERRUPTED_MS), false)]);
    if (!isEnded) child.kill(signal);
  }
  const [code] = (await exited) as [number | null];
  return { code, errors };
}

/** Returns the line of an entry to be imported. */
function lineOf(number: number): string {
  const isLong = number % LONG_EVERY === 0;
  const value = String(number).padEnd(isLong ? LONG_BYTES : VALUE_BYTES, '.');
  const key = `key-${number}`;
  const base64 = Buffer.from(value).toString('base64');
  const entry = {
    key,
    ...(number % 3 === 0 ? { contentType: `text/${number}` } : {}),
    length: value.length,
    ...(number % 5 === 0 ? { timeToLiveSeconds: TIME_TO_LIVE_SECONDS } : {}),
    ...(isLong ? { valueBase64: base64 } : { value }),
  };
  return `${JSON.stringify(entry)}\n`;
}

/** Asserts that the file has each entry once. */
async function assertWhole(file: string): Promise<void> {
  const seen = new Uint8Array(COUNT);
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { cursor, etag: _, timeToLiveSeconds: left, ...entry } = JSON.parse(line);
    if (cursor !== undefined) continue;
    const number = Number(entry.key.slice(4));
    seen[number]!++;
    const { timeToLiveSeconds: all, ...expected } = JSON.parse(lineOf(number));
    assert.deepEqual(entry, expected);
    if (all === undefined) assert.equal(left, undefined);
    else assert.ok(left <= all && left > all - 10_000, `${left} seconds left`);
  }
  assert.equal(seen.indexOf(0), -1, 'a missing entry');
  assert.ok(seen.every((count) => count === 1));
}

async function timed(words: readonly string[]): Promise<number> {
  const start = performance.now();
  const { code, errors } = await client(words);
  assert.equal(code, 0, errors);
  return Math.round(COUNT / ((performance.now() - start) / 1000));
}

test(`An export and an import of ${COUNT} entries (seed ${SEED})`, async (context) => {
  const random = new Random(SEED);
  const folder = temporaryFolder();
  const [source, whole, cut, copy] = ['source', 'whole', 'cut', 'copy'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  writeFileSync(source, '');
  for (let start = 0; start < COUNT; start += 10_000) {
    const end = Math.min(start + 10_000, COUNT);
    const lines = Array.from({ length: end - start }, (_, index) => lineOf(start + index));
    writeFileSync(source, lines.join(''), { flag: 'a' });
  }
  const flags = ['serve', '--port', '0', '--enable-group', 'DATA', '--max-memory', '1500m'];
  const server = new ServerProcess('gridnode', [...PROGRAM, ...flags]);
  try {
    await server.serving();
    address = `127.0.0.1:${server.port}`;
    const imported = await timed(['import', 'one', source]);
    const exported = await timed(['export', 'one', whole]);
    await assertWhole(whole);
    let kills = 0;
    while ((await client(['export', 'one', cut, '--continue'], random)).code !== 0) kills++;
    await assertWhole(cut);
    rmSync(whole);
    let skip = '0';
    let interruptions = 0;
    for (; ; interruptions++) {
      const words = ['import', 'two', cut, '--skip', skip];
      const { code, errors } = await client(words, random, 'SIGINT');
      if (code === 0) break;
      skip = /--skip (\d+) continues/.exec(errors)?.[1] ?? skip;
    }
    rmSync(cut);
    await timed(['export', 'two', copy]);
    await assertWhole(copy);
    context.diagnostic(
      `${imported} entries a second imported, ${exported} exported; ` +
        `${kills} kills, ${interruptions} interruptions`,
    );
  } finally {
    await server.stop();
  }
});
