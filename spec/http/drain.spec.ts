/**
 * Covers src/http/server.ts, src/http/input.ts and src/http/early-bytes.ts. Draining a server: the
 * requests it still accepts and answers, the connections it keeps open, and for how long.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { INPUT_BYTES_MAX } from '../../src/http/llhttp.ts';
import { RawClient } from '../integration/client.ts';
import { checkDrain } from './drain-round.ts';
import { FakeCarrier } from './fake-carrier.ts';
import { heldServer, request } from './held-application.ts';
import { type Client, client, drainNow, get, LIVE, poll, post } from './test-client.ts';
import { CARRIERS, createTestServer, type TestServerParts } from './test-server.ts';

const LAST_REQUEST_MS = 1000;
/** Length of a value that pauses reading until the client has read most of it, in bytes. */
const VALUE_BYTES = 2_000_000;
const ROUNDS = 8;
const SEED = Number(process.env.DRAIN_SEED ?? randomInt(1_000_000_000));

/** Stops the server, which drains with these connections once the sockets have been read. */
function drain(...clients: readonly Client[]): void {
  for (const { clock, connection } of clients) {
    connection.onStop();
    for (let turn = 0; turn < 2; turn++) clock.endTurn();
  }
  drainNow(...clients);
}

function connections({ responses }: Client): (string | undefined)[] {
  return responses().map(({ fields }) => fields.get('connection'));
}

describe('A connection of a server that drains', () => {
  it('ends immediately if its last request was received more than a second ago', () => {
    for (const [idleMs, isEnded] of [
      [LAST_REQUEST_MS - 1, false],
      [LAST_REQUEST_MS, true],
    ] as const) {
      const idle = client();
      idle.clock.advance(5000);
      idle.socket.receive(LIVE);
      idle.clock.advance(idleMs);
      drain(idle);
      assert.equal(idle.socket.writableEnded, isEnded, `${idleMs} ms`);
      idle.clock.advance(LAST_REQUEST_MS - 1);
      assert.equal(idle.socket.writableEnded, isEnded, `${idleMs} ms`);
      idle.clock.advance(1);
      assert(idle.socket.writableEnded);
    }
  });

  it('ends after the next response, which announces that it is the last', () => {
    const other = client();
    other.socket.receive(LIVE);
    drain(other);
    other.clock.advance(LAST_REQUEST_MS - 1);
    other.socket.receive(LIVE);
    other.clock.settle();
    assert.deepEqual(connections(other), [undefined, 'close']);
    assert(other.socket.writableEnded);
  });

  it('answers all requests received in consecutive turns; only the last response announces the end', () => {
    const other = client();
    drain(other);
    for (const piece of [LIVE, LIVE + LIVE, LIVE]) {
      other.socket.receive(piece);
      assert.deepEqual(other.statuses(), [], 'a response that invites more requests was sent');
      other.clock.endTurn();
    }
    other.clock.settle();
    assert.deepEqual(connections(other), [undefined, undefined, undefined, 'close']);
  });

  it('answers requests that a full read has left in the socket', async () => {
    const other = client();
    const length = INPUT_BYTES_MAX / 64;
    const padding = 'x'.repeat(length - LIVE.length - 'X: \r\n'.length);
    const request = LIVE.replace('Host', `X: ${padding}\r\nHost`);
    drain(other);
    other.socket.receive(request.repeat(64));
    assert.deepEqual(other.statuses(), [], 'a request after the read was answered');
    other.socket.receive(request.repeat(64) + LIVE);
    for (let turn = 0; turn < 20; turn++) {
      other.clock.endTurn();
      await nextTurn();
    }
    assert.deepEqual(connections(other), [...Array(128).fill(undefined), 'close']);
  });

  it('ends with the first response after a second, whatever is received', () => {
    const other = client();
    drain(other);
    for (let turn = 0; turn < 100; turn++) {
      other.clock.advance(20);
      other.socket.receive(LIVE.repeat(64));
      other.clock.endTurn();
      if (other.socket.writableEnded) break;
    }
    assert.equal(other.clock.now(), LAST_REQUEST_MS);
    const connectionFields = connections(other);
    assert.deepEqual(connectionFields, [
      ...Array(connectionFields.length - 1).fill(undefined),
      'close',
    ]);
  });

  it('finishes the request being received, and announces the end', () => {
    const busy = client();
    busy.socket.receive(post('maps/m/k', 'abc').slice(0, -2));
    drain(busy);
    assert(!busy.socket.writableEnded);
    busy.socket.receive('bc');
    busy.clock.settle();
    assert.deepEqual([busy.statuses(), connections(busy)], [[200], ['close']]);
    assert(busy.socket.writableEnded);
    busy.another().socket.receive(get('maps/m/k'));
  });

  it('retains the bytes of its last request while the socket is read', () => {
    const other = client();
    drain(other);
    other.socket.receive(post('maps/m%61p/k%2565y', 'value'));
    const stranger = client();
    stranger.socket.receive(`${LIVE}${'#'.repeat(60_000)}`);
    other.clock.settle();
    assert.deepEqual(other.statuses(), [200]);
    const reader = other.another();
    reader.socket.receive(get('maps/map/k%2565y'));
    reader.clock.settle();
    assert.equal(reader.responses()[0]?.body, 'value');
  });

  it('answers waiting polls with 204, and all later requests; the last response announces the end', () => {
    const polling = client();
    polling.socket.receive(poll('q') + LIVE + poll('q'));
    drain(polling);
    polling.clock.settle();
    assert.deepEqual(polling.statuses(), [204, 200, 204]);
    assert.deepEqual(connections(polling), [undefined, undefined, 'close']);
    assert(polling.socket.writableEnded);
  });

  it('ends after a slow client has read its responses', async () => {
    const slow = client(createTestServer({ bodyBytesMax: 65536 }));
    slow.another().socket.receive(post('maps/m/k', 'v'.repeat(65536)));
    slow.socket.isStuck = true;
    for (let read = 0; read < 2; read++) slow.socket.receive(get('maps/m/k').repeat(10));
    assert(slow.socket.isPaused);
    drain(slow);
    assert(!slow.socket.writableEnded);
    slow.socket.unstick();
    for (let turn = 0; turn < 50; turn++) {
      await nextTurn();
      slow.clock.settle();
    }
    assert(slow.socket.writableEnded);
    assert.equal(connections(slow).at(-1), 'close');
  });

  it('does not end with a response while a later request is received', () => {
    const later = `${request('/late/b', 'Content-Length: 5\r\n', 'POST')}hello`;
    for (const length of [10, later.length - 2, later.length]) {
      const held = heldServer();
      const { application, clock, socket } = held;
      application.finishesNow = false;
      drain(held);
      clock.settle();
      socket.receive(request('/late/a'));
      clock.settle();
      socket.receive(later.slice(0, length));
      if (length < later.length) clock.settle();
      application.answer('a');
      clock.settle();
      socket.receive(later.slice(length));
      clock.settle();
      application.answer('b');
      clock.settle();
      assert.deepEqual(connections(held), [undefined, 'close'], `${length} bytes`);
    }
  });

  it('is forgotten if it closes while the socket is read', () => {
    const other = client();
    drain(other);
    other.socket.receive(LIVE);
    other.socket.destroy();
    other.clock.settle();
    assert.equal(other.socket.text, '');
    assert.deepEqual(other.failures, []);
  });
});

