/**
 * Covers src/http/traffic-meter.ts, src/http/unsent-responses.ts and src/telemetry/http-traffic.ts.
 * Each request and response is counted once, with its labels, its bytes and its duration.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { ROUTES } from '../../src/member/routes.ts';
import { pathsOf } from '../../src/surface/resource.ts';
import { HttpTraffic } from '../../src/telemetry/http-traffic.ts';
import { FakeClock } from '../fake-clock.ts';
import { assertOnlyRises, type Samples, samplesOf } from '../telemetry/read-metrics.ts';
import { heldServer, request, sequenceDelay } from './held-application.ts';
import { type LateOptions, lateEngineOf } from './late-server.ts';
import { readResponses } from './response-reader.ts';
import { get, poll, post, postHead, socketTo } from './test-client.ts';
import { CARRIERS, createTestServer, type TestServerParts } from './test-server.ts';

const ENTRY = 'rest/maps/{map}/{key}';
const POLL = 'rest/queues/{queue}/{seconds}';
const LIMITS = { bodyBytesMax: 200_000, headerBytesMax: 4096, connectionsMax: 8 };

/** A request, with the labels that it is counted with besides its status. */
interface Sent {
  readonly text: string;
  readonly method: string;
  readonly route: string;
}

function sent(method: string, path: string, route: string, body = '', fields = ''): Sent {
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
  const text = `${method} /grid/${path} HTTP/1.1\r\nHost: localhost\r\n${fields}${length}\r\n${body}`;
  const isKnown = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'].includes(method);
  return { text, method: isKnown ? method : 'other', route };
}

/** Returns one of the requests that a client may send, of any status below 500. */
function anyRequest(random: Random): Sent {
  const key = random.below(20);
  const entry = `rest/maps/m/k${key}`;
  const value = 'v'.repeat(random.below(4) === 0 ? random.below(90_000) : random.below(200));
  const choices: readonly (() => Sent)[] = [
    () => sent('POST', entry, ENTRY, value),
    () => sent('PUT', entry, ENTRY, value),
    () => sent('GET', entry, ENTRY),
    () => sent('GET', entry, ENTRY),
    () => sent('HEAD', entry, ENTRY),
    () => sent('DELETE', entry, ENTRY),
    () => sent('POST', 'rest/queues/q', 'rest/queues/{queue}', value),
    () => sent('POST', 'rest/queues/two-items', 'rest/queues/{queue}', 'item'),
    () => sent('DELETE', 'rest/queues/q/0', POLL),
    () => sent('GET', 'rest/queues/q/size', 'rest/queues/{queue}/size'),
    () => sent('DELETE', 'rest/queues/q/size', 'rest/queues/{queue}/size'),
    () => sent('GET', 'health/ready', 'health/ready'),
    () => sent('GET', 'rest/cluster', 'rest/cluster'),
    () => sent('OPTIONS', entry, ENTRY),
    () => sent('POST', 'rest/log-level/reset', 'rest/log-level/reset', 'dev&'),
    () => sent('POST', entry, ENTRY, 'x', 'Content-Encoding: gzip\r\n'),
    () => sent('PROPFIND', entry, 'none'),
    () => sent('GET', `rest/maps/m/%zz${key}`, 'none'),
    () => sent('GET', `nowhere/${key}`, 'none'),
    () => sent('GET', 'rest/maps/', 'none'),
  ];
  return choices[random.below(choices.length)]!();
}

/** Returns random pieces of a text; the whole text once in four times. */
function piecesOf(text: string, random: Random): string[] {
  if (random.below(4) === 0) return [text];
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = 1 + random.below(random.below(3) === 0 ? 40 : 50_000);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

/** The counts that the clients of a server have seen. */
class Seen {
  readonly requests = new Map<string, number>();
  receivedBytes = 0;
  sentBytes = 0;

  add(requests: readonly Sent[], text: string): void {
    const responses = readResponses(
      text,
      requests.map(({ method }) => method === 'HEAD'),
    );
    assert.equal(responses.length, requests.length, 'a response to each request');
    for (const [index, { route, method }] of requests.entries()) {
      const labels = `{route="${route}",method="${method}",status="${responses[index]!.status}"}`;
      const series = `gridnode_http_requests_total${labels}`;
      this.requests.set(series, (this.requests.get(series) ?? 0) + 1);
    }
    this.receivedBytes += requests.reduce((sum, each) => sum + each.text.length, 0);
    this.sentBytes += text.length;
  }

  /** Asserts that the samples have exactly these counts. */
  check(samples: Samples): void {
    const counted = [...samples].filter(([series]) => series.startsWith('gridnode_http_requests'));
    assert.deepEqual(new Map(counted.sort()), new Map([...this.requests].sort()));
    assert.equal(samples.get('gridnode_http_received_bytes_total'), this.receivedBytes);
    assert.equal(samples.get('gridnode_http_sent_bytes_total'), this.sentBytes);
    const routes = new Map<string, number>();
    for (const [series, count] of this.requests) {
      const [, route = ''] = /route="([^"]*)"/.exec(series) ?? [];
      routes.set(route, (routes.get(route) ?? 0) + count);
    }
    for (const [route, count] of routes) {
      const series = `gridnode_http_request_duration_seconds_count{route="${route}"}`;
      assert.equal(samples.get(series), count, route);
    }
  }
}

