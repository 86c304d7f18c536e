/**
 * A server under load: a separate process that prints a line of JSON with its port once it serves.
 * Its CPU time and memory are read from Linux's /proc; on other systems they are undefined. The
 * allocated heap is summed from Node's trace of garbage collections.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { cpuUsOf, residentMibOf } from './process-figures.ts';

/** Time limit for a start, in ms, including the recovery of the data that a bench has stored. */
const START_TIMEOUT_MS = 120_000;
const MIB = 1024 * 1024;

export class ServerProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  #port = 0;
  /** Heap allocated up to the last collection, in bytes. */
  #allocatedBytes = 0;
  #collections = 0;
  /** Heap after the last collection, in MiB. */
  #heapMib: number | undefined;

  /** `words` are Node's arguments; `variables` are added to the environment. */
  constructor(name: string, words: readonly string[], variables: NodeJS.ProcessEnv = {}) {
    this.name = name;
    this.#child = spawn(process.execPath, ['--trace-gc', ...words], {
      env: { ...process.env, ...variables },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  /** Resolves once the server serves. Called once. */
  async serving(): Promise<void> {
    const { stdout } = this.#child;
    if (stdout === null) throw new Error(`Cannot read the output of ${this.name}`);
    const lines = createInterface({ input: stdout });
    const port = new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#child.kill('SIGKILL');
        reject(new Error(`Cannot start ${this.name}: silent for ${START_TIMEOUT_MS} ms`));
      }, START_TIMEOUT_MS);
      this.#child.once('exit', (code) => {
        clearTimeout(timer);
        reject(new Error(`Cannot start ${this.name}: it ended with ${code}`));
      });
      lines.on('line', (line) => {
        if (!line.startsWith('{')) return this.#readCollection(line);
        const { msg, port } = JSON.parse(line) as { msg: string; port: number };
        if (msg !== 'listening') return;
        clearTimeout(timer);
        resolve(port);
      });
    });
    this.#port = await port;
  }

  /** 0 until the server serves. */
  get port(): number {
    return this.#port;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Null while it runs, and where a signal ended it. */
  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** CPU time used so far, all threads, in microseconds. */
  cpuUs(): number | undefined {
    return cpuUsOf(this.#child.pid);
  }

  /** Resident memory, in MiB. */
  residentMib(): number | undefined {
    return residentMibOf(this.#child.pid);
  }

  /**
   * Bytes of heap allocated up to the last collection, and the number of collections: two readings
   * without a collection between them have no meaning.
   */
  allocated(): { readonly bytes: number; readonly collections: number } {
    return { bytes: this.#allocatedBytes, collections: this.#collections };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }

  /** A line such as `[1:0x2] 33 ms: Scavenge 6.9 (7.8) -> 6.1 (8.8) MB, 0.5 / 0.0 ms ...`. */
  #readCollection(line: string): void {
    const [, before, after] = / ms: .*? ([\d.]+) \([\d.]+\) -> ([\d.]+) \(/.exec(line) ?? [];
    if (before === undefined || after === undefined) return;
    if (this.#heapMib !== undefined) {
      this.#allocatedBytes += Math.max(0, Number(before) - this.#heapMib) * MIB;
    }
    this.#heapMib = Number(after);
    this.#collections += 1;
  }
}
