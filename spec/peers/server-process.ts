/**
 * The process of a Redis or Valkey server: `redis-server`, or the program that ENGINE_SERVER names.
 * If the process ends while it starts, the start fails immediately with its output.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

const WAIT_MS_MAX = 60_000;
/** Characters of the output that an error shows. */
const OUTPUT_LENGTH = 2000;

/** The program of a server now: valkey.peers.ts sets ENGINE_SERVER after modules are loaded. */
export function serverProgram(): string {
  return process.env.ENGINE_SERVER ?? 'redis-server';
}

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

  /** Resolves once `isUp` does with true. `runner` are the words that run it on another host. */
  static async start(
    words: readonly string[],
    isUp: () => Promise<boolean>,
    runner: readonly string[] = [],
  ): Promise<ServerProcess> {
    const [program = '', ...all] = [...runner, serverProgram(), ...words];
    const server = new ServerProcess(spawn(program, all, { stdio: ['ignore', 'pipe', 'pipe'] }));
    let isEnded = false;
    const failed = server.#ended.then((cause) => {
      isEnded = true;
      const reason =
        cause === undefined
          ? server.#output
          : 'no such program; apt-get install redis-server, or valkey-server';
      throw new Error(`Cannot start ${serverProgram()}: ${reason}`, { cause });
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

  /** Resolves when the process has ended, even if it ended before the call. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** Repeats the check until it resolves with true; rejects after WAIT_MS_MAX with the last error. */
export async function until(check: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + WAIT_MS_MAX;
  for (;;) {
    let fault: unknown;
    try {
      if (await check()) return;
    } catch (error) {
      fault = error;
    }
    if (Date.now() > end) throw new Error('the condition was not met in time', { cause: fault });
    await sleep(50);
  }
}