function meteredServer(parts: TestServerParts = {}, limits: typeof LIMITS = LIMITS) {
  const traffic = new HttpTraffic(pathsOf(ROUTES));
  return { traffic, ...createTestServer(limits, { ...parts, meter: traffic }) };
}

const ENGINES: readonly (readonly [name: string, late: LateOptions | undefined])[] = [
  ['the embedded engine', undefined],
  ['a late ordered engine', { isOrdered: true }],
  ['a late unordered engine', { isOrdered: false }],
];

describe('the traffic of a server', () => {
  for (const [name, late] of ENGINES) {
    it(`is counted exactly before ${name}`, () => {
      const random = new Random(7);
      const clock = new FakeClock();
      const engineOn = late && lateEngineOf(late);
      const server = meteredServer({ clock, ...(engineOn && { engineOn }) });
      const seen = new Seen();
      let before = samplesOf(server.traffic);
      for (let round = 0; round < 170; round++) {
        const requests = Array.from({ length: 1 + random.below(40) }, () => anyRequest(random));
        const socket = socketTo(server);
        const text = requests.map((each) => each.text).join('');
        for (const piece of piecesOf(text, random)) {
          socket.receive(piece);
          clock.settle();
        }
        seen.add(requests, socket.text);
        socket.receiveEnd();
        clock.settle();
        const after = samplesOf(server.traffic);
        assertOnlyRises(before, after);
        before = after;
      }
      seen.check(before);
      assert.deepEqual(server.failures, []);
    });
  }

  for (const { name, parts } of CARRIERS) {
    it(`is counted exactly on ${name}`, async () => {
      const random = new Random(11);
      const server = meteredServer(parts);
      const { port } = await server.server.listen('127.0.0.1', 0);
      const seen = new Seen();
      for (let round = 0; round < 34; round++) {
        const requests = Array.from({ length: 60 }, () => anyRequest(random));
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
        const chunks: Buffer[] = [];
        socket.on('data', (chunk) => chunks.push(chunk));
        socket.end(requests.map((each) => each.text).join(''));
        await once(socket, 'end');
        // The last response of a client that has ended its side announces the end.
        seen.add(requests, Buffer.concat(chunks).toString('latin1'));
      }
      const samples = samplesOf(server.traffic);
      seen.check(samples);
      assert.equal(samples.get('gridnode_http_connections_total'), 34);
      server.server.abort();
    });
  }

  for (const { name, parts } of CARRIERS) {
    it(`has the refused connections on ${name}, with their bytes`, async () => {
      const { server, traffic } = meteredServer(parts, { ...LIMITS, connectionsMax: 1 });
      const { port } = await server.listen('127.0.0.1', 0);
      const open = connect({ port, host: '127.0.0.1' });
      await once(open, 'connect');
      const refused = connect({ port, host: '127.0.0.1' });
      const chunks: Buffer[] = [];
      refused.on('data', (chunk) => chunks.push(chunk));
      refused.end('GET / HTTP/1.1\r\n\r\n');
      await once(refused, 'close');
      const samples = samplesOf(traffic);
      assert.equal(samples.get('gridnode_http_connections_total'), 1);
      assert.equal(samples.get('gridnode_http_connections_refused_total'), 1);
      assert.equal(samples.get('gridnode_http_sent_bytes_total'), Buffer.concat(chunks).length);
      assert.equal(samples.get('gridnode_http_received_bytes_total'), 18);
      server.abort();
    });
  }
});

