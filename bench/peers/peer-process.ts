/**
 * A running peer: its processes, the processors that they may use, and a folder that is removed
 * with them. Several programs, such as webdis and its Redis, can form one peer; its CPU time and
 * memory are the sums over all of them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuUsOf, residentMibOf } from '../load/process-figures.ts';
import type { Exchange } from '../load/request.ts';
import type { Peer } from './peer.ts';
import { onProcessors } from './processors.ts';

const START_TIMEOUT_MS = 30_000;
/** Ports that a peer may use. */
const PORTS = 17;
/** Time between attempts to reach a peer that does not listen yet, in ms. */
const RETRY_MS = 1;
const STOP_TIMEOUT_MS = 10_000;

/** All running processes. They are ended when this process ends, for whatever reason. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class PeerProcess {
  readonly peer: Peer;
  readonly port: number;
  /** Time from before its first process was created to its first response, in milliseconds. */
  readonly startMs: number;
  readonly #folder: string;
  readonly #children: readonly ChildProcess[];

  private constructor(
    peer: Peer,
    port: number,
    startMs: number,
    folder: string,
    children: readonly ChildProcess[],
  ) {
    this.peer = peer;
    this.port = port;
    this.startMs = startMs;
    this.#folder = folder;
    this.#children = children;
  }

  /** Resolves at the peer's first response. `processors` is a list in the format of taskset. */
  static async start(peer: Peer, processors: string, valueBytes: number): Promise<PeerProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'gridnode-peer-'));
    const ports = await Promise.all(Array.from({ length: PORTS }, freePort));
    const [port = 0, innerPort = 0, replicaPort = 0, ...furtherPorts] = ports;
    const place = { port, innerPort, replicaPort, furtherPorts, folder, valueBytes };
    const commands = peer.commands(place);
    const start = performance.now();
    const children = commands.map((command) => {
      const [program, ...words] = onProcessors(processors, command);
      const child = spawn(program, words, { stdio: 'ignore' });
      running.add(child);
      child.once('exit', () => running.delete(child));
      return child;
    });
    const made = (startMs: number) => new PeerProcess(peer, port, startMs, folder, children);
    try {
      await answering(port, peer.ready, start + START_TIMEOUT_MS, children);
      return made(performance.now() - start);
    } catch (cause) {
      await made(Number.NaN).stop();
      throw new Error(`Cannot start ${peer.name}: it does not respond`, { cause });
    }
  }

  /** CPU time in microseconds; NaN if the system does not report it. */
  cpuUs(): number {
    return this.#sum((pid) => cpuUsOf(pid) ?? Number.NaN);
  }

  /** CPU time of the serving program, without its backends; NaN if it has no backends. */
  ownCpuUs(): number {
    if (this.#children.length === 1) return Number.NaN;
    return cpuUsOf(this.#children.at(-1)?.pid) ?? Number.NaN;
  }

  /** Resident memory, in MiB; NaN if the system does not report it. */
  residentMib(): number {
    return this.#sum((pid) => residentMibOf(pid) ?? Number.NaN);
  }

  /**
   * Memory of the peer, in bytes; the difference of two readings is the memory of the data stored
   * between them.
   */
  dataBytes(): number {
    const { dataBytes } = this.peer;
    if (dataBytes === undefined) return this.residentMib() * 2 ** 20;
    return this.#sum((pid) => dataBytes(pid));
  }

  async stop(): Promise<void> {
    // The serving program ends before its backends.
    for (const child of this.#children.toReversed()) await stopped(child);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #sum(read: (pid: number) => number): number {
    return this.#children.reduce((sum, { pid }) => sum + read(pid ?? Number.NaN), 0);
  }
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  child.kill('SIGTERM');
  await once(child, 'exit');
  clearTimeout(timer);
}

/** Resolves with a port on which no process listens at the moment. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Sends the request repeatedly until the expected response arrives. */
async function answering(
  port: number,
  ready: Exchange,
  deadline: number,
  children: readonly ChildProcess[],
): Promise<void> {
  let failure: Error | undefined;
  for (const child of children) child.once('error', (error) => (failure = error));
  while (!(await ask(port, ready))) {
    const ended = children.find((child) => child.exitCode !== null);
    if (ended !== undefined) failure = new Error(`The process ended with ${ended.exitCode}`);
    if (failure !== undefined) throw failure;
    if (performance.now() > deadline) throw new Error('No response in time');
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function ask(port: number, { request, answer }: Exchange): Promise<boolean> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (text.length < answer.length) return;
      socket.destroy();
      resolve(text.startsWith(answer));
    });
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
  });
}
