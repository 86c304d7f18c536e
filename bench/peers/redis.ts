/**
 * Redis, with its own protocol and its own generator, redis-benchmark, and webdis, which serves
 * Redis over HTTP.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Generator, Load, LoadFigures } from '../load/generator.ts';
import { type Exchange, exchangeOf, KEY, type Request } from '../load/request.ts';
import { type Command, findProgram, type Operation, type Peer, WAIT_SECONDS } from './peer.ts';

const QUEUE = 'bench';
/** Number of requests in the trial that determines how many fit into a round. */
const TRIAL_REQUESTS = 20_000;
const ANSWERS: Readonly<Record<Operation, string>> = {
  get: '$',
  set: '+OK',
  offer: ':',
  poll: '$',
  wait: '*2\r\n',
};

const run = promisify(execFile);

/** Drives redis-benchmark; the target of a request is a command with its arguments. */
const REDIS_BENCHMARK: Generator = {
  name: 'redis-benchmark',
  async drive(load) {
    const trial = await benchmark(load, TRIAL_REQUESTS);
    const figures = await benchmark(load, Math.ceil(trial.requestsPerSecond * load.seconds));
    // The measured CPU time of the server covers both runs.
    return { ...figures, requests: trial.requests + figures.requests };
  },
};

export const REDIS: Peer = {
  name: 'redis',
  install: 'apt-get install redis-server',
  isInstalled: () => findProgram('redis-server') !== undefined,
  stores: true,
  commands: ({ port, folder }) => [redisServer(port, folder)],
  ready: { request: 'PING\r\n', answer: '+PONG' },
  request: (operation, valueBytes) => ({
    method: operation,
    target: wordsOf(operation, valueBytes).join(' '),
  }),
  exchange: (operation, valueBytes): Exchange => {
    const words = wordsOf(operation, valueBytes);
    const parts = words.map((word) => `$${word === KEY ? 12 : word.length}\r\n${word}\r\n`);
    return { request: `*${words.length}\r\n${parts.join('')}`, answer: ANSWERS[operation] };
  },
  generator: REDIS_BENCHMARK,
};

export const WEBDIS: Peer = {
  request: webdisRequest,
  // It may send no response to many pipelined requests with content.
  exchange(operation, valueBytes) {
    const request = webdisRequest(operation, valueBytes);
    return request && { ...exchangeOf(request), depthMax: 1 };
  },
  name: 'webdis',
  install: 'apt-get install webdis redis-server',
  isInstalled: () => REDIS.isInstalled() && findProgram('webdis') !== undefined,
  stores: true,
  commands({ port, innerPort, folder }) {
    const file = join(folder, 'webdis.json');
    writeFileSync(file, JSON.stringify(webdisConfiguration(port, innerPort, folder)));
    return [redisServer(innerPort, folder), ['webdis', file]];
  },
  ready: exchangeOf({ method: 'GET', target: '/PING' }),
};

export function redisServer(port: number, folder: string, ...others: string[]): Command {
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
  const plain = ['--save', '', '--appendonly', 'no', '--daemonize', 'no'];
  return ['redis-server', ...words, ...plain, ...others];
}

/**
 * Returns the default configuration with other ports, files and log, and with settings that close
 * no connection and forbid no command.
 */
function webdisConfiguration(port: number, innerPort: number, folder: string): object {
  return {
    redis_host: '127.0.0.1',
    redis_port: innerPort,
    http_host: '127.0.0.1',
    http_port: port,
    http_max_request_size: 134_217_728,
    threads: 2,
    pool_size: 20,
    daemonize: false,
    websockets: false,
    acl: [{ disabled: [] }],
    verbosity: 0,
    logfile: join(folder, 'webdis.log'),
  };
}

/** Returns the target for which webdis responds with the bare value instead of JSON. */
function webdisRequest(operation: Operation, bodyBytes: number): Request | undefined {
  if (operation === 'get') return { method: 'GET', target: `/GET/${KEY}.txt` };
  if (operation === 'set') return { method: 'PUT', target: `/SET/${KEY}`, bodyBytes };
  if (operation === 'offer') return { method: 'PUT', target: `/LPUSH/${QUEUE}`, bodyBytes };
  if (operation === 'poll') return { method: 'GET', target: `/RPOP/${QUEUE}.txt` };
  return undefined;
}

function wordsOf(operation: Operation, valueBytes: number): string[] {
  const value = 'x'.repeat(valueBytes);
  if (operation === 'get') return ['GET', KEY];
  if (operation === 'set') return ['SET', KEY, value];
  if (operation === 'offer') return ['LPUSH', QUEUE, value];
  if (operation === 'poll') return ['RPOP', QUEUE];
  return ['BLPOP', QUEUE, String(WAIT_SECONDS)];
}

async function benchmark(load: Load, amount: number): Promise<LoadFigures> {
  const words = ['--csv', '-p', String(load.port), '-c', String(load.connections)];
  words.push('-P', String(load.depth), '-n', String(amount), '-r', String(load.keyCount));
  const target = load.requests[0]?.target.replaceAll(KEY, '__rand_int__') ?? '';
  const { stdout } = await run('redis-benchmark', [...words, ...target.split(' ')]);
  // Columns: the command, requests per second; in milliseconds: mean, minimum, p50, p95, p99,
  // maximum.
  const line = stdout.trim().split('\n').at(-1) ?? '';
  const cells = line.split(',').map((cell) => Number(cell.replaceAll('"', '')));
  const [, requestsPerSecond = Number.NaN, , , p50 = Number.NaN, , p99 = Number.NaN] = cells;
  if (!(requestsPerSecond > 0))
    throw new Error(`Cannot read the output of redis-benchmark: ${line}`);
  const latencies = { p50Us: p50 * 1000, p99Us: p99 * 1000, p999Us: Number.NaN };
  return { requests: amount, requestsPerSecond, ...latencies, late: 0, burstUs: Number.NaN };
}
