/**
 * Redis with its append-only file, if it is installed, and redis-benchmark, which loads it. It uses
 * the same disk, connections, depth and length of values as gridnode.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { promisify } from 'node:util';
import type { Load } from './generator.ts';

const START_ATTEMPTS_MAX = 100;
const ATTEMPT_MS = 50;

const run = promisify(execFile);

export function isRedisInstalled(): boolean {
  const isThere = (program: string) => spawnSync(program, ['--version']).error === undefined;
  return isThere('redis-server') && isThere('redis-benchmark');
}

export class Redis {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /**
   * Resolves once Redis replies. Its file is not rewritten, as our log is not in such a short time.
   */
  static async start(directory: string, sync: 'everysec' | 'always'): Promise<Redis> {
    const port = await freePort();
    const words = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory];
    words.push('--appendonly', 'yes', '--appendfsync', sync, '--auto-aof-rewrite-percentage', '0');
    const child = spawn('redis-server', words, { stdio: 'ignore' });
    const redis = new Redis(child, port);
    for (let attempt = 0; attempt < START_ATTEMPTS_MAX; attempt++) {
      if (await isListening(port)) return redis;
      await new Promise((resolve) => setTimeout(resolve, ATTEMPT_MS));
    }
    await redis.stop();
    throw new Error('Cannot start redis-server: it does not listen');
  }

  /** Runs SET over random keys; returns requests per second. */
  async drive(load: Load, valueBytes: number, requests: number): Promise<number> {
    const words = ['-p', String(this.port), '-t', 'set', '-r', String(load.keyCount), '--csv'];
    words.push('-c', String(load.connections), '-P', String(load.depth));
    words.push('-d', String(valueBytes), '-n', String(requests));
    const { stdout } = await run('redis-benchmark', words);
    const rate = /^"SET","([\d.]+)"/m.exec(stdout)?.[1];
    if (rate === undefined) throw new Error(`Cannot read the output of redis-benchmark: ${stdout}`);
    return Number(rate);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('Cannot find a free port');
  return address.port;
}
