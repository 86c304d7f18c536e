/**
 * SOAK_SIZE connections, which is `connections-max`, in a container of 512 MiB for SOAK_SECONDS:
 * incomplete long heads, heads that arrive slowly, polls with long names and credentials, polls
 * followed by pipelined requests, and pipelines. The time limits are long, so that the member does
 * not close the connections itself. Meanwhile the health listener responds, and uploads of 1 MiB
 * succeed. The system does not kill the member, and a connection beyond the limit gets 503. A
 * second test adds pipelines whose clients do not read: their responses use up the budget, so
 * uploads are refused until such connections have been closed. Needs root and control groups.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMibOf } from '../../bench/load/process-figures.ts';
import { RawClient } from '../integration/client.ts';
import { serveWith } from '../integration/member-process.ts';
import { ControlGroup } from './control-group.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 10);
const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
const CONTAINER_MIB = Number(process.env.SOAK_MIB ?? 512);
const TIME_LIMITS = ['header', 'body-progress', 'write-progress', 'keep-alive'];
const MIB = 1_048_576;
/** Number of connections besides the crowd: uploads, and one that is idle. */
const OTHERS = 8;
const UPLOADERS = 4;
const UPLOAD = Buffer.alloc(MIB, 'u');
/** Number of connections that are opened at a time. */
const CONNECTING_MAX = 100;
const LONG = 'x'.repeat(32_000);
const REQUEST = 'GET /grid/rest/maps/m/absent HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** Kind of a client: the bytes that it sends at once, and those that it sends slowly. */
interface Kind {
  readonly name: string;
  readonly sent: Buffer;
  readonly slowly?: Buffer;
  /** Whether the client reads its responses and then sends `sent` again. */
  readonly reads?: true;
}

const LINE_END = 'HTTP/1.1\r\nHost: localhost\r\n';
const LOGIN = `Authorization: Basic ${LONG}\r\n`;
const KINDS: readonly Kind[] = [
  {
    name: 'half a head',
    sent: Buffer.from(`GET /grid/rest/maps/m/${LONG} ${LINE_END}${LOGIN}`),
  },
  {
    name: 'a slow head',
    sent: Buffer.from(`GET /grid/rest/maps/m/${LONG.slice(0, 8000)}`),
    slowly: Buffer.from('x'.repeat(200)),
  },
  {
    name: 'a poll with a long name',
    sent: Buffer.from(`DELETE /grid/rest/queues/${LONG}/86400 ${LINE_END}${LOGIN}\r\n`),
  },
  {
    name: 'a poll with pipelined requests',
    sent: Buffer.from(
      `DELETE /grid/rest/queues/q/86400 ${LINE_END}${LOGIN}\r\n${REQUEST.repeat(1000)}`,
    ),
  },
  {
    name: 'half a body after a long head',
    sent: Buffer.from(
      `POST /grid/rest/maps/m/${LONG} ${LINE_END}${LOGIN}Content-Length: 2\r\n\r\nx`,
    ),
  },
  { name: 'a pipeline', sent: Buffer.from(REQUEST.repeat(1200)), reads: true },
];
const UNREAD: Kind = {
  name: 'a pipeline that is not read',
  sent: Buffer.from(REQUEST.repeat(4000)),
};

class Crowd {
  /** Number of connections that the member has closed, and of 503 responses, by kind. */
  readonly closed = new Map<string, number>();
  readonly refused = new Map<string, number>();
  readonly #port: number;
  readonly #kinds: readonly Kind[];
  readonly #sockets = new Set<Socket>();
  #isOver = false;

