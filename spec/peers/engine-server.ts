/**
 * A server for the engine on Redis or Valkey, on a free port of this machine, without anything stored:
 * `redis-server`, or the program that ENGINE_SERVER names.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';

const PROGRAM = process.env.ENGINE_SERVER ?? 'redis-server';
const PACKAGE = PROGRAM === 'redis-server' ? 'redis-server' : 'valkey-server';
const START_MS_MAX = 20_000;

export class EngineServer {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(port: number, child: ChildProcess, folder: string) {
    this.port = port;
    this.#child = child;
    this.#folder = folder;
  }

  static async start(...words: readonly string[]): Promise<EngineServer> {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-engine-'));
    const own = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', folder];
    const child = spawn(PROGRAM, [...own, ...words], { stdio: 'ignore' });
    const failed = once(child, 'error').then(([error]) => {
      const install = `apt-get install ${PACKAGE}`;
      throw new Error(`Cannot start ${PROGRAM}: ${install}`, { cause: error });
    });
    await Promise.race([failed, listening(port)]);
    return new EngineServer(port, child, folder);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function listening(port: number): Promise<void> {
  const end = Date.now() + START_MS_MAX;
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1' });
    const isUp = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isUp) return;
    if (Date.now() > end) throw new Error(`${PROGRAM} does not listen on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
