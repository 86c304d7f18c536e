/**
 * An empty Redis or Valkey server on a free port of this machine: `redis-server`, or the program
 * that ENGINE_SERVER names.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { freePort } from '../free-port.ts';
import { ServerProcess } from './server-process.ts';

export class EngineServer {
  readonly port: number;
  readonly #process: ServerProcess;
  readonly folder: string;

  private constructor(port: number, process: ServerProcess, folder: string) {
    this.port = port;
    this.#process = process;
    this.folder = folder;
  }

  static async start(...words: readonly string[]): Promise<EngineServer> {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-engine-'));
    const defaults = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', folder];
    const process = await ServerProcess.start([...defaults, ...words], () => isListening(port));
    return new EngineServer(port, process, folder);
  }

  get pid(): number {
    return this.#process.pid;
  }

  async stop(): Promise<void> {
    await this.#process.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Runs a server for the tests of the suite, or of the file, that calls this. `words` are settings.
 */
export function serverForTests(...words: readonly string[]): Pick<EngineServer, 'port'> {
  let server: EngineServer;
  before(async () => {
    server = await EngineServer.start(...words);
  });
  after(() => server.stop());
  return {
    get port() {
      return server.port;
    },
  };
}

/** Whether a process accepts connections on the port. */
export function isListening(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}