describe('The requests that were received before a server is stopped', () => {
  it(`are answered, for ${ROUNDS} random clients from seed ${SEED} on`, () => {
    for (let round = 0; round < ROUNDS; round++) checkDrain(SEED + round);
  });

  /** A client that reads its responses in pieces, and has requested six values. */
  function slowClient() {
    const server = createTestServer({ bodyBytesMax: VALUE_BYTES });
    const slow = client(server, new FakeCarrier((run) => server.clock.endOfTurn(run)));
    slow.another().socket.receive(post('maps/m/k', 'v'.repeat(VALUE_BYTES)));
    slow.socket.isStuck = true;
    // The first value pauses reading; the rest remains in the kernel.
    for (let request = 0; request < 6; request++) slow.socket.receive(get('maps/m/k'));
    assert(slow.socket.isPaused);
    return slow;
  }

  /** Reads pieces, one per turn; each turn takes this many ms. */
  function take({ socket, clock }: Client, pieces: number, ms: number): void {
    for (let piece = 0; piece < pieces; piece++) {
      socket.take();
      clock.advance(ms);
      clock.endTurn();
    }
  }

  it('are answered even if the reader is slow, including those still in the kernel', () => {
    const slow = slowClient();
    drain(slow);
    take(slow, 1000, 70);
    assert.deepEqual(connections(slow), [...Array(5).fill(undefined), 'close']);
    assert(slow.clock.now() > LAST_REQUEST_MS);
    assert(slow.socket.writableEnded);
  });

  it('are the only ones answered if a slow reader continues to send', () => {
    const slow = slowClient();
    drain(slow);
    for (let piece = 0; !slow.socket.writableEnded; piece++) {
      assert(piece < 1000);
      slow.socket.receive(LIVE);
      take(slow, 1, 70);
    }
    take(slow, 100, 0);
    assert(slow.responses().length >= 6);
    assert.equal(connections(slow).at(-1), 'close');
  });

  it('are answered even if other connections run first for more than a second', () => {
    const many = client();
    many.socket.receive(LIVE.repeat(1000));
    drain(many);
    for (let turn = 0; turn < 30; turn++) {
      many.clock.advance(LAST_REQUEST_MS);
      many.clock.endTurn();
    }
    assert.deepEqual(connections(many), [...Array(999).fill(undefined), 'close']);
  });

  it('are counted, with their bytes, if they are cut off', () => {
    const slow = slowClient();
    const left = slow.connection.cutOff();
    assert.equal(left?.requests, 1);
    assert(left.responseBytes > VALUE_BYTES && left.responseBytes < VALUE_BYTES + 200);
    const polling = client();
    polling.socket.receive(poll('q') + LIVE + LIVE + LIVE.slice(1));
    assert.deepEqual(polling.connection.cutOff(), { requests: 3, responseBytes: 0 });
    const half = client();
    half.socket.receive(LIVE.slice(0, 10));
    assert.deepEqual(half.connection.cutOff(), { requests: 1, responseBytes: 0 });
    const idle = client();
    idle.socket.receive(LIVE);
    assert.equal(idle.connection.cutOff(), undefined);
  });
});

