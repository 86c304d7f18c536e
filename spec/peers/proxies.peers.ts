/**
 * haproxy and nginx with their examples of packaging/ in front of members. Polls whose clients
 * leave, polls on connections that break, and a member that stops lose no item and deliver none
 * twice. Names with escapes and large values pass unchanged.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { EngineServer } from './engine-server.ts';
import { ExampleProxy, type MemberPorts, PROXIES, type ProxyName } from './example-proxies.ts';
import { until } from './server-process.ts';
import { ROOT, runChecked } from './tools.ts';

const NAMES = ['haproxy', 'nginx'] as const;
/** nginx has 512 connections by default, and a waiting poll needs two. */
const POLLS = 200;
const ROUNDS = 10;
const MIB = 1_048_576;
const CONSUMERS = 8;
const PRODUCERS = 8;

type Member = Awaited<ReturnType<typeof serve>>;

async function startMember(t: TestContext, ...flags: string[]): Promise<Member> {
  const words = ['--enable-group', 'DATA', '--health-port', '0', ...flags];
  const member = await serve(...words);
  t.after(() => stop(member));
  return member;
}

async function stop({ child, exited }: Member): Promise<number | null> {
  child.kill('SIGTERM');
  const [code] = await exited;
  return code;
}

/** Starts a proxy in front of members; resolves once it forwards requests. */
async function startProxy(
  t: TestContext,
  name: ProxyName,
  ...members: readonly MemberPorts[]
): Promise<ExampleProxy> {
  const proxy = await ExampleProxy.start(name, members);
  t.after(() => proxy.stop());
  await until(async () => (await ask(proxy.port, 'GET', 'maps/m/absent')).status === 204);
  return proxy;
}

async function ask(port: number, method: string, path: string, body?: Buffer) {
  const client = new RawClient(port);
  try {
    return await client.request(method, path, body);
  } finally {
    client.destroy();
  }
}

