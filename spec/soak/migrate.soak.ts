/**
 * Migrates 10 * SOAK_SIZE entries and SOAK_SIZE items of a real original, half of them written through
 * its REST interface and half by its client: the command is killed after random times and continued.
 * Then each entry and item of both REST interfaces is equal, and the original still has everything. Also
 * an original with TLS, or whose cluster has another name. Needs Java; ORIGINAL_JAR is the jar of the
 * original, and ORIGINAL_CLIENT a folder in which `npm install hazelcast-client` was run.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { Random } from '../../bench/harness.ts';
import { NODE_FLAGS } from '../../bench/load/program.ts';
import { ServerProcess } from '../../bench/load/server-process.ts';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { tlsFile } from '../tls/identity.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 10_000);
const ENTRIES = 10 * SIZE;
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const { ORIGINAL_JAR, ORIGINAL_CLIENT } = process.env;
const SKIP =
  ORIGINAL_JAR === undefined || ORIGINAL_CLIENT === undefined
    ? 'ORIGINAL_JAR and ORIGINAL_CLIENT are not set'
    : false;
/** Requests that are on their way at once. */
const PARALLEL = 32;
/** Longest time until the command is killed, in ms. */
const KILLED_MS = 3000;
const TIME_TO_LIVE_SECONDS = 1_000_000;
/** Every entry of this many is an object of a class. */
const OBJECT_EVERY = 1000;
const LONG_EVERY = 20_000;
const PROGRAM = [...NODE_FLAGS, join(import.meta.dirname, '../../dist/bin/gridnode.js')];
const folder = temporaryFolder();
const agent = new Agent({ keepAlive: true, maxSockets: PARALLEL });

interface Response {
  readonly status: number;
  readonly type: string | undefined;
  readonly body: Buffer;
}

/** The used part of the client's package. */
interface Collection {
  set(key: string, value: unknown, ttlMs?: number): Promise<void>;
  offer(value: unknown): Promise<boolean>;
  size(): Promise<number>;
}
interface OriginalClient {
  getMap(name: string): Promise<Collection>;
  getQueue(name: string): Promise<Collection>;
  shutdown(): Promise<void>;
}

