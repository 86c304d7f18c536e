/** The time that a connection waits for its client, on both sides of each limit. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { assertAfter, client, drainNow, get, LIVE, poll, post, postHead } from './test-client.ts';
import { createTestServer } from './test-server.ts';

const HEAD_MS = 10_000;
const CONTENT_MS = 10_000;
const WRITE_MS = 30_000;
const IDLE_MS = 75_000;
const DRAIN_MS = 5000;

describe('the time limit of an idle connection', () => {
  it('starts at its beginning', () => {
    const { socket, clock } = client();
    assertAfter(IDLE_MS, clock, () => socket.writableEnded);
    assert.equal(socket.text, '');
    clock.advance(2000);
    assert(socket.isDestroyed);
  });

  it('starts at the last response', () => {
    const { socket, clock } = client();
    for (let request = 0; request < 3; request++) {
      clock.advance(IDLE_MS - 1);
      socket.receive(LIVE);
    }
    assertAfter(IDLE_MS, clock, () => socket.writableEnded);
  });

  it('starts at the response to a poll that waited longer', () => {
    const { socket, clock, statuses } = client();
    socket.receive(poll('q', 200));
    clock.advance(200_000);
    assert.deepEqual(statuses(), [204]);
    assertAfter(IDLE_MS, clock, () => socket.writableEnded);
  });

  it('is configurable', () => {
    const { socket, clock } = client(createTestServer({ keepAliveTimeoutSeconds: 2 }));
    assertAfter(2000, clock, () => socket.writableEnded);
  });
});

describe('the time limit of a head', () => {
  it('starts at its first byte, whatever is received meanwhile: 408, and the end', () => {
    const { socket, clock, responses } = client();
    clock.advance(IDLE_MS - 1);
    socket.receive('GET /grid/health/live HTTP/1.1\r\n');
    for (let line = 0; line < 9; line++) {
      clock.advance(1000);
      socket.receive(`X-${line}: y\r\n`);
    }
    clock.advance(999);
    assert.equal(socket.text, '');
    clock.advance(1);
    assert.equal(responses()[0]?.status, 408);
    assert.equal(responses()[0]?.fields.get('connection'), 'close');
    assert.equal(responses()[0]?.fields.get('content-length'), '0');
    assert(socket.writableEnded);
  });

  it('does not end one that is complete in time', () => {
    const { socket, clock, statuses } = client();
    socket.receive(LIVE.slice(0, 5));
    clock.advance(HEAD_MS - 1);
    socket.receive(LIVE.slice(5));
    clock.advance(IDLE_MS - 1);
    assert.deepEqual(statuses(), [200]);
    assert(!socket.writableEnded);
  });

  it('starts again for each request', () => {
    const { socket, clock, statuses } = client();
    socket.receive(LIVE.slice(0, 5));
    for (let request = 0; request < 5; request++) {
      clock.advance(HEAD_MS - 1);
      socket.receive(LIVE.slice(5) + LIVE.slice(0, 5));
    }
    assert.deepEqual(statuses(), [200, 200, 200, 200, 200]);
    clock.advance(HEAD_MS);
    assert.equal(statuses()[5], 408);
  });

  it('does not run after a waiting poll', () => {
    const { socket, clock, statuses } = client();
    socket.receive(poll('q', 60) + LIVE.slice(0, 5));
    clock.advance(60_000);
    assert.deepEqual(statuses(), [204]);
    clock.advance(HEAD_MS - 1);
    socket.receive(LIVE.slice(5));
    assert.deepEqual(statuses(), [204, 200]);
  });

  it('does not run while reading is paused', async () => {
    const { socket, clock, another, statuses } = client(createTestServer({ bodyBytesMax: 65536 }));
    another().socket.receive(post('maps/m/k', 'v'.repeat(65536)));
    socket.isStuck = true;
    socket.receive(get('maps/m/k').repeat(40) + LIVE.slice(0, 5));
    assert(socket.isPaused);
    clock.advance(WRITE_MS - 1);
    socket.unstick();
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert(!socket.isPaused);
    clock.advance(HEAD_MS - 1);
    socket.receive(LIVE.slice(5));
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert.equal(statuses().length, 41);
  });
});

describe('the time limit of content', () => {
  it('starts at its last byte: 408, and the end', () => {
    const { socket, clock, responses } = client();
    socket.receive(postHead('maps/m/k', 5));
    for (const byte of 'abcd') {
      clock.advance(CONTENT_MS - 1);
      socket.receive(byte);
    }
    clock.advance(CONTENT_MS - 1);
    assert.equal(socket.text, '');
    clock.advance(1);
    assert.equal(responses()[0]?.status, 408);
    assert.equal(responses()[0]?.fields.get('connection'), 'close');
    assert(socket.writableEnded);
  });

  it('starts at its head if nothing is received', () => {
    const { socket, clock, statuses } = client();
    socket.receive(postHead('maps/m/k', 5));
    clock.advance(CONTENT_MS - 1);
    assert.deepEqual(statuses(), []);
    clock.advance(1);
    assert.deepEqual(statuses(), [408]);
  });

  it('is not extended by framing or trailers', () => {
    const { socket, clock, statuses } = client();
    const chunked = 'Transfer-Encoding: chunked\r\n\r\n';
    socket.receive(`POST /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\n${chunked}`);
    socket.receive('1;');
    for (let second = 0; second < 9; second++) {
      clock.advance(1000);
      socket.receive('x');
    }
    clock.advance(1000);
    assert.deepEqual(statuses(), [408]);
  });

  it('ends a connection whose unwanted content is not received, without another response', () => {
    const { socket, clock, statuses } = client();
    socket.receive(postHead('nowhere', 5));
    clock.advance(CONTENT_MS - 1);
    assert(!socket.writableEnded);
    clock.advance(1);
    assert.deepEqual(statuses(), [404]);
    assert(socket.writableEnded);
  });

  it('starts when 100 Continue has been accepted', () => {
    const { socket, clock, statuses } = client();
    socket.isStuck = true;
    socket.receive(LIVE + postHead('maps/m/k', 5, 'Expect: 100-continue\r\n'));
    clock.advance(WRITE_MS - 1);
    assert(!socket.isDestroyed);
    socket.unstick();
    clock.advance(CONTENT_MS - 1);
    assert.deepEqual(statuses(), [200, 100]);
    clock.advance(1);
    assert.deepEqual(statuses(), [200, 100, 408]);
  });
});

describe('the time limit of reading responses', () => {
  /** A client that reads nothing of ten values of 64 KiB. */
  function reader() {
    const reading = client(createTestServer({ bodyBytesMax: 65536 }));
    reading.another().socket.receive(post('maps/m/k', 'v'.repeat(65536)));
    reading.socket.isStuck = true;
    reading.socket.receive(get('maps/m/k').repeat(10));
    return reading;
  }

  it('closes a connection that reads nothing', () => {
    const { socket, clock } = reader();
    assertAfter(WRITE_MS, clock, () => socket.isDestroyed);
  });

  it('starts again after each piece read, at most 64 KiB', () => {
    const { socket, clock } = reader();
    assert(socket.untakenBytes <= 2 * 65536);
    socket.take();
    for (let piece = 0; piece < 9; piece++) {
      clock.advance(WRITE_MS - 1);
      socket.take();
      assert(socket.untakenBytes <= 65536);
    }
    assertAfter(WRITE_MS, clock, () => socket.isDestroyed);
  });

  it('also applies to a single small response, until it is read', () => {
    const late = client();
    const inTime = client();
    for (const { socket } of [late, inTime]) {
      socket.isStuck = true;
      socket.receive(LIVE);
    }
    late.clock.advance(WRITE_MS);
    assert(late.socket.isDestroyed);
    inTime.clock.advance(WRITE_MS - 1);
    inTime.socket.take();
    inTime.clock.advance(IDLE_MS - 1);
    assert(!inTime.socket.isDestroyed);
  });

  it('takes precedence over that of an idle connection', () => {
    const { socket, clock } = client(createTestServer({ keepAliveTimeoutSeconds: 1 }));
    socket.isStuck = true;
    socket.receive(LIVE);
    clock.advance(WRITE_MS - 1);
    assert(!socket.writableEnded);
    clock.advance(1);
    assert(socket.isDestroyed);
  });
});

