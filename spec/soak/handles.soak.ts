/**
 * 100 * SOAK_SIZE connections from several addresses, opened, used and ended in every way: by the client,
 * by the member, reset, half-closed; within a head, a body, a response of 16 MiB, the end of the member's
 * side. None may leave a descriptor, a handle, an object or memory. Needs Linux's /proc.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { programWords } from '../../bench/load/program.ts';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const COUNT = 100 * Number(process.env.SOAK_SIZE ?? 200);
/** Number of connections that are open at a time. */
const WORKERS = 64;
const ADDRESSES = 20;
const LONG_BYTES = 16_777_216;
const HEAP_BYTES_MAX = 2_097_152;
const RESIDENT_MIB_MAX = 20;

const SHORT = requestBytes('GET', 'maps/m/short');
const LONG = requestBytes('GET', 'maps/m/long');
const LAST = Buffer.from(String(SHORT).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
const BODY = requestBytes('POST', 'maps/m/k', Buffer.alloc(100_000, 'x'));

/** The ways to use a connection. Each ends it, or resolves when the member has. */
const WAYS: readonly ((socket: Socket) => unknown)[] = [
  (socket) => socket.resetAndDestroy(),
  (socket) => socket.destroy(),
  (socket) => socket.write(SHORT.subarray(0, 20), () => socket.resetAndDestroy()),
  (socket) => socket.end(SHORT.subarray(0, 20)).resume(),
  (socket) => socket.write(BODY.subarray(0, 50_000), () => socket.resetAndDestroy()),
  (socket) => socket.end(BODY.subarray(0, 50_000)).resume(),
  (socket) => socket.end(SHORT).resume(),
  // The member ends its side first.
  (socket) => {
    socket.once('end', () => socket.end());
    socket.resume().write(LAST);
  },
  (socket) => {
    socket.once('data', () => socket.resetAndDestroy());
    socket.write(LAST);
  },
  (socket) => {
    socket.once('data', () => socket.destroy());
    socket.write(SHORT);
  },
  (socket) => {
    socket.once('data', () => socket.resetAndDestroy());
    socket.write(LONG);
  },
  (socket) => {
    socket.once('data', () => socket.pause().end(() => socket.destroy()));
    socket.write(LONG);
  },
];

interface Left {
  readonly descriptors: number;
  readonly heapBytes: number;
  readonly residentMib: number;
  /** The resources of the member's event loop. */
  readonly resources: readonly string[];
}

/** The module that makes a member write its figures when it gets a signal. */
const REPORTER = `data:text/javascript,${encodeURIComponent(`
  import { renameSync, writeFileSync } from 'node:fs';
  process.on('SIGUSR2', () => {
    for (let count = 0; count < 3; count++) gc();
    const heapBytes = process.memoryUsage().heapUsed;
    const resources = process.getActiveResourcesInfo();
    writeFileSync(process.env.LEFT + '.part', JSON.stringify({ heapBytes, resources }));
    renameSync(process.env.LEFT + '.part', process.env.LEFT);
  });
`)}`;

test(`${COUNT} connections that end in every way leave nothing`, async (context) => {
  const file = join(temporaryFolder(), 'left');
  const flags = ['--port', '0', '--enable-group', 'DATA'];
  const words = ['--expose-gc', '--import', REPORTER, ...programWords('bin/gridnode')];
  const member = new ServerProcess('gridnode', [...words, 'serve', ...flags], { LEFT: file });
  context.after(() => member.stop());
  await member.serving();
  const client = new RawClient(member.port);
  for (const [key, length] of [
    ['short', 100],
    ['long', LONG_BYTES],
  ] as const) {
    const { status } = await client.request('POST', `maps/m/${key}`, Buffer.alloc(length, 'v'));
    assert.equal(status, 200);
  }
  client.destroy();
  await visit(member.port, 0, COUNT / 10);
  const before = await left(member, file);
  await visit(member.port, COUNT / 10, COUNT);
  const after = await left(member, file);
  context.diagnostic(`after a tenth ${JSON.stringify(before)}, after all ${JSON.stringify(after)}`);
  assert.equal(after.descriptors, before.descriptors);
  assert.deepEqual(after.resources, before.resources);
  assert(after.heapBytes - before.heapBytes < HEAP_BYTES_MAX);
  assert(after.residentMib - before.residentMib < RESIDENT_MIB_MAX);
});

/** Opens and ends the connections of these numbers. */
async function visit(port: number, begin: number, end: number): Promise<void> {
  let next = begin;
  const work = async (): Promise<void> => {
    while (next < end) {
      const index = next++;
      const localAddress = `127.0.0.${1 + (index % ADDRESSES)}`;
      const socket = connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true });
      socket.on('error', () => socket.destroy());
      socket.once('end', () => socket.end());
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.once('connect', () => WAYS[index % WAYS.length]?.(socket));
      await closed;
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
}

/** Returns the figures once all connections but the one that asks are closed, after that as well. */
async function left(member: ServerProcess, file: string): Promise<Left> {
  const client = new RawClient(member.port);
  for (;;) {
    const { body } = await client.request('GET', 'cluster');
    if ((JSON.parse(String(body)) as { connectionCount: number }).connectionCount === 1) break;
  }
  client.socket.end();
  await once(client.socket, 'close');
  const pid = member.pid ?? assert.fail('the member runs');
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await nextTurn();
  const figures = JSON.parse(readFileSync(file, 'utf8')) as Omit<Left, 'descriptors'>;
  rmSync(file);
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  return { ...figures, descriptors, residentMib: member.residentMib() ?? Number.NaN };
}
