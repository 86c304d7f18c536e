/**
 * Memory that a member retains after connections: SOAK_SIZE idle ones, 10 * SOAK_SIZE uploads that
 * are broken off, and 100 * SOAK_SIZE short ones. Measured as resident memory; if the system does
 * not report it, only the responses are checked.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { AUTOCANNON, isWrkInstalled, WRK } from '../../bench/load/generator.ts';
import { programWords } from '../../bench/load/program.ts';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { RawClient, requestBytes } from '../integration/client.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 1000);
/** Number of connections that are open at a time. */
const WORKERS = 100;
const RETAINED_MIB_MAX = 20;
const IDLE_BYTES_MAX = 16_384;
const MEBIBYTE = 1_048_576;

/** Runs `work` with a member of its own. */
function soak(name: string, work: (member: ServerProcess, context: TestContext) => Promise<void>) {
  test(name, async (context) => {
    const flags = ['--port', '0', '--enable-group', 'DATA'];
    flags.push('--connections-max', String(SIZE + 1000));
    const words = [...programWords('bin/gridnode'), 'serve', ...flags];
    const member = new ServerProcess('gridnode', words);
    try {
      await member.serving();
      await work(member, context);
    } finally {
      await member.stop();
    }
    assert.equal(member.exitCode, 0);
  });
}

soak(`${SIZE} idle connections take little memory`, async (member, context) => {
  await getsPerSecond(member.port);
  const before = await getsPerSecond(member.port);
  const residentBefore = member.residentMib() ?? Number.NaN;
  const idle: RawClient[] = [];
  for (let at = 0; at < SIZE; at++) {
    const client = new RawClient(member.port);
    idle.push(client);
    assert.equal((await client.request('GET', 'maps/m/absent')).status, 204);
  }
  const grownMib = (member.residentMib() ?? Number.NaN) - residentBefore;
  const bytesEach = (grownMib * MEBIBYTE) / SIZE;
  const during = await getsPerSecond(member.port);
  context.diagnostic(`${bytesEach.toFixed(0)} bytes of resident memory each`);
  context.diagnostic(`rate of GET with them: ${(during / before).toFixed(2)} of the rate without`);
  assert(!(bytesEach > IDLE_BYTES_MAX), `${bytesEach} bytes each`);
  for (const client of idle) {
    assert.equal((await client.request('GET', 'maps/m/absent')).status, 204);
    client.destroy();
  }
});

soak(`${SIZE * 10} uploads that are broken off leave little memory`, async (member, context) => {
  const part = Buffer.alloc(300_000, 'x');
  const head = requestBytes('POST', 'maps/m/k').toString().replace('Length: 0', 'Length: 1048576');
  await assertLittleRetained(member, context, SIZE * 10, async (socket, index) => {
    socket.write(head);
    await written(socket, part.subarray(0, 1 + ((index * 7919) % part.length)));
    if (index % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
  });
  const client = new RawClient(member.port);
  assert.equal((await client.request('GET', 'maps/m/k')).status, 204);
  client.destroy();
});

soak(`${SIZE * 100} short connections leave little memory`, async (member, context) => {
  const request = requestBytes('GET', 'maps/m/absent');
  await assertLittleRetained(member, context, SIZE * 100, async (socket, index) => {
    if (index % 4 === 1) await written(socket, request.subarray(0, 20));
    else if (index % 4 === 2) {
      socket.write(request);
      await once(socket, 'data');
    } else if (index % 4 === 3) {
      socket.end(request);
      await once(socket.resume(), 'end');
    }
    socket.resetAndDestroy();
  });
});

/**
 * Opens `count` connections, each ended by `visit`, and asserts that the member's memory after all
 * of them is little more than after the first twentieth.
 */
async function assertLittleRetained(
  member: ServerProcess,
  context: TestContext,
  count: number,
  visit: (socket: Socket, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const until = async (end: number): Promise<void> => {
    while (next < end) {
      const index = next++;
      const socket = connect({ host: '127.0.0.1', port: member.port });
      socket.on('error', () => socket.destroy());
      await once(socket, 'connect');
      await visit(socket, index);
    }
  };
  const visits = (end: number) => Promise.all(Array.from({ length: WORKERS }, () => until(end)));
  await visits(count / 20);
  const before = await settledMib(member);
  const started = performance.now();
  await visits(count);
  const seconds = (performance.now() - started) / 1000;
  const after = await settledMib(member);
  context.diagnostic(
    `${before.toFixed(0)} MiB after ${count / 20}, ${after.toFixed(0)} MiB after ${count}; ` +
      `${((count * 0.95) / seconds).toFixed(0)} a second`,
  );
  assert(!(after - before > RETAINED_MIB_MAX), `${(after - before).toFixed(0)} MiB are retained`);
}

/** Returns the resident memory once the member reports that all other connections have ended. */
async function settledMib(member: ServerProcess): Promise<number> {
  const client = new RawClient(member.port);
  for (;;) {
    const { body } = await client.request('GET', 'cluster');
    const { connectionCount } = JSON.parse(String(body)) as { connectionCount: number };
    if (connectionCount === 1) break;
  }
  client.destroy();
  return member.residentMib() ?? Number.NaN;
}

async function getsPerSecond(port: number): Promise<number> {
  const { drive } = isWrkInstalled() ? WRK : AUTOCANNON;
  const requests = [{ method: 'GET', target: '/grid/rest/maps/m/k' }];
  const load = { requests, keyCount: 1, connections: 32, depth: 1, seconds: 5 };
  const figures = await drive({ ...load, port });
  return figures.requestsPerSecond;
}

function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    socket.write(bytes, () => resolve());
  });
}