/** Resolves with the number of polls that wait at the member itself. */
async function waitersOf(port: number, queue: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/grid/metrics`);
  const found = new RegExp(`^gridnode_queue_waiters\\{queue="${queue}"\\} (\\d+)$`, 'm');
  return Number(found.exec(await response.text())?.[1] ?? 0);
}

async function sizeOf(port: number, queue: string): Promise<number> {
  return Number((await ask(port, 'GET', `queues/${queue}/size`)).body);
}

test('haproxy and nginx accept their examples', async () => {
  await runChecked('haproxy', ['-c', '-f', join(ROOT, 'packaging/haproxy.cfg')]);
  await runChecked('nginx', ['-t', ...PROXIES.nginx(temporaryFolder(), (text) => text)]);
});

for (const name of NAMES) {
  test(`${name} with its example forwards the Host of requests to a member on the same machine`, async (t) => {
    const allowed = 'grid.example.org';
    const other = await startProxy(t, name, await startMember(t));
    assert.equal(await responseOf(other.port, `localhost:${other.port}`), '204 ');
    assert.match(
      await responseOf(other.port, allowed),
      /^403 .*Cannot serve Host ..grid\.example\.org.*--allowed-hosts/,
    );
    const allowing = await startProxy(t, name, await startMember(t, '--allowed-hosts', allowed));
    assert.equal(await responseOf(allowing.port, allowed), '204 ');
    assert.match(await responseOf(allowing.port, 'evil.example'), /^403 .*Cannot serve Host/);
  });

  test(`${name} with its example loses no item when the clients of ${(ROUNDS * POLLS) / 2} polls leave`, {
    timeout: 120_000,
  }, async (t) => {
    const member = await startMember(t);
    const proxy = await startProxy(t, name, member);
    const delivered: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const clients = Array.from({ length: POLLS }, () => new RawClient(proxy.port));
      for (const client of clients) client.send(requestBytes('DELETE', 'queues/q/50'));
      await until(async () => (await waitersOf(member.port, 'q')) === POLLS);
      const [leaving, staying] = [clients.slice(0, POLLS / 2), clients.slice(POLLS / 2)];
      for (const client of leaving) client.destroy();
      await until(async () => (await waitersOf(member.port, 'q')) === staying.length);
      for (const at of staying.keys()) {
        const item = Buffer.from(`${round}.${at}`);
        assert.equal((await ask(proxy.port, 'POST', 'queues/q', item)).status, 200);
      }
      for (const client of staying) {
        delivered.push(String((await client.response())?.body));
        client.destroy();
      }
    }
    assert.equal(delivered.length, (ROUNDS * POLLS) / 2);
    assert.equal(new Set(delivered).size, delivered.length);
    assert.equal(await sizeOf(member.port, 'q'), 0);
  });

  test(`${name} with its example sends a poll once`, async (t) => {
    const member = await breakingMember(t);
    const proxy = await startProxy(t, name, member, member);
    const polls = ['queues/q/5', 'queues/x%2F..%2F..%2Fmaps%2Fm/5', '/queues/q/5', 'queues//5'];
    const isSentOnce = [
      ...polls.flatMap((path) => [`DELETE /grid/rest/${path}`, `GET /hazelcast/rest/${path}`]),
      'GET /hazelcast/rest/maps%2F..%2Fqueues/q/5',
      'DELETE /grid/rest/maps/m/k',
      'POST /grid/rest/queues/q',
    ];
    for (const request of isSentOnce) {
      member.received.length = 0;
      const client = new RawClient(proxy.port);
      const bytes = `${request} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n`;
      assert.equal((await client.request('GET', 'maps/m/absent')).status, 204);
      client.send(bytes);
      const response = await client.response();
      client.destroy();
      assert.ok(response === undefined || response.status === 502, `${request}`);
      assert.deepEqual(member.received, [request]);
    }
  });

  test(`${name} with its example passes names and values of 8 MiB unchanged`, async (t) => {
    const member = await startMember(t);
    const proxy = await startProxy(t, name, member);
    const value = randomBytes(8 * MIB);
    for (const path of ['maps/m%2Fn/a%2Fb//c%20d', 'maps/m/..%2Fa/%2e%2e/+', 'queues/q%2F%2Fr']) {
      assert.equal((await ask(proxy.port, 'POST', path, value)).status, 200, path);
      const [method, read] = path.startsWith('maps') ? ['GET', path] : ['DELETE', `${path}/0`];
      const port = method === 'GET' ? member.port : proxy.port;
      assert.ok((await ask(port, method, read)).body.equals(value), path);
    }
    for (const key of ['..%2Fa/../%2B', 'm//k', 'm%2f/k', '%C3%BC/%ff']) {
      await ask(member.port, 'POST', `maps/m/${key}`, Buffer.from(key));
      assert.equal(String((await ask(proxy.port, 'GET', `maps/m/${key}`)).body), key);
    }
    const client = new RawClient(proxy.port);
    await client.request('POST', 'maps/m/large', value);
    assert.ok((await client.request('GET', 'maps/m/large')).body.equals(value));
    client.destroy();
  });

  test(`${name} with its example uses another member while one refuses connections`, async (t) => {
    const member = await startMember(t);
    const absent = { port: await freePort(), healthPort: member.healthPort };
    const proxy = await startProxy(t, name, absent, member);
    for (let at = 0; at < 20; at++) {
      assert.equal((await ask(proxy.port, 'POST', 'queues/q', Buffer.from(`${at}`))).status, 200);
      assert.equal((await ask(proxy.port, 'GET', 'maps/m/absent')).status, 204);
    }
    assert.equal(await sizeOf(member.port, 'q'), 20);
  });

  test(`${name} with its example loses no item when the member stops and starts under load`, {
    timeout: 120_000,
  }, async (t) => {
    const port = await freePort();
    const healthPort = await freePort();
    const words = ['--port', `${port}`, '--health-port', `${healthPort}`];
    words.push('--data-dir', temporaryFolder(), '--shutdown-delay-seconds', '1');
    let member = await startMember(t, ...words);
    const proxy = await startProxy(t, name, member);
    const load = new QueueLoad(proxy.port);
    await load.reaches(500);
    assert.equal(await stop(member), 0);
    member = await startMember(t, ...words);
    await load.reaches(load.delivered.length + 500);
    await checkItems(t, load, port);
  });

  test(`${name} with its example loses no item while one of two members is restarted`, {
    timeout: 120_000,
  }, async (t) => {
    const server = await EngineServer.start();
    t.after(() => server.stop());
    const engine = ['--engine', `redis://127.0.0.1:${server.port}`];
    const other = await startMember(t, ...engine);
    const ports = ['--port', `${await freePort()}`, '--health-port', `${await freePort()}`];
    const words = [...engine, ...ports, '--shutdown-delay-seconds', '1'];
    let member = await startMember(t, ...words);
    const proxy = await startProxy(t, name, member, other);
    const load = new QueueLoad(proxy.port);
    await load.reaches(500);
    assert.equal(await stop(member), 0);
    await load.reaches(load.delivered.length + 500);
    member = await startMember(t, ...words);
    await load.reaches(load.delivered.length + 500);
    await checkItems(t, load, other.port);
    // nginx also sends requests to the member while it is stopped, and before it is ready.
    const expected = name === 'nginx' ? [502, 503] : [];
    for (const status of load.others.keys()) assert.ok(expected.includes(status), `${status}`);
  });
}

