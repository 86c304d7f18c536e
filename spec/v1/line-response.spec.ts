/** The life of a list's response: its reader, its connection, its engine and its faults. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_SPAN, Span } from '../../src/base/span.ts';
import { FOREVER, NOBODY } from '../../src/engine/engine.ts';
import { FakeCarrier } from '../http/fake-carrier.ts';
import { sequenceDelay } from '../http/held-application.ts';
import { lateServer } from '../http/late-server.ts';
import { readResponses } from '../http/response-reader.ts';
import { createTestServer, type TestServer } from '../http/test-server.ts';

const ENTRY_COUNT = 2000;
const VALUE_BYTES = 1000;
const STREAM_BYTES_MAX = 65_536;

/** Sets entries with values of this length. */
function fill({ engine }: Pick<TestServer, 'engine'>, count = ENTRY_COUNT, bytes = VALUE_BYTES) {
  const value = Span.of('x'.repeat(bytes));
  for (let index = 0; index < count; index++) {
    engine.set(Span.of('m'), Span.of(`k${index}`), value, NO_SPAN, FOREVER, undefined, NOBODY);
  }
}

function ask(path = 'v1/maps/m/entries', version = 'HTTP/1.1', method = 'GET'): string {
  return `${method} /grid/${path} ${version}\r\nHost: h\r\n\r\n`;
}

function connected(server: TestServer) {
  const socket = new FakeCarrier((run) => server.clock.endOfTurn(run));
  server.connect(socket);
  const settle = () => server.clock.settle();
  /** Returns the lines of the first response. */
  const lines = () => {
    const [{ body } = { body: '' }] = readResponses(socket.text);
    return body.split('\n').slice(0, -1);
  };
  return { ...server, socket, settle, lines };
}

/** Lets the client read until the list has ended. Returns the largest number of unsent bytes. */
function readSlowly({ socket, server, settle }: ReturnType<typeof connected>): number {
  let most = 0;
  for (let turn = 0; turn < 100_000 && !/\r\n0\r\n\r\n/.test(socket.text.slice(-7)); turn++) {
    socket.take();
    settle();
    most = Math.max(most, server.inFlight.usedBytes);
  }
  return most;
}

describe('A list', () => {
  it('waits for its reader', () => {
    const list = connected(createTestServer());
    fill(list);
    list.socket.isStuck = true;
    list.socket.receive(ask());
    list.settle();
    const before = list.socket.text.length;
    list.settle();
    assert.equal(list.socket.text.length, before, 'nothing is sent to a client that does not read');
    assert.ok(readSlowly(list) <= STREAM_BYTES_MAX);
    assert.equal(list.lines().length, ENTRY_COUNT + 1);
    assert.equal(new Set(list.lines()).size, ENTRY_COUNT + 1);
  });

  it('ends with its cursor when the client has ended its side, and can be continued', () => {
    const list = connected(createTestServer());
    fill(list);
    let path = 'v1/maps/m/keys';
    const keys = new Set<string>();
    for (let round = 0; path !== ''; round++) {
      assert.ok(round < ENTRY_COUNT, 'each round lists entries');
      const { socket, settle, lines } = connected(list);
      socket.isStuck = true;
      socket.receive(ask(path));
      settle();
      socket.receiveEnd();
      socket.unstick();
      settle();
      const last = JSON.parse(lines().at(-1) ?? '') as { cursor: string | null };
      for (const line of lines().slice(0, -1)) keys.add(line);
      path = last.cursor === null ? '' : `v1/maps/m/keys?cursor=${last.cursor}`;
      assert.ok(socket.writableEnded);
    }
    assert.equal(keys.size, ENTRY_COUNT);
  });

  it('ends with its cursor while the server drains, also before pipelined requests', () => {
    for (const rest of ['', ask('v1/maps/m/size')]) {
      const list = connected(createTestServer());
      fill(list);
      list.socket.isStuck = true;
      list.socket.receive(ask() + rest);
      list.settle();
      list.server.drain();
      list.socket.unstick();
      list.settle();
      assert.match(list.lines().at(-1) ?? '', /^\{"cursor":"/);
      assert.ok(list.lines().length < ENTRY_COUNT);
    }
  });

  it('is cut off for a client that has disconnected', () => {
    const list = connected(createTestServer());
    fill(list);
    list.socket.isStuck = true;
    list.socket.receive(ask());
    list.settle();
    list.socket.fail();
    list.settle();
    assert.equal(list.server.inFlight.usedBytes, 0);
    const next = connected(list);
    next.socket.receive(ask('v1/maps/m/size'));
    next.settle();
    assert.equal(readResponses(next.socket.text)[0]?.body, `${ENTRY_COUNT}`);
  });

  it('is answered in order among pipelined requests', () => {
    const list = connected(createTestServer());
    fill(list, 5, 1);
    const size = ask('v1/maps/m/size');
    list.socket.receive(size + ask() + size + ask('v1/maps', 'HTTP/1.1', 'HEAD') + size);
    list.settle();
    const bodies = readResponses(list.socket.text, [false, false, false, true, false]);
    assert.deepEqual(
      bodies.map(({ body }) => body.length > 10),
      [false, true, false, false, false],
    );
  });

  it('extends to the end of the connection in HTTP/1.0', () => {
    const list = connected(createTestServer());
    fill(list, 3, 1);
    list.socket.receive(ask('v1/maps/m/keys', 'HTTP/1.0'));
    list.settle();
    assert.match(list.socket.text, /\r\n\r\n(\{"key":"k\d"\}\n){3}\{"cursor":null\}\n$/);
    assert.ok(list.socket.writableEnded);
  });

  it('sends nothing that depends on a change before it is durable', () => {
    const { state, delay } = sequenceDelay();
    const list = connected(createTestServer({}, { delay }));
    state.upTo = Number.POSITIVE_INFINITY;
    fill(list, 1, 1);
    state.upTo = 0;
    list.socket.receive(ask());
    list.settle();
    assert.doesNotMatch(list.socket.text, /k0/);
    state.upTo = 1;
    list.server.release();
    list.settle();
    assert.match(list.socket.text, /k0.*\n\r\n.*"cursor":null/s);
  });

  it('is 503 if the engine is closed, and is cut off if it closes later', async () => {
    const server = lateServer({ isOrdered: true });
    fill(server);
    const list = connected(server);
    list.socket.isStuck = true;
    list.socket.receive(ask());
    list.settle();
    assert.match(list.socket.text, /HTTP\/1.1 200 OK/);
    void server.late.close();
    list.settle();
    for (let turn = 0; turn < 1000 && !list.socket.isDestroyed; turn++) {
      list.socket.take();
      list.settle();
    }
    assert.ok(list.socket.isDestroyed, 'the client notices that lines are missing');
    const next = connected(server);
    next.socket.receive(ask());
    next.settle();
    assert.equal(readResponses(next.socket.text)[0]?.status, 503);
  });
});
