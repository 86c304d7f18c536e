/**
 * A member before a server that answers some commands with errors: what the client is told, status and
 * fields, and what was done. The errors are a server's own, as a proxy puts a script that returns them in a
 * command's place.
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

/** Errors that pass: the member asks again until its deadline. `HERE` is the proxy. */
const PASSING = [
  ...[
    'TRYAGAIN Multiple keys request',
    'CLUSTERDOWN The cluster is down',
    'LOADING Redis is loading',
  ],
  ...['MASTERDOWN Link with MASTER is down', "READONLY You can't write", 'BUSY Redis is busy'],
  ...['NOSCRIPT No matching script', 'MOVED 1 HERE', 'ASK 1 HERE'],
];
/** Those that do not: the member answers at once. */
const LASTING = [
  'NOREPLICAS Not enough good replicas',
  'MISCONF Errors writing',
  'NOPERM no rights',
];
/** What is told where a change was surely not made, and where that is not known. */
const NOT_APPLIED = { status: 503, outcome: 'not-applied', hasRetryAfter: true };
const UNKNOWN = { status: 503, outcome: 'unknown', hasRetryAfter: false };
const DEADLINE_MS = 1000;

class ErrorProxy {
  /** What the next commands that are injected are answered with, without `-`; undefined for none. */
  error: string | undefined;
  /** How often. */
  count = 0;
  /** Whether the command is to be answered so. */
  isHit: (words: readonly string[]) => boolean = () => false;
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
    if (this.error === undefined || this.count === 0 || !this.isHit(words)) return commandOf(words);
    this.count--;
    const error = this.error.replace('HERE', `127.0.0.1:${this.port}`);
    return commandOf(['EVAL', 'return redis.error_reply(ARGV[1])', '0', `-${error}`]);
  }
}

/** Words with a character a byte. */
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

/** The commands about this test's map and queue are answered with the error, so many times. */
function inject(error: string, times: number): void {
  proxy.error = error;
  proxy.count = times;
  proxy.isHit = (words) =>
    words.some((word) => word.endsWith(`/m:map${count}`) || word.endsWith(`/q:queue${count}`));
}

function told({ status, fields }: ReceivedResponse): object {
  return { status, outcome: fields.get('grid-outcome'), hasRetryAfter: fields.has('retry-after') };
}

function setOne(value: string): Promise<ReceivedResponse> {
  return client.request('POST', `maps/map${count}/k`, Buffer.from(value));
}

function offerOne(): Promise<ReceivedResponse> {
  return client.request('POST', `queues/queue${count}`, Buffer.from('item'));
}

/** The value of the map's key, or '' for none; and the number of items. */
async function effect(): Promise<readonly [string, string]> {
  proxy.count = 0;
  const value = await client.request('GET', `maps/map${count}/k`);
  const size = await client.request('GET', `queues/queue${count}/size`);
  return [value.body.toString(), size.body.toString()];
}

for (const error of PASSING) {
  test(`"${error}" that passes: a change is made once`, async () => {
    inject(error, 2);
    assert.equal((await setOne('v')).status, 200);
    inject(error, 2);
    assert.equal((await offerOne()).status, 200);
    assert.deepEqual(await effect(), ['v', '1']);
  });

  test(`"${error}" until the deadline: 503, not applied, and nothing is changed`, async () => {
    inject(error, Number.POSITIVE_INFINITY);
    assert.deepEqual(told(await setOne('v')), NOT_APPLIED);
    assert.deepEqual(told(await offerOne()), NOT_APPLIED);
    assert.deepEqual(await effect(), ['', '0']);
  });
}

for (const error of LASTING) {
  test(`"${error}": 503, not applied, at once, and nothing is changed`, async () => {
    inject(error, 1);
    assert.deepEqual(told(await setOne('v')), NOT_APPLIED);
    inject(error, 1);
    assert.deepEqual(told(await offerOne()), NOT_APPLIED);
    assert.deepEqual(await effect(), ['', '0']);
  });
}

test('"OOM": 503, the server is full, and nothing is changed', async () => {
  inject('OOM command not allowed', 1);
  assert.equal((await setOne('v')).status, 503);
  inject('OOM command not allowed', 1);
  assert.equal((await offerOne()).status, 503);
  assert.deepEqual(await effect(), ['', '0']);
});

test('an error that no command should cause: 503, unknown', async () => {
  inject('ERR something else', 1);
  assert.deepEqual(told(await setOne('v')), UNKNOWN);
  inject('ERR something else', 1);
  assert.deepEqual(told(await offerOne()), UNKNOWN);
});

test('a poll that meets each error finds its item later', async () => {
  for (const error of [...PASSING, ...LASTING]) {
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