/** A client that connects, sends, and reads to the end. */
function asking(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', (error) => resolve(`${text}${error.message}`));
    socket.on('close', () => resolve(text));
  });
}

/**
 * A listening server, with a function that advances its clock by 0.5 ms a turn until a promise is
 * settled.
 */
async function listening(parts: TestServerParts) {
  const { server, clock } = createTestServer({}, parts);
  const { port } = await server.listen('127.0.0.1', 0);
  const until = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false;
    const done = promise.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await nextTurn();
      clock.advance(0.5);
      clock.endTurn();
    }
    return done;
  };
  return { server, clock, port, until };
}

for (const { name, parts } of CARRIERS) {
  describe(`A server on ${name} that drains`, () => {
    it('accepts and answers connections already in the kernel', async () => {
      const { server, port, until } = await listening(parts);
      const answers = Promise.all(Array.from({ length: 100 }, () => asking(port, LIVE)));
      // A connected client may have a connection that the server has not accepted.
      while (server.connectionCount < 5) await nextTurn();
      await until(server.drain());
      for (const answer of await answers) assert.match(answer, /^HTTP\/1\.1 200 OK/);
    });

    it('goes on accepting after a long turn, in which connections may have arrived', async () => {
      for (const turnMs of [0.6, 50]) {
        const { server, clock, port, until } = await listening(parts);
        const drained = server.drain();
        await nextTurn();
        clock.endTurn();
        const answer = asking(port, LIVE);
        // The kernel connects the client; the server accepts in its next turn at the earliest.
        await new Promise(process.nextTick);
        clock.advance(turnMs);
        clock.endTurn();
        await until(drained);
        assert.match(await answer, /^HTTP/, `${turnMs} ms`);
      }
    });

    it('keeps idle connections of a client that has sent something within the last second', async () => {
      const { server, clock, port, until } = await listening(parts);
      const [live, idle, stranger] = ['127.0.0.1', '127.0.0.1', '127.0.0.2'].map(
        (localAddress) => new RawClient(connect({ port, host: '127.0.0.1', localAddress })),
      ) as [RawClient, RawClient, RawClient];
      for (const other of [live, idle, stranger]) {
        other.send(LIVE);
        assert.equal((await other.response())?.status, 200);
      }
      clock.advance(LAST_REQUEST_MS);
      live.send(LIVE);
      await live.response();
      const drained = server.drain();
      assert.equal(await until(stranger.response()), undefined);
      for (const other of [live, idle]) {
        other.send(LIVE);
        assert.equal((await until(other.response()))?.fields.get('connection'), 'close');
        other.destroy();
      }
      await until(drained);
    });

    it('refuses connections afterwards', async () => {
      const { server, port, until } = await listening(parts);
      await until(server.drain());
      assert.match(await asking(port, LIVE), /ECONNREFUSED/);
    });

    it('waits for nothing once all connections are closed', async () => {
      const { server, clock } = createTestServer({}, parts);
      await server.listen('127.0.0.1', 0);
      const drained = server.drain();
      while (clock.endCount > 0) {
        await nextTurn();
        clock.endTurn();
      }
      await drained;
      assert.equal(clock.timerCount, 0);
    });

    it('stops accepting after a second, even if a connection arrives in every turn', async () => {
      const { server, clock } = createTestServer({}, parts);
      const { port } = await server.listen('127.0.0.1', 0);
      const drained = server.drain();
      const answers: Promise<string>[] = [];
      for (let ms = 0; ms < LAST_REQUEST_MS; ms += 50) {
        assert.equal(server.connectionCount, 0, `${ms} ms`);
        answers.push(asking(port, LIVE));
        for (let turn = 0; turn < 10; turn++) await nextTurn();
        clock.advance(50);
        clock.endTurn();
      }
      assert(server.connectionCount > 15, 'no connection was opened after it stopped accepting');
      while (server.connectionCount > 0) {
        await nextTurn();
        clock.settle();
      }
      await drained;
      for (const answer of (await Promise.all(answers)).slice(0, -2)) assert.match(answer, /^HTTP/);
    });

    it('cuts off connections accepted but not opened when it is aborted', async () => {
      const { server, port, until } = await listening(parts);
      const answer = asking(port, LIVE);
      while (server.connectionCount < 1) await nextTurn();
      const drained = server.drain();
      assert.deepEqual(server.abort(), { connections: 1, requests: 0, responseBytes: 0 });
      await until(drained);
      await answer;
      assert.match(await asking(port, LIVE), /ECONNREFUSED/);
    });
  });
}