  constructor(port: number, kinds: readonly Kind[]) {
    this.#port = port;
    this.#kinds = kinds;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /** Connects `size` clients, which send what their kinds require. */
  async begin(size: number): Promise<void> {
    let next = 0;
    const kinds = this.#kinds;
    const connectRest = async (): Promise<void> => {
      while (next < size) {
        const kind = kinds[next++ % kinds.length]!;
        // On a busy machine the kernel may time out if the member does not accept soon.
        while (!(await this.#connect(kind).then(isDone, isTimedOut)));
      }
    };
    await Promise.all(Array.from({ length: CONNECTING_MAX }, connectRest));
  }

  end(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  async #connect(kind: Kind): Promise<void> {
    const socket = connect(this.#port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.on('close', () => {
      if (!this.#isOver) count(this.closed, kind.name);
      this.#sockets.delete(socket);
    });
    this.#sockets.add(socket);
    await new Promise((resolve) => socket.write(kind.sent, resolve));
    this.#continue(socket, kind);
  }

  #continue(socket: Socket, { name, sent, slowly, reads }: Kind): void {
    if (name === UNREAD.name) return;
    let missing = 1200;
    socket.on('data', (chunk: Buffer) => {
      if (chunk.indexOf('HTTP/1.1 503') >= 0) count(this.refused, name);
      if (reads === undefined) return;
      for (let at = chunk.indexOf('HTTP/'); at >= 0; at = chunk.indexOf('HTTP/', at + 1)) missing--;
      if (missing > 0) return;
      missing += 1200;
      setTimeout(() => socket.write(sent), 60_000);
    });
    if (slowly === undefined) return;
    const timer = setInterval(() => socket.write(slowly), 3000);
    socket.once('close', () => clearInterval(timer));
  }
}

/** Uploads repeatedly. Counts the responses by status. */
async function upload(port: number, index: number, statuses: Map<string, number>, endMs: number) {
  const head =
    `POST /grid/rest/maps/uploads/${index} HTTP/1.1\r\nHost: localhost\r\n` +
    `Content-Length: ${UPLOAD.length}\r\n\r\n`;
  while (Date.now() < endMs) {
    const client = new RawClient(port);
    client.send(head);
    await sleep(10);
    client.send(UPLOAD);
    const response = await client.response().catch(() => undefined);
    count(statuses, String(response?.status ?? 'closed'));
    client.destroy();
    await sleep(100);
  }
}

/**
 * Sends requests to the health listener. Returns the longest wait, in ms, and the number of
 * responses.
 */
async function probe(port: number, endMs: number): Promise<readonly [number, number]> {
  let longestMs = 0;
  let responses = 0;
  while (Date.now() < endMs) {
    const client = new RawClient(port);
    const began = performance.now();
    client.send('GET /grid/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.equal((await client.response())?.status, 200);
    longestMs = Math.max(longestMs, performance.now() - began);
    responses++;
    client.destroy();
    await sleep(50);
  }
  return [longestMs, responses];
}

/** Tests a member with a crowd of these kinds. `check` receives the number of uploads by status. */
function soak(
  name: string,
  kinds: readonly Kind[],
  check: (uploads: ReadonlyMap<string, number>) => void,
): void {
  test(`A member in ${CONTAINER_MIB} MiB serves ${SIZE} connections that hold memory${name}`, async (context) => {
    const group = new ControlGroup(`gridnode-held-${process.pid}`, CONTAINER_MIB * MIB);
    const { child, lines, port, healthPort } = await start(group);
    const crowd = new Crowd(port, kinds);
    try {
      await crowd.begin(SIZE - OTHERS).catch((error: unknown) => {
        assert.equal(group.killed, 0, 'the system killed the member for lack of memory');
        throw error;
      });
      const endMs = Date.now() + SECONDS * 1000;
      const uploads = new Map<string, number>();
      const [[longestMs, responses]] = await Promise.all([
        probe(healthPort, endMs),
        ...Array.from({ length: UPLOADERS }, (_, index) => upload(port, index, uploads, endMs)),
      ]);
      const peakMib = Math.round(group.peakBytes / MIB);
      context.diagnostic(`${crowd.open} open, ${residentMibOf(child.pid)?.toFixed()} MiB resident`);
      context.diagnostic(`memory of the container: at most ${peakMib} MiB`);
      context.diagnostic(`health: ${responses} responses, longest wait ${longestMs.toFixed(0)} ms`);
      context.diagnostic(`uploads: ${counted(uploads)}`);
      context.diagnostic(`503: ${counted(crowd.refused)}`);
      context.diagnostic(`closed: ${counted(crowd.closed)}`);
      assert.equal(group.killed, 0, 'the system killed the member for lack of memory');
      check(uploads);
      await checkLimit(port, healthPort);
      crowd.end();
      await stop(child, 'SIGTERM');
      assert.equal(child.exitCode, 0, JSON.stringify(lines));
    } finally {
      crowd.end();
      await stop(child, 'SIGKILL');
      group.remove();
    }
  });
}

soak('', KINDS, (uploads) => assert.deepEqual([...uploads.keys()], ['200']));
soak(' or do not read', [...KINDS, UNREAD], (uploads) => {
  assert.ok((uploads.get('200') ?? 0) > 0, counted(uploads));
  for (const status of uploads.keys()) assert.match(status, /^(200|503)$/);
});

function start({ runner }: ControlGroup) {
  const limits = TIME_LIMITS.flatMap((limit) => [`--${limit}-timeout-seconds`, '3600']);
  const flags = ['--health-port', '0', '--enable-group', 'DATA', ...limits];
  return serveWith({ runner, isBuilt: true }, ...flags, '--connections-max', String(SIZE));
}

/** Ends the process, if it still runs. */
async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
  // The control group registers the end with a delay.
  await sleep(500);
}

/**
 * Connects until the limit is reached. Asserts that the next connection gets 503, and that the
 * health listener responds.
 */
async function checkLimit(port: number, healthPort: number): Promise<void> {
  const clients: RawClient[] = [];
  try {
    for (;;) {
      const client = new RawClient(port);
      clients.push(client);
      client.send('GET /grid/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
      const status = (await client.response())?.status;
      if (status === 503) break;
      assert.equal(status, 200);
      assert.ok(clients.length <= SIZE, 'a connection beyond the limit was served');
    }
    await probe(healthPort, Date.now() + 100);
  } finally {
    for (const client of clients) client.destroy();
  }
}

function isDone(): boolean {
  return true;
}

/** Returns false for a connection that was not accepted in time; rethrows any other error. */
function isTimedOut(error: NodeJS.ErrnoException): boolean {
  if (error.code !== 'ETIMEDOUT') throw error;
  return false;
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function counted(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, times]) => `${name} ${times}`).join(', ');
}