describe('a server that drains', () => {
  it('ends requests whose clients send nothing for five seconds', () => {
    const content = client();
    const head = content.another();
    content.socket.receive(postHead('maps/m/k', 5));
    head.socket.receive(LIVE.slice(0, 9));
    content.clock.advance(3000);
    drainNow(content, head);
    content.clock.advance(DRAIN_MS - 1);
    assert.deepEqual([content.statuses(), head.statuses()], [[], []]);
    content.clock.advance(1);
    assert.deepEqual([content.statuses(), head.statuses()], [[408], [408]]);
  });

  it('accepts content that makes progress', () => {
    const draining = client();
    const { socket, clock, statuses } = draining;
    socket.receive(postHead('maps/m/k', 3));
    drainNow(draining);
    for (const byte of 'abc') {
      clock.advance(DRAIN_MS - 1);
      socket.receive(byte);
    }
    clock.settle();
    assert.deepEqual(statuses(), [200]);
    assert(socket.writableEnded);
  });
});

describe('a connection', () => {
  it('leaves no deadline at its end', () => {
    const server = createTestServer();
    const clients = Array.from({ length: 20 }, () => client(server));
    for (const [index, { socket }] of clients.entries()) socket.receive(LIVE.slice(0, index * 2));
    assert.equal(server.server.deadlines.count, 20);
    for (const { socket } of clients) socket.destroy();
    assert.equal(server.server.deadlines.count, 0);
    assert.equal(server.clock.timerCount, 0);
  });

  it('moves no deadline for a request that is answered immediately', () => {
    const { socket, clock } = client();
    const dueMs = clock.nextDueMs;
    for (let request = 0; request < 10; request++) {
      clock.advance(1000);
      socket.receive(LIVE + post('maps/m/k', 'v'));
    }
    assert.equal(clock.nextDueMs, dueMs);
  });
});
