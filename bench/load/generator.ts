/**
 * The generators of requests: wrk if it is installed, otherwise autocannon. autocannon runs in Node
 * and saturates before a server does, so it flattens every ratio; it is for machines without wrk.
 * Our own connector makes a connection for each request where these cannot: if the client ends it
 * first, in bursts, and in place of autocannon. Each runs in a separate process.
 */
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ConnectorFigures, ConnectorOrder } from './connector.ts';
import { programWords } from './program.ts';
import { exchangeOf, type Request } from './request.ts';

/** Interval at which autocannon checks whether it has made all its requests. */
const SAMPLE_MS = 50;

/** The load of a server: repeated requests. */
export interface Load {
  readonly port: number;
  /** Kinds of requests, in the order in which they are sent. */
  readonly requests: readonly Request[];
  readonly keyCount: number;
  readonly connections: number;
  /** Requests sent on a connection before the first response. */
  readonly depth: number;
  /** Duration; autocannon accepts only whole seconds, at least 1. */
  readonly seconds: number;
  /** autocannon only: this many requests instead of the seconds. */
  readonly amount?: number;
  /** Side that ends the connection after each request; without it, connections are kept. */
  readonly ends?: 'server' | 'client';
  /** With `ends` only: number of bursts of all connections at once, instead of the seconds. */
  readonly bursts?: number;
}

export interface LoadFigures {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Latencies; NaN if the generator does not report them. */
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  /** Number of responses later than two seconds. */
  readonly late: number;
  /** Time from the begin of a burst to its last response, the median of all; NaN without bursts. */
  readonly burstUs: number;
}

export interface Generator {
  readonly name: string;
  /** Throws when any request failed: the figures would be those of failures. */
  drive(load: Load): Promise<LoadFigures>;
}

export const WRK: Generator = { name: 'wrk', drive: driveWrk };
export const AUTOCANNON: Generator = { name: 'autocannon', drive: driveAutocannon };

export function isWrkInstalled(): boolean {
  return spawnSync('wrk', ['--version']).error === undefined;
}

const run = promisify(execFile);

async function driveWrk(load: Load): Promise<LoadFigures> {
  if (load.ends === 'client' || load.bursts !== undefined) return driveConnector(load, load.ends);
  const script = join(import.meta.dirname, 'requests.lua');
  const url = `http://127.0.0.1:${load.port}/`;
  const whole = Math.ceil(load.seconds);
  const words = ['-t1', `-c${load.connections}`, `-d${whole}s`, '-s', script, url];
  const variables = {
    LOAD_REQUESTS: load.requests.map(lineOf).join('\n'),
    LOAD_DEPTH: String(load.depth),
    LOAD_KEYS: String(load.keyCount),
    LOAD_CLOSES: String(load.ends === 'server'),
  };
  // wrk accepts only whole seconds; when interrupted, it ends early with the figures so far. On a
  // busy machine it may not have begun by then, so it gets more time.
  let figures: readonly number[] = [];
  for (let seconds = load.seconds; !((figures[0] ?? 0) > 0) && seconds < whole * 2; seconds *= 2) {
    const running = run('wrk', words, { env: { ...process.env, ...variables } });
    const interrupt = () => running.child.kill('SIGINT');
    const timer = seconds < whole ? setTimeout(interrupt, seconds * 1000) : undefined;
    const { stdout } = await running.finally(() => clearTimeout(timer));
    const line = /^FIGURES (.*)$/m.exec(stdout)?.[1];
    if (line === undefined) throw new Error(`Cannot read the output of wrk: ${stdout}`);
    figures = line.split(' ').map(Number);
  }
  const [requests = 0, us = 0, p50 = 0, p99 = 0, p999 = 0, late = 0, ...failed] = figures;
  refuseFailures(failed, requests);
  return {
    requests,
    requestsPerSecond: (requests / us) * 1e6,
    p50Us: knownUs(p50),
    p99Us: knownUs(p99),
    p999Us: knownUs(p999),
    late,
    burstUs: Number.NaN,
  };
}

/** The line that requests.lua reads. */
function lineOf({ method, target, bodyBytes = -1, times = 1 }: Request): string {
  return `${times} ${method} ${bodyBytes} ${target}`;
}

interface AutocannonResult {
  /** In seconds, with two decimal places. */
  readonly duration: number;
  readonly errors: number;
  readonly non2xx: number;
  readonly requests: { readonly total: number };
  /** In milliseconds. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly p99_9: number };
}

async function driveAutocannon(load: Load): Promise<LoadFigures> {
  if (load.ends !== undefined) return driveConnector(load, load.ends);
  const { requests: kinds, keyCount, connections, depth, amount } = load;
  const options = {
    url: `http://127.0.0.1:${load.port}`,
    requests: kinds,
    keyCount,
    connections,
    pipelining: depth,
    ...(amount === undefined
      ? { duration: Math.ceil(load.seconds) }
      : { amount, sampleInt: SAMPLE_MS }),
  };
  const words = [...programWords('bench/load/autocannon'), JSON.stringify(options)];
  const { stdout } = await run(process.execPath, words);
  const result = JSON.parse(stdout) as AutocannonResult;
  const { requests, latency } = result;
  refuseFailures([result.errors, result.non2xx], requests.total);
  return {
    requests: requests.total,
    requestsPerSecond: requests.total / result.duration,
    p50Us: knownUs(latency.p50 * 1000),
    p99Us: knownUs(latency.p99 * 1000),
    p999Us: knownUs(latency.p99_9 * 1000),
    late: 0,
    burstUs: Number.NaN,
  };
}

/** Makes a connection for each request, all of the first kind. */
async function driveConnector(load: Load, ends: Load['ends'] = 'server'): Promise<LoadFigures> {
  const { port, keyCount, connections, seconds, bursts } = load;
  const [request] = load.requests;
  if (request === undefined) throw new RangeError('Cannot load a server without a request');
  const exchange = exchangeOf(request);
  const order: ConnectorOrder = { port, exchange, keyCount, connections, seconds, bursts, ends };
  const words = [...programWords('bench/load/connector'), JSON.stringify(order)];
  const { stdout } = await run(process.execPath, words);
  const { requests, failed, us, burstUs, ...latencies } = JSON.parse(stdout) as ConnectorFigures;
  refuseFailures([failed], requests);
  return {
    ...latencies,
    requests,
    requestsPerSecond: (requests / us) * 1e6,
    late: 0,
    burstUs: burstUs ?? Number.NaN,
  };
}

/**
 * Returns NaN for 0: wrk prints 0 for a latency that its correction moved out of its table,
 * autocannon for a latency under a millisecond.
 */
function knownUs(us: number): number {
  return us === 0 ? Number.NaN : us;
}

/** Throws if any request failed; `failed` has the count of each kind of failure. */
function refuseFailures(failed: readonly number[], requests: number): void {
  if (failed.some((count) => count > 0) || requests === 0) {
    throw new Error(`Cannot measure: ${failed.join(' + ')} requests failed of ${requests}`);
  }
}
