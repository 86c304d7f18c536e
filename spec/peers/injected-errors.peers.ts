/**
 * A member on a server that replies to some commands with errors: the status and header fields of
 * the response, and the effect on the data. The server itself sends the errors, as a proxy replaces
 * the command by a script that returns one.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { replyValue } from '../../src/engine/redis/control-connection.ts';
import { ReplyReader } from '../../src/engine/redis/reply.ts';
import { RawClient, type ReceivedResponse } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { EngineServer } from './engine-server.ts';
import { serverCommand } from './server-command.ts';

/** Transient errors: the member retries until its deadline. `HERE` is the proxy's address. */
const TRANSIENT = [
  ...[
    'TRYAGAIN Multiple keys request',
    'CLUSTERDOWN The cluster is down',
    'LOADING Redis is loading',
  ],
  ...['MASTERDOWN Link with MASTER is down', "READONLY You can't write", 'BUSY Redis is busy'],
  ...['NOSCRIPT No matching script', 'MOVED 1 HERE', 'ASK 1 HERE'],
];
/** Persistent errors: the member responds immediately. */
const PERSISTENT = [
  'NOREPLICAS Not enough good replicas',
  'MISCONF Errors writing',
  'NOPERM no rights',
];
/** Responses to a change that was certainly not made, and to one that may have been made. */
const NOT_APPLIED = { status: 503, outcome: 'not-applied', hasRetryAfter: true };
const UNKNOWN = { status: 503, outcome: 'unknown', hasRetryAfter: false };
const DEADLINE_MS = 1000;

class ErrorProxy {
  /** The error for the next matching commands, without `-`; undefined for no error. */
  error: string | undefined;
  /** Number of commands that still get the error. */
  count = 0;
  /** Whether the command gets the error. */
  matches: (words: readonly string[]) => boolean = () => false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: number;

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.#target, host: '127.0.0.1' });
    const pairs = [
      [client, server],
      [server, client],
    ] as const;
    for (const [socket, other] of pairs) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => other.destroy());
    }
    const reader = new ReplyReader((command) => {
      const words = replyValue(command);
      if (Array.isArray(words)) server.write(this.#passed(words.map(String)), 'latin1');
    });
    client.on('data', (bytes) => reader.read(bytes, bytes.length));
    server.on('data', (bytes) => client.write(bytes));
  }

  #passed(words: readonly string[]): string {
    if (this.error === undefined || this.count === 0 || !this.matches(words))
      return commandOf(words);
    this.count--;
    const error = this.error.replace('HERE', `127.0.0.1:${this.port}`);
    return commandOf(['EVAL', 'return redis.error_reply(ARGV[1])', '0', `-${error}`]);
  }
}

/** Encodes a command; each character of its words is one byte. */
function commandOf(words: readonly string[]): string {
  const parts = words.map((word) => `$${word.length}\r\n${word}\r\n`);
  return `*${words.length}\r\n${parts.join('')}`;
}

let server: EngineServer;
let proxy: ErrorProxy;
let member: Awaited<ReturnType<typeof serve>>;
let client: RawClient;
let count = 0;

before(async () => {
  server = await EngineServer.start();
  proxy = new ErrorProxy(server.port);
  await proxy.listen();
  process.env.GRID_ENGINE_DEADLINEMILLIS = String(DEADLINE_MS);
  const url = `redis://127.0.0.1:${proxy.port}`;
  member = await serve('--enable-group', 'all', '--engine', url);
  delete process.env.GRID_ENGINE_DEADLINEMILLIS;
  client = new RawClient(member.port);
});

beforeEach(() => {
  count++;
});

after(async () => {
  client?.destroy();
  member?.child.kill('SIGKILL');
  await member?.exited;
  proxy?.stop();
  await server?.stop();
});

/** Replaces the next `times` commands on this test's map and queue by the error. */
function inject(error: string, times: number): void {
  proxy.error = error;
  proxy.count = times;
  proxy.matches = (words) =>
    words.some((word) => word.endsWith(`/m:map${count}`) || word.endsWith(`/q:queue${count}`));
}

function summaryOf({ status, fields }: ReceivedResponse): object {
  return { status, outcome: fields.get('grid-outcome'), hasRetryAfter: fields.has('retry-after') };
}

function setOne(value: string): Promise<ReceivedResponse> {
  return client.request('POST', `maps/map${count}/k`, Buffer.from(value));
}

function offerOne(): Promise<ReceivedResponse> {
  return client.request('POST', `queues/queue${count}`, Buffer.from('item'));
}

/** The value of the map's key, or '' if it is absent, and the number of items in the queue. */
async function effect(): Promise<readonly [string, string]> {
  proxy.count = 0;
  const value = await client.request('GET', `maps/map${count}/k`);
  const size = await client.request('GET', `queues/queue${count}/size`);
  return [value.body.toString(), size.body.toString()];
}

for (const error of TRANSIENT) {
  test(`a change is made once despite a transient "${error}"`, async () => {
    inject(error, 2);
    assert.equal((await setOne('v')).status, 200);
    inject(error, 2);
    assert.equal((await offerOne()).status, 200);
    assert.deepEqual(await effect(), ['v', '1']);
  });

  test(`a change returns 503 and is not applied if "${error}" persists until the deadline`, async () => {
    inject(error, Number.POSITIVE_INFINITY);
    assert.deepEqual(summaryOf(await setOne('v')), NOT_APPLIED);
    assert.deepEqual(summaryOf(await offerOne()), NOT_APPLIED);
    assert.deepEqual(await effect(), ['', '0']);
  });
}

for (const error of PERSISTENT) {
  test(`a change returns 503 immediately and is not applied after "${error}"`, async () => {
    inject(error, 1);
    assert.deepEqual(summaryOf(await setOne('v')), NOT_APPLIED);
    inject(error, 1);
    assert.deepEqual(summaryOf(await offerOne()), NOT_APPLIED);
    assert.deepEqual(await effect(), ['', '0']);
  });
}

test('a change returns 503 and is not applied after "OOM"', async () => {
  inject('OOM command not allowed', 1);
  assert.equal((await setOne('v')).status, 503);
  inject('OOM command not allowed', 1);
  assert.equal((await offerOne()).status, 503);
  assert.deepEqual(await effect(), ['', '0']);
});

test('a change returns 503 with an unknown outcome after an unexpected error', async () => {
  inject('ERR something else', 1);
  assert.deepEqual(summaryOf(await setOne('v')), UNKNOWN);
  inject('ERR something else', 1);
  assert.deepEqual(summaryOf(await offerOne()), UNKNOWN);
});

test('a poll that fails with any of the errors finds its item later', async () => {
  for (const error of [...TRANSIENT, ...PERSISTENT]) {
    assert.equal((await offerOne()).status, 200);
    inject(error, Number.POSITIVE_INFINITY);
    assert.equal((await client.request('DELETE', `queues/queue${count}/0`)).status, 503, error);
    proxy.count = 0;
    let found = await client.request('DELETE', `queues/queue${count}/2`);
    while (found.status === 503) found = await client.request('DELETE', `queues/queue${count}/2`);
    assert.equal(found.body.toString(), 'item', error);
  }
  assert.equal(await serverCommand(server.port, 'PING'), 'PONG');
});
