/**
 * The process of a Redis or Valkey server: `redis-server`, or the program that ENGINE_SERVER names. One that
 * ends while it starts fails the start at once, with its output.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

export const PROGRAM = process.env.ENGINE_SERVER ?? 'redis-server';
const PACKAGE = PROGRAM.endsWith('redis-server') ? 'redis-server' : 'valkey-server';
const WAIT_MS_MAX = 60_000;
/** Characters of the output that an error shows. */
const OUTPUT_LENGTH = 2000;

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Error | undefined>;
  #output = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('error', resolve).once('exit', () => resolve(undefined));
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (piece) => {
        this.#output = `${this.#output}${piece}`.slice(-OUTPUT_LENGTH);
      });
    }
  }

  /** `runner`: the words of a command that runs the program elsewhere. Resolves once `isUp` returns true. */
  static async start(
    words: readonly string[],
    isUp: () => Promise<boolean>,
    runner: readonly string[] = [],
  ): Promise<ServerProcess> {
    const [program = PROGRAM, ...all] = [...runner, PROGRAM, ...words];
    const server = new ServerProcess(spawn(program, all, { stdio: ['ignore', 'pipe', 'pipe'] }));
    let isEnded = false;
    const failed = server.#ended.then((cause) => {
      isEnded = true;
      const reason = cause === undefined ? server.#output : `apt-get install ${PACKAGE}`;
      throw new Error(`Cannot start ${PROGRAM}: ${reason}`, { cause });
    });
    try {
      await Promise.race([failed, until(async () => isEnded || (await isUp()))]);
    } catch (error) {
      await server.kill();
      throw error;
    }
    return server;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(name);
  }

  /** Resolves when the process has ended, also where it had before. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** Resolves when the check does with true; a check that rejects is repeated. */
export async function until(check: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + WAIT_MS_MAX;
  for (;;) {
    let fault: unknown;
    try {
      if (await check()) return;
    } catch (error) {
      fault = error;
    }
    if (Date.now() > end) throw new Error('it has not come about', { cause: fault });
    await sleep(50);
  }
}