/** Ends the load, polls the rest at the member, and checks that each item was delivered once. */
async function checkItems(t: TestContext, load: QueueLoad, port: number): Promise<void> {
  await load.end();
  for (;;) {
    const { status, body } = await ask(port, 'DELETE', 'queues/q/0');
    if (status === 204) break;
    load.delivered.push(String(body));
  }
  const { offered, delivered, others } = load;
  const statuses = [...others].map(([status, count]) => `${count} of ${status}`);
  t.diagnostic(`${offered.size} offered; not served: ${statuses.join(', ')}`);
  const received = new Set(delivered);
  assert.equal(delivered.length, received.size, 'an item was delivered twice');
  assert.deepEqual(
    [...offered].filter((item) => !received.has(item)),
    [],
  );
}

/** Clients that offer items to a queue and poll it, through a proxy, until `end`. */
class QueueLoad {
  /** The items whose offers got 200. */
  readonly offered = new Set<string>();
  readonly delivered: string[] = [];
  /** Numbers of other responses by status; 0 for a connection that ended without a response. */
  readonly others = new Map<number, number>();
  readonly #port: number;
  readonly #running: Promise<void>[];
  #isOver = false;

  constructor(port: number) {
    this.#port = port;
    this.#running = Array.from({ length: PRODUCERS }, (_, index) => this.#produce(index));
    for (let index = 0; index < CONSUMERS; index++) this.#running.push(this.#consume());
  }

  async reaches(count: number): Promise<void> {
    await until(async () => this.delivered.length >= count);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #produce(index: number): Promise<void> {
    for (let count = 0; !this.#isOver; count++) {
      const item = `${index}.${count}`;
      const response = await this.#send('POST', 'queues/q', Buffer.from(item));
      if (response?.status === 200) this.offered.add(item);
      await sleep(2);
    }
  }

  async #consume(): Promise<void> {
    while (!this.#isOver) {
      const response = await this.#send('DELETE', 'queues/q/1');
      if (response?.status === 200) this.delivered.push(String(response.body));
    }
  }

  /** Resolves with the response; undefined if there is none, which is counted. */
  async #send(method: string, path: string, body?: Buffer) {
    const response = await ask(this.#port, method, path, body).catch(() => undefined);
    const status = response?.status ?? 0;
    if (status !== 200 && status !== 204) {
      this.others.set(status, (this.others.get(status) ?? 0) + 1);
      await sleep(20);
    }
    return response;
  }
}

/** Sends a request with that Host to the port; resolves with the status and content. */
async function responseOf(port: number, host: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const fields = `Host: ${host}\r\nConnection: close`;
  socket.write(`GET /grid/rest/maps/m/a%2Fb HTTP/1.1\r\n${fields}\r\n\r\n`);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return `${head.split(' ')[1]} ${body}`;
}

/**
 * Starts a server that responds to reads of absent entries and to health checks, and closes the
 * connection without a response when it has received any other request.
 */
async function breakingMember(t: TestContext): Promise<MemberPorts & { received: string[] }> {
  const received: string[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/grid/health/ready') response.end();
    else if (request.url === '/grid/rest/maps/m/absent') response.writeHead(204).end();
    else {
      received.push(`${request.method} ${request.url}`);
      request.socket.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { port: address.port, healthPort: address.port, received };
}
