/**
 * Long responses that are generated in pieces: one of 1 GiB to a reader of 10 MB/s takes no more
 * memory than one of 64 MiB, and delays no other client; 1,000 that clients abandon leave no
 * resources.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamServerState } from './stream-server.ts';

const MEBIBYTE = 1_048_576;
const BYTES_PER_SECOND = 10_000_000;
const GROWTH_BYTES_MAX = 2 * MEBIBYTE;
const DELAY_MS_MAX = 10;
const PINGS_WITHOUT = 5000;
const PING_PAUSE_MS = 4;
const ABANDONED = 1000;
const PATIENCE_MS = 10_000;

describe('A streamed response', () => {
  let child: ChildProcess;
  let port = 0;

  before(async () => {
    child = fork(new URL('stream-server.ts', import.meta.url), { execArgv: ['--import', 'tsx'] });
    [port] = (await once(child, 'message')) as [number];
  });

  after(() => {
    child.kill();
  });

  async function state(): Promise<StreamServerState> {
    child.send('state');
    const [report] = (await once(child, 'message')) as [StreamServerState];
    return report;
  }

  it('of 1 GiB takes no more memory than one of 64 MiB and delays no other client', async (context) => {
    const without = new Pings(port);
    await without.until(async (count) => count >= PINGS_WITHOUT);
    await read(port, 64 * MEBIBYTE);
    const { residentBytes } = await state();
    let isRead = false;
    const pings = new Pings(port);
    let mostBytes = 0;
    const reading = read(port, 1024 * MEBIBYTE).then(() => {
      isRead = true;
    });
    const watching = pings.until(async (count) => {
      if (count % 500 === 0) mostBytes = Math.max(mostBytes, (await state()).residentBytes);
      return isRead;
    });
    await Promise.all([reading, watching]);
    const grown = Math.max(mostBytes, (await state()).residentBytes) - residentBytes;
    const withoutMs = without.percentile(0.999);
    const withMs = pings.percentile(0.999);
    context.diagnostic(
      `${(grown / MEBIBYTE).toFixed(2)} MiB more resident; p99.9 ${withoutMs.toFixed(2)} ms without, ` +
        `${withMs.toFixed(2)} ms with the stream`,
    );
    assert(grown <= GROWTH_BYTES_MAX, `${grown} bytes more resident`);
    assert(withMs <= withoutMs + DELAY_MS_MAX, `p99.9 of ${withMs} ms, ${withoutMs} ms without it`);
  });

  it(`that its client abandons leaves no resources, ${ABANDONED} times`, async () => {
    for (let count = 0; count < ABANDONED; count += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, each) => abandon(port, each)));
    }
    const until = performance.now() + PATIENCE_MS;
    let seen = await state();
    while (seen.connections > 0 && performance.now() < until) {
      await sleep(50);
      seen = await state();
    }
    const { slots, connections, deadlines, bytesInFlight, failures } = seen;
    assert.deepEqual(
      { slots, connections, deadlines, bytesInFlight, failures },
      { slots: 0, connections: 0, deadlines: 0, bytesInFlight: 0, failures: 0 },
    );
  });
});

/** Requests a stream of this many bytes, and reads it no faster than BYTES_PER_SECOND. */
async function read(port: number, bytes: number): Promise<void> {
  const socket = await send(port, `/stream/${bytes}`);
  const beginMs = performance.now();
  let count = 0;
  let isOver = false;
  while (!isOver) {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) {
      await Promise.race([once(socket, 'readable'), sleep(100)]);
      continue;
    }
    count += chunk.length;
    isOver = chunk.subarray(-5).toString('latin1') === '0\r\n\r\n';
    const dueMs = beginMs + (count / BYTES_PER_SECOND) * 1000;
    const lateMs = dueMs - performance.now();
    if (lateMs > 1) await sleep(lateMs);
  }
  socket.destroy();
  assert(count > bytes, `${count} of ${bytes} bytes`);
}

/** Reads a part of a stream or nothing, and disconnects. */
async function abandon(port: number, each: number): Promise<void> {
  const socket = await send(port, '/stream/1000000000');
  if (each % 2 === 0) await once(socket, 'readable');
  if (each % 3 === 0) await sleep(20);
  if (each % 5 === 0) socket.resetAndDestroy();
  else socket.destroy();
}

async function send(port: number, path: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return socket;
}

/** Small requests of one client, one after the other, with their times. */
class Pings {
  readonly #port: number;
  readonly #times: number[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  async until(isOver: (count: number) => Promise<boolean>): Promise<void> {
    const socket = await send(this.#port, '/ping');
    await once(socket, 'data');
    while (!(await isOver(this.#times.length))) {
      const beginMs = performance.now();
      socket.write('GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(socket, 'data');
      this.#times.push(performance.now() - beginMs);
      await sleep(PING_PAUSE_MS);
    }
    socket.destroy();
  }

  percentile(share: number): number {
    const sorted = this.#times.toSorted((one, other) => one - other);
    return sorted[Math.floor(sorted.length * share)] ?? 0;
  }
}