describe('a request', () => {
  function count(samples: Samples, route: string, method: string, status: number): number {
    const labels = `{route="${route}",method="${method}",status="${status}"}`;
    return samples.get(`gridnode_http_requests_total${labels}`) ?? 0;
  }

  /** Returns the bounds of the bucket of the only duration of a route, in seconds. */
  function bucketOf(samples: Samples, route: string): string | undefined {
    const name = 'gridnode_http_request_duration_seconds_bucket';
    return [...samples]
      .filter(([series, value]) => series.startsWith(`${name}{route="${route}"`) && value > 0)
      .map(([series]) => /le="([^"]*)"/.exec(series)?.[1])[0];
  }

  it('is counted without a route and method if its bytes are not one', () => {
    const server = meteredServer();
    const bad = [
      'XX\r\n\r\n',
      'GET / HTTP/3.0\r\n\r\n',
      'GET /grid/rest/maps/m/k HTTP/1.1\r\n\r\n',
    ];
    for (const text of bad) socketTo(server).receive(text);
    socketTo(server).receive(`GET /grid/health HTTP/1.1\r\nX: ${'x'.repeat(5000)}`);
    const late = socketTo(server);
    late.receive('GET /grid/health HT');
    server.clock.advance(20_000);
    const samples = samplesOf(server.traffic);
    assert.deepEqual(
      [400, 505, 431, 408].map((status) => count(samples, 'none', 'none', status)),
      [2, 1, 1, 1],
    );
    assert.equal(count(samples, 'health', 'GET', 200), 0);
  });

  it('has its route if its body is refused, late or invalid', () => {
    const server = meteredServer();
    socketTo(server).receive(postHead('maps/m/k', LIMITS.bodyBytesMax + 1));
    const late = socketTo(server);
    late.receive(postHead('maps/m/k', 10));
    server.clock.advance(20_000);
    const samples = samplesOf(server.traffic);
    assert.deepEqual(
      [413, 408].map((status) => count(samples, ENTRY, 'POST', status)),
      [1, 1],
    );
  });

  it('does not keep the route of the request before it', () => {
    const server = meteredServer();
    socketTo(server).receive(get('maps/m/k') + get('x') + get('maps/m/%zz'));
    const samples = samplesOf(server.traffic);
    assert.equal(count(samples, ENTRY, 'GET', 204), 1);
    assert.equal(count(samples, 'none', 'GET', 404), 1);
    assert.equal(count(samples, 'none', 'GET', 400), 1);
  });

  it('lasts until its response leaves, also behind others', () => {
    const server = meteredServer();
    const { clock, traffic } = server;
    const socket = socketTo(server);
    socket.receive(poll('q', 30) + get('maps/m/k'));
    clock.advance(1000);
    assert.equal(samplesOf(traffic).size, 4);
    socketTo(server).receive(post('queues/q', 'x'));
    clock.settle();
    const samples = samplesOf(traffic);
    assert.deepEqual(
      [POLL, ENTRY].map((route) => bucketOf(samples, route)),
      ['1', '0.0001'],
    );
    assert.equal(samples.get(`gridnode_http_request_duration_seconds_sum{route="${POLL}"}`), 1);
  });

  it('begins when its content is whole', () => {
    const server = meteredServer();
    const socket = socketTo(server);
    socket.receive(postHead('maps/m/k', 2));
    server.clock.advance(3000);
    socket.receive('x');
    server.clock.advance(3000);
    socket.receive('y');
    assert.equal(bucketOf(samplesOf(server.traffic), ENTRY), '0.0001');
  });

  it('is left out of the durations that tell the load if it may wait', () => {
    const server = meteredServer();
    const { traffic } = server;
    const timed = () => traffic.timed.reduce((sum, each) => sum + each);
    socketTo(server).receive(poll('q', 0));
    assert.equal(timed(), 1);
    socketTo(server).receive(poll('q', 5));
    server.clock.advance(5000);
    assert.equal(count(samplesOf(traffic), POLL, 'DELETE', 204), 2);
    assert.deepEqual([timed(), traffic.requestCount, traffic.errorCount], [1, 2, 0]);
    socketTo(server).receive(post('queues/one-item', 'x') + post('queues/one-item', 'x'));
    assert.deepEqual([timed(), traffic.requestCount, traffic.errorCount], [3, 4, 1]);
  });

  it('is not counted if its client has gone', () => {
    const server = meteredServer();
    const socket = socketTo(server);
    socket.receive(poll('q', 30) + get('maps/m/k'));
    socket.reset();
    server.clock.settle();
    assert.equal(server.traffic.requestCount, 0);
    const other = socketTo(server);
    other.receive(poll('q', 30));
    other.receiveEnd();
    server.clock.settle();
    assert.equal(server.traffic.requestCount, 1);
  });

  it('that waits for the log lasts until its change is durable', () => {
    const traffic = new HttpTraffic([]);
    const { state, delay } = sequenceDelay();
    const { socket, application, clock, server } = heldServer({}, delay, traffic);
    socket.receive(request('/late/a') + request('/late/b'));
    clock.settle();
    clock.advance(2);
    application.remove('a').respondEmpty(200, 0, 1);
    application.remove('b').respondEmpty(200, 0, 0);
    clock.settle();
    clock.advance(7);
    assert.equal(traffic.requestCount, 0);
    state.upTo = 1;
    server.release();
    const samples = samplesOf(traffic);
    assert.equal(count(samples, 'none', 'GET', 200), 2);
    assert.equal(bucketOf(samples, 'none'), '0.01');
    const sum = samples.get('gridnode_http_request_duration_seconds_sum{route="none"}');
    assert.equal(sum, 0.018);
  });

  it('is counted once, with the status that it got, if its response was replaced', () => {
    const traffic = new HttpTraffic([]);
    const { delay } = sequenceDelay();
    const { socket, application, clock, server } = heldServer({}, delay, traffic);
    const names = ['a', 'b', 'c'];
    socket.receive(names.map((name) => request(`/late/${name}`)).join(''));
    clock.settle();
    application.remove('a').respondEmpty(200, 0, 0);
    clock.settle();
    for (const name of ['b', 'c']) application.remove(name).respondEmpty(204, 0, 1);
    clock.settle();
    assert.equal(traffic.requestCount, 1);
    server.failDelayed();
    assert.deepEqual(
      [200, 204, 503].map((status) => count(samplesOf(traffic), 'none', 'GET', status)),
      [1, 0, 2],
    );
    assert.deepEqual([traffic.requestCount, traffic.errorCount], [3, 2]);
  });

  it('of a stream lasts to its end, and is left out of the durations that tell the load', () => {
    for (const [method, version] of [
      ['GET', '1.1'],
      ['HEAD', '1.1'],
      ['GET', '1.0'],
    ] as const) {
      const traffic = new HttpTraffic([]);
      const { socket, application, clock } = heldServer({}, undefined, traffic);
      socket.receive(`${method} /stream HTTP/${version}\r\nHost: x\r\n\r\n`);
      clock.settle();
      application.streams[0]?.write(Buffer.from('one'));
      clock.advance(2000);
      assert.equal(traffic.requestCount, 0);
      application.streams[0]?.end();
      clock.settle();
      const samples = samplesOf(traffic);
      assert.equal(count(samples, 'none', method, 201), 1);
      assert.equal(bucketOf(samples, 'none'), '2.5');
      assert(traffic.timed.every((each) => each === 0));
    }
  });

  it('of a slow reader lasts until its response has been handed over', () => {
    const traffic = new HttpTraffic([]);
    const { socket, application, clock } = heldServer({}, undefined, traffic);
    socket.receive(request('/late/a') + request('/late/b'));
    clock.settle();
    socket.isStuck = true;
    application.answer('a', 'x'.repeat(200_000));
    application.answer('b');
    clock.settle();
    assert.equal(traffic.requestCount, 0);
    clock.advance(400);
    socket.unstick();
    clock.settle();
    assert.equal(traffic.requestCount, 2);
    assert.equal(bucketOf(samplesOf(traffic), 'none'), '0.5');
  });

  it('costs no entry after it: thousands of unsent ones are one table, which shrinks', () => {
    const traffic = new HttpTraffic([]);
    const { state, delay } = sequenceDelay();
    const { application, server, clock, another } = heldServer({}, delay, traffic);
    const sockets = Array.from({ length: 30 }, () => another().socket);
    for (const [index, socket] of sockets.entries()) {
      const names = Array.from({ length: 60 }, (_, each) => `${index}-${each}`);
      socket.receive(names.map((name) => request(`/late/${name}`)).join(''));
      clock.settle();
      for (const name of names) application.remove(name).respondEmpty(200, 0, 1);
      clock.advance(1);
    }
    assert.equal(traffic.requestCount, 0);
    sockets[0]?.reset();
    state.upTo = 1;
    server.release();
    clock.settle();
    assert.equal(traffic.requestCount, 29 * 60);
    sockets[1]?.receive(request('/now/a'));
    assert.equal(traffic.requestCount, 29 * 60 + 1);
  });
});
