/**
 * Measures how long a member's event loop is blocked while a client adds a configuration text
 * (config/update) and while the file is read again (as at SIGHUP), with texts that are expensive to
 * read. For each text it prints the longest turn of the event loop, in processor time, beside that
 * of the idle member. Each text has its own member, which stores added texts on disk; the client
 * runs in its own thread.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { resolveConfig } from '../src/member/config.ts';
import type { ConfigRequest } from '../src/member/load.ts';
import { startMember } from '../src/member/member.ts';
import { loadInThread } from '../src/member/reading-thread.ts';
import { createLog } from '../src/telemetry/log.ts';
import { type Bench, type Harness, time } from './harness.ts';

const LENGTH_FULL = 1_000_000;
const LENGTH_SMALL = 4000;
/**
 * Number of texts in the small size: each starts a thread, which compiles its program for a second.
 */
const TEXTS_SMALL = 1;
const IDLE_MS = 300;
/** Its first field is processor time, in ns; the id of the main thread is that of the process. */
const SCHEDULER_FILE = `/proc/self/task/${process.pid}/schedstat`;

/** Returns as many pieces as fit into a text of that length. */
function many(length: number, piece: (index: number) => string): string {
  const pieces: string[] = [];
  for (let index = 0, left = length; left > 0; index++) {
    const text = piece(index);
    pieces.push(text);
    left -= text.length;
  }
  return pieces.join('');
}

/** Names of four letters and digits. */
const nameOf = (index: number): string => (36 ** 3 + index).toString(36);

export const TEXTS: Readonly<Record<string, (length: number) => string>> = {
  queues: (length) => `grid: {queue: {${many(length, (at) => `${nameOf(at)}, `)}}}`,
  maps: (length) => `grid: {map: {${many(length, (at) => `q${nameOf(at)}, `)}}}`,
  users: (length) => {
    const users = many(length, (at) => `{username: ${nameOf(at)}, password: p}, `);
    return `grid: {security: {realms: [{name: r, authentication: {simple: {users: [${users}]}}}]}}`;
  },
  permissions: (length) => {
    const permissions = many(Math.min(length, 100_000), () => '{name: a}, ');
    return `grid: {security: {client-permissions: {map: [${permissions}]}}}`;
  },
  'unknown names': (length) => `grid: {${many(length, (at) => `nam${nameOf(at)}, `)}}`,
  aliases: (length) => {
    const lines = many(length, (at) => `\n    ${nameOf(at)}: *a`);
    return `grid:\n  queue:\n    a: &a {max-size: 1}${lines}\n`;
  },
  'aliases of aliases': () => {
    const lines = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(
      (at) => `  x${at + 1}: &x${at + 1} [*x${at}, *x${at}]`,
    );
    return `grid:\n  x0: &x0 [a, a]\n${lines.join('\n')}\n`;
  },
  'nested lists': (length) => `grid: ${'['.repeat(length)}`,
  'list items': (length) =>
    `grid: {network: {interfaces: {interfaces: [${'a,'.repeat(length / 2)}]}}}`,
  elements: (length) => `<grid>${many(length, (at) => `<queue name="${nameOf(at)}"/>`)}</grid>`,
  attributes: (length) => `<grid ${many(length, (at) => `${`a${nameOf(at)}`}="" `)}/>`,
};

const CLIENT = `
const { parentPort, workerData } = require('node:worker_threads');
const { request } = require('node:http');
parentPort.on('message', (text) => {
  const path = '/grid/rest/config/update';
  const options = { port: workerData, method: 'POST', path };
  const asking = request(options, (response) => {
    response.resume().on('end', () => parentPort.postMessage(response.statusCode));
  });
  asking.end('dev&&' + encodeURIComponent(text));
});
`;

async function run(harness: Harness): Promise<void> {
  const length = harness.size === 'full' ? LENGTH_FULL : LENGTH_SMALL;
  for (const [name, textOf] of Object.entries(TEXTS).slice(
    0,
    harness.pick(TEXTS_SMALL, Infinity),
  )) {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-bench-'));
    try {
      await changeOne(harness, name, textOf(length), folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}

/**
 * Adds the text, then another with the maximum number of further queues, then reads the first as a
 * file.
 */
async function changeOne(
  harness: Harness,
  name: string,
  text: string,
  folder: string,
): Promise<void> {
  const file = join(folder, 'grid.conf');
  const source = { kind: 'flag', name: '--bench' } as const;
  const flags = [
    { key: 'port', text: '0', source },
    { key: 'restEnabled', text: 'true', source },
    { key: 'endpointGroups', name: 'CLUSTER_WRITE', text: 'true', source },
    { key: 'persistenceEnabled', text: 'true', source },
    { key: 'dataDirectory', text: join(folder, 'data'), source },
  ] as const;
  const config = resolveConfig(flags);
  const request: ConfigRequest = { file, environment: {}, flags };
  const log = createLog('OFF', { write: () => {} });
  const member = await startMember(config, log, () => loadInThread(request));
  const client = new Worker(CLIENT, { eval: true, execArgv: [], workerData: member.port });
  const add = (added: string) =>
    longestTurn(async () => {
      client.postMessage(added);
      const [status] = await once(client, 'message');
      return status;
    });
  try {
    const resting = await longestTurn(() => wait(IDLE_MS));
    const adding = await add(text);
    const addingMore = await add(moreQueues(text.length));
    writeFileSync(file, text);
    const reloading = await longestTurn(() => member.reload());
    harness.print(
      `${name.padEnd(19)} at rest ${time(resting.longestUs)}, config/update ${told(adding)}, ` +
        `another ${told(addingMore)}, reload ${time(reloading.longestUs)}`,
    );
  } finally {
    await client.terminate();
    await member.drain();
  }
}

function told({ longestUs, value }: { longestUs: number; value: unknown }): string {
  return `${time(longestUs)} (${value})`;
}

function moreQueues(length: number): string {
  return `grid: {queue: {${many(length, (at) => `more${nameOf(at)}, `)}}}`;
}

/** Runs the work, watches the event loop and returns the longest processor time of a turn. */
async function longestTurn<Value>(
  work: () => Promise<Value>,
): Promise<{ value: Value; longestUs: number; lastedUs: number }> {
  let longestUs = 0;
  let last = threadUs();
  let isDone = false;
  const watch = (): void => {
    const now = threadUs();
    longestUs = Math.max(longestUs, now - last);
    last = now;
    if (!isDone) setImmediate(watch);
  };
  watch();
  const start = performance.now();
  const value = await work();
  const lastedUs = (performance.now() - start) * 1000;
  await wait(2);
  isDone = true;
  return { value, longestUs, lastedUs };
}

/** Returns the processor time of the serving thread in µs, without other threads. */
function threadUs(): number {
  try {
    return Number(readFileSync(SCHEDULER_FILE, 'latin1').split(' ', 1)[0]) / 1000;
  } catch {
    return performance.now() * 1000; // Outside Linux, the elapsed time replaces it.
  }
}

export const bench: Bench = {
  name: 'reconfiguration',
  about: 'the longest turn of a member while configurations are read',
  run,
};
