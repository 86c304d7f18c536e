/**
 * slowhttptest against a server while another client keeps sending: its number of requests, its
 * lost requests and its response times.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../bench/harness.ts';
import { RawClient } from '../integration/client.ts';

/** Pause between two requests of the other client, in ms. */
const PAUSE_MS = 1;
const MAP = 'maps/attacked';
const LARGE_BYTES = 1_048_576;

/** The attacks. Their flags set how often and how slowly each connection sends or reads. */
export const ATTACKS = [
  { name: 'slow heads', flags: ['-H', '-i', '5', '-x', '24'], path: `${MAP}/large` },
  {
    name: 'slow contents',
    flags: ['-B', '-i', '5', '-s', '8192', '-x', '10', '-t', 'POST'],
    path: `${MAP}/attacked`,
  },
  { name: 'ranges', flags: ['-R', '-a', '10', '-b', '3000', '-t', 'GET'], path: `${MAP}/large` },
  {
    name: 'slow readers',
    flags: ['-X', '-w', '512', '-y', '1024', '-n', '5', '-z', '32', '-k', '3'],
    path: `${MAP}/large`,
  },
] as const;

export type Attack = (typeof ATTACKS)[number];

export interface Outcome {
  /** Number of requests of the other client, all with a response. */
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

/** Sets the value that is read slowly. */
export async function prepare(port: number): Promise<void> {
  const client = new RawClient(port);
  const { status } = await client.request('POST', `${MAP}/large`, Buffer.alloc(LARGE_BYTES, 'x'));
  assert.equal(status, 200);
  client.destroy();
}

/**
 * Attacks with this many connections for this time; an attack that ends early, as all its requests
 * have responses, is repeated. Rejects if the other client loses a request.
 */
export async function runAttack(
  port: number,
  attack: Attack,
  connections: number,
  seconds: number,
): Promise<Outcome> {
  let isOver = false;
  const ended = attackFor(port, attack, connections, seconds).finally(() => {
    isOver = true;
  });
  const client = new RawClient(port);
  const times: number[] = [];
  const value = Buffer.from('value');
  while (!isOver) {
    const started = performance.now();
    const isWrite = times.length % 2 === 0;
    const { status } = isWrite
      ? await client.request('POST', `${MAP}/beside`, value)
      : await client.request('GET', `${MAP}/beside`);
    times.push(performance.now() - started);
    assert.equal(status, 200);
    await sleep(PAUSE_MS);
  }
  await ended;
  client.destroy();
  times.sort((a, b) => a - b);
  return {
    requests: times.length,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    longestMs: times.at(-1) ?? Number.NaN,
  };
}

async function attackFor(
  port: number,
  attack: Attack,
  connections: number,
  seconds: number,
): Promise<void> {
  const words = [...attack.flags, '-c', `${connections}`, '-r', `${connections / 2}`];
  words.push('-u', `http://127.0.0.1:${port}/grid/rest/${attack.path}`);
  const end = performance.now() + seconds * 1000;
  for (let restMs = end - performance.now(); restMs > 0; restMs = end - performance.now()) {
    const flags = [...words, '-l', `${Math.ceil(restMs / 1000)}`];
    await once(spawn('slowhttptest', flags, { stdio: 'ignore' }), 'exit');
  }
}