function call(
  port: number,
  method: string,
  path: string,
  body?: Buffer,
  type?: string,
): Promise<Response> {
  const headers = {
    ...(method === 'POST' ? { 'Content-Length': body?.length ?? 0 } : {}),
    ...(type === undefined ? {} : { 'Content-Type': type }),
  };
  return new Promise((resolve, reject) => {
    const sent = request({ port, method, path, agent, headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const { statusCode: status = 0, headers } = response;
      resolve({ status, type: headers['content-type'], body: Buffer.concat(chunks) });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Does the work for each number, several at once. */
async function forAll(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: PARALLEL }, run));
}

async function startOriginal(port: number): Promise<ChildProcess> {
  const file = join(folder, 'original.yaml');
  writeFileSync(
    file,
    `hazelcast:
  network:
    port: {port: ${port}, auto-increment: false}
    public-address: 127.0.0.1
    interfaces: {enabled: true, interfaces: [127.0.0.1]}
    join: {auto-detection: {enabled: false}, multicast: {enabled: false}}
    rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: true}}}
  properties: {hazelcast.phone.home.enabled: "false", hazelcast.socket.bind.any: "false"}
`,
  );
  const words = ['-Xmx1g', `-Dhazelcast.config=${file}`, '-cp', ORIGINAL_JAR ?? ''];
  const child = spawn('java', [...words, 'com.hazelcast.core.server.HazelcastMemberStarter'], {
    stdio: 'ignore',
  });
  for (let tries = 0; tries < 600; tries++) {
    assert.equal(child.exitCode, null, 'the original has ended');
    const ready = call(port, 'GET', '/hazelcast/health/ready').catch(() => ({ status: 0 }));
    if ((await ready).status === 200) return child;
    await sleep(100);
  }
  throw new Error('Cannot start the original');
}

async function clientOf(port: number): Promise<OriginalClient> {
  const load = createRequire(join(ORIGINAL_CLIENT ?? '', 'package.json'));
  return await load('hazelcast-client').Client.newHazelcastClient({
    network: { clusterMembers: [`127.0.0.1:${port}`], smartRouting: false },
    properties: { 'hazelcast.logging.level': 'OFF' },
  });
}

/** An object of a class. */
const OBJECT = { factoryId: 7, classId: 8, readData() {}, writeData() {} };

/** Returns the value that the client writes, of each type in turn. */
function clientValue(number: number): unknown {
  if (number % OBJECT_EVERY === 1) return OBJECT;
  const values: readonly unknown[] = [
    `text ü ${number}`,
    { number, list: [1, 'é'] },
    number / 3,
    number % 4 === 0,
    Buffer.from([number % 256, 0, 255]),
    [`one ${number}`, 'two'],
    BigInt(number) ** 9n,
    new Date(number),
  ];
  return values[(number >> 1) % values.length];
}

/** Returns the value that is written through REST, with its content type. */
function restValue(number: number): readonly [Buffer | undefined, string | undefined] {
  if (number % LONG_EVERY === 0) return [Buffer.alloc(1_500_000, `${number}.`), 'long/value'];
  const types = [undefined, 'text/plain; charset=UTF-8', 'application/json', 'image/png'];
  const bytes = Buffer.alloc((number * 7) % 300, `${number} \u0000ÿ`, 'latin1');
  return [number % 14 === 0 ? undefined : bytes, types[(number >> 1) % types.length]];
}

const keyOf = (number: number) => (number % 10 === 0 ? `a/key ${number} ü` : `key-${number}`);
const pathOf = (number: number) => `maps/people/${encodeURIComponent(keyOf(number))}`;

async function fill(port: number): Promise<void> {
  const client = await clientOf(port);
  const map = await client.getMap('people');
  await forAll(ENTRIES, async (number) => {
    if (number % 2 === 0) {
      const [body, type] = restValue(number);
      const path = `/hazelcast/rest/${pathOf(number)}`;
      assert.equal((await call(port, 'POST', path, body, type)).status, 200);
    } else {
      const ttl = number % 5 === 0 ? [1000 * TIME_TO_LIVE_SECONDS] : [];
      await map.set(keyOf(number), clientValue(number), ttl[0]);
    }
  });
  const queue = await client.getQueue('jobs');
  for (let number = 0; number < SIZE; number++) {
    if (number % 2 === 1) await queue.offer(clientValue(number));
    else {
      const [body, type] = restValue(number + 2);
      await call(port, 'POST', '/hazelcast/rest/queues/jobs', body, type);
    }
  }
  await client.shutdown();
}

/** Runs the command; with `random`, kills it after a random time. */
async function migrate(words: readonly string[], random?: Random) {
  const child = spawn(process.execPath, [...PROGRAM, 'migrate', ...words], {
    cwd: ORIGINAL_CLIENT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const exited = once(child, 'close');
  if (random !== undefined) {
    const isEnded = await Promise.race([exited, sleep(random.below(KILLED_MS), false)]);
    if (!isEnded) child.kill(random.below(2) === 0 ? 'SIGKILL' : 'SIGINT');
  }
  const [code] = (await exited) as [number | null];
  return { code, output, errors };
}

/** Returns the time to live that an entry of the member has left. */
async function secondsLeft(port: number, path: string): Promise<number> {
  const target = `/grid/v1/${path.replace('people/', 'people/entries/')}`;
  const sent = request({ port, method: 'HEAD', path: target, agent });
  sent.end();
  const [response] = await once(sent, 'response');
  response.resume();
  return Number(response.headers['grid-time-to-live']);
}

async function sizes(port: number): Promise<readonly number[]> {
  const client = await clientOf(port);
  const [map, queue] = [await client.getMap('people'), await client.getQueue('jobs')];
  const both = [await map.size(), await queue.size()];
  await client.shutdown();
  return both;
}

test(`A migration of ${ENTRIES} entries and ${SIZE} items (seed ${SEED})`, {
  skip: SKIP,
}, async (context) => {
  const random = new Random(SEED);
  const port = await freePort();
  const child = await startOriginal(port);
  const flags = ['serve', '--port', '0', '--enable-group', 'DATA', '--max-memory', '1500m'];
  const server = new ServerProcess('gridnode', [...PROGRAM, ...flags]);
  try {
    await server.serving();
    await fill(port);
    const before = await sizes(port);
    const state = join(folder, 'state');
    const words = ['--from', `127.0.0.1:${port}`, '--address', `127.0.0.1:${server.port}`];
    const startMs = performance.now();
    const dry = await migrate([...words, '--dry-run']);
    const rate = Math.round((ENTRIES + SIZE) / ((performance.now() - startMs) / 1000));
    let breaks = 0;
    let last = { code: null as number | null, output: '', errors: '' };
    for (; last.code !== 1; breaks++) {
      last = await migrate([...words, '--state', state], random);
      assert.ok([1, null].includes(last.code), last.errors);
    }
    assert.equal(existsSync(state), false);
    assert.equal(last.output, dry.output);
    const objects = ENTRIES / OBJECT_EVERY;
    assert.match(
      last.output,
      new RegExp(`^map people: ${ENTRIES - objects} entries, ${objects} left`),
    );
    assert.deepEqual(await sizes(port), before);
    let compared = 0;
    await forAll(ENTRIES, async (number) => {
      const path = pathOf(number);
      const here = await call(server.port, 'GET', `/grid/rest/${path}`);
      if (number % OBJECT_EVERY === 1) return assert.equal(here.status, 204);
      assert.deepEqual(here, await call(port, 'GET', `/hazelcast/rest/${path}`), path);
      compared++;
      if (number % 10 !== 5) return;
      const left = await secondsLeft(server.port, path);
      assert.ok(left <= TIME_TO_LIVE_SECONDS && left > TIME_TO_LIVE_SECONDS - 10_000, `${left}`);
    });
    let items = 0;
    for (;;) {
      const there = await call(port, 'GET', '/hazelcast/rest/queues/jobs/0');
      // An item of a class that the original does not have.
      if (there.status === 500) continue;
      const here = await call(server.port, 'DELETE', '/grid/rest/queues/jobs/0');
      assert.deepEqual(here, there, String(items));
      if (here.status === 204) break;
      items++;
    }
    assert.equal(items, SIZE - SIZE / OBJECT_EVERY);
    context.diagnostic(`${rate} entries and items a second are read`);
    context.diagnostic(`${breaks - 1} breaks; ${compared} entries and ${items} items are equal`);
    context.diagnostic(last.output);
  } finally {
    child.kill('SIGKILL');
    await server.stop();
  }
});

test('An original with TLS, and one of another name', { skip: SKIP }, async () => {
  const port = await freePort();
  const child = await startOriginal(port);
  const [cert, key] = ['server.pem', 'server-key.pem'].map((name) => readFileSync(tlsFile(name)));
  const proxy = createTlsServer({ cert: cert!, key: key! }, (socket) => {
    const upstream = connect(port, '127.0.0.1');
    for (const each of [socket, upstream]) each.on('error', () => each.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port: tlsPort } = proxy.address() as { port: number };
  const from = (which: number) => ['--from', `127.0.0.1:${which}`, '--dry-run'];
  const ca = ['--from-ca', tlsFile('authority.pem')];
  try {
    const plain = await migrate(from(tlsPort));
    assert.match(
      plain.errors,
      /the original closed the connection; if it uses TLS, --from-ca names/,
    );
    const secured = await migrate([...from(tlsPort), ...ca]);
    assert.deepEqual(secured, { code: 0, output: '', errors: '' });
    const stranger = await migrate([...from(tlsPort), '--from-ca', tlsFile('stranger.pem')]);
    assert.match(stranger.errors, /^Cannot connect to .*: .*certificate/);
    assert.match((await migrate([...from(port), ...ca])).errors, /does it use TLS, and does it/);
    const named = await migrate([...from(port), '--cluster', 'prod']);
    assert.equal(named.code, 4);
    assert.match(
      named.errors,
      /--cluster "prod" is wrong, or the original requires --from-user\n$/,
    );
    assert.equal((await migrate(from(1))).code, 3);
  } finally {
    proxy.close();
    child.kill('SIGKILL');
  }
});
