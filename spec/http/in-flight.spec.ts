/**
 * The budget for bytes in flight over all connections: requests that use it, are refused, or are
 * ended.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OperationResult } from '../../src/engine/engine.ts';
import { changingResults } from './changed-results.ts';
import { client, get, LIVE, poll, post, postHead } from './test-client.ts';
import { createTestServer } from './test-server.ts';

const PATIENCE_MS = 5000;

/** Returns a server with contents of up to 1,000 bytes, and room for 2,000. */
function crowd() {
  return client(createTestServer({ bodyBytesMax: 1000, inFlightBytesMax: 2000 }));
}

describe('content under way', () => {
  it('is refused with 503 when its announced length does not fit, and accepted when it does', () => {
    const { socket, another } = crowd();
    const second = another();
    const beyond = another();
    const within = another();
    socket.receive(`${postHead('maps/m/k', 1000)}x`);
    second.socket.receive(postHead('maps/m/k', 500));
    beyond.socket.receive(`${postHead('maps/m/k', 501)}x`);
    assert.equal(beyond.responses()[0]?.status, 503);
    assert.match(beyond.responses()[0]?.body ?? '', /^{"status":"fail","message":".* 2000 bytes/);
    within.socket.receive(postHead('maps/m/k', 500));
    within.socket.receive('v'.repeat(500));
    assert.deepEqual(within.statuses(), [200]);
    assert.deepEqual(second.statuses(), []);
  });

  it('is dropped after a refusal, but the connection continues', () => {
    const { socket, another, statuses } = crowd();
    const others = [another(), another()];
    for (const other of others) other.socket.receive(postHead('maps/m/other', 1000));
    socket.receive(postHead('maps/m/k', 3));
    socket.receive(`abc${LIVE}${get('maps/m/k')}`);
    assert.deepEqual(statuses(), [503, 200, 204]);
  });

  it('uses no room if it is received completely with its head, even in chunks', () => {
    const { socket, another, statuses, server } = crowd();
    for (const other of [another(), another()]) other.socket.receive(postHead('maps/m/k', 1000));
    assert(server.inFlight.isFull);
    socket.receive(post('maps/m/k', 'v'.repeat(1000)));
    const chunks = 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n';
    socket.receive(`POST /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\n${chunks}`);
    assert.deepEqual(statuses(), [200, 200]);
  });

  it('in chunks uses the size of its buffer, and is refused when the buffer no longer fits', () => {
    const server = createTestServer({ bodyBytesMax: 20_000, inFlightBytesMax: 20_000 });
    const { socket, statuses } = client(server);
    socket.receive(
      'POST /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
    socket.receive(chunk);
    assert.equal(server.server.inFlight.usedBytes, 4096);
    socket.receive(chunk);
    assert.equal(server.server.inFlight.usedBytes, 8192);
    const other = client(server);
    other.socket.receive(postHead('maps/m/k', 11_000));
    socket.receive(chunk);
    assert.deepEqual(statuses(), [503]);
    assert.equal(server.server.inFlight.usedBytes, 11_000);
    socket.receive(`0\r\n\r\n${LIVE}`);
    assert.deepEqual(statuses(), [503, 200]);
  });

  it('is invited only when there is room', () => {
    const { socket, another, statuses } = crowd();
    for (const other of [another(), another()]) other.socket.receive(postHead('maps/m/k', 1000));
    socket.receive(postHead('maps/m/k', 3, 'Expect: 100-continue\r\n'));
    assert.deepEqual(statuses(), [503]);
    assert(socket.writableEnded);
  });

  it('releases its bytes at its end, when it is refused, and when its client disconnects', () => {
    const { socket, another, server } = crowd();
    const gone = another();
    const long = another();
    const expecting = another();
    socket.receive(postHead('maps/m/k', 1000));
    gone.socket.receive(`${postHead('maps/m/k', 1000)}x`);
    assert.equal(server.inFlight.usedBytes, 2000);
    socket.receive('v'.repeat(1000));
    assert.equal(server.inFlight.usedBytes, 1000);
    gone.socket.destroy();
    assert.equal(server.inFlight.usedBytes, 0);
    long.socket.receive(postHead('maps/m/k', 1001));
    expecting.socket.receive(postHead('maps/m/k', 7, 'Expect: something\r\n'));
    assert.equal(server.inFlight.usedBytes, 0);
  });
});

describe('content that makes room', () => {
  it('is the one with the fewest bytes among those in progress for five seconds: 408', () => {
    const server = createTestServer({ bodyBytesMax: 1000, inFlightBytesMax: 3000 });
    const many = client(server);
    const few = client(server);
    const young = client(server);
    many.socket.receive(`${postHead('maps/m/k', 1000)}xxx`);
    few.socket.receive(`${postHead('maps/m/k', 1000)}xx`);
    server.clock.advance(20);
    young.socket.receive(`${postHead('maps/m/k', 1000)}x`);
    const refused = client(server);
    server.clock.advance(PATIENCE_MS - 21);
    refused.socket.receive(`${postHead('maps/m/k', 100)}x`);
    refused.socket.receive('x'.repeat(99));
    assert.deepEqual(few.statuses(), []);
    server.clock.advance(10);
    refused.socket.receive(`${postHead('maps/m/k', 100)}x`);
    assert.deepEqual(refused.statuses(), [503, 503]);
    assert.deepEqual(
      [many, few, young].map(({ statuses }) => statuses()),
      [[], [408], []],
    );
    const next = client(server);
    next.socket.receive(`${postHead('maps/m/k', 100)}x`);
    next.socket.receive('x'.repeat(99));
    assert.deepEqual(next.statuses(), [200]);
  });

  it('is never one that moved 64 KiB', () => {
    const limits = { bodyBytesMax: 100_000, inFlightBytesMax: 200_000 };
    for (const [bytes, statuses] of [
      [65535, [408]],
      [65536, []],
    ] as const) {
      const server = createTestServer(limits);
      const first = client(server);
      const second = client(server);
      for (const { socket } of [first, second]) socket.receive(postHead('maps/m/k', 100_000));
      second.socket.receive('x'.repeat(70_000));
      first.socket.receive('x'.repeat(bytes));
      server.clock.advance(PATIENCE_MS);
      client(server).socket.receive(postHead('maps/m/k', 2));
      assert.deepEqual(first.statuses(), statuses, `${bytes} bytes`);
      assert.deepEqual(second.statuses(), []);
    }
  });

  it('may be one that moved 64 KiB more than five seconds ago', () => {
    const server = createTestServer({ bodyBytesMax: 200_000, inFlightBytesMax: 400_000 });
    const idle = client(server);
    const moving = client(server);
    for (const { socket } of [idle, moving]) {
      socket.receive(postHead('maps/m/k', 200_000));
      socket.receive('x'.repeat(70_000));
    }
    const refuse = (): void => client(server).socket.receive(postHead('maps/m/k', 2));
    server.clock.advance(PATIENCE_MS);
    refuse();
    assert.deepEqual([idle.statuses(), moving.statuses()], [[], []]);
    moving.socket.receive('x'.repeat(65_536));
    server.clock.advance(250);
    refuse();
    assert.deepEqual([idle.statuses(), moving.statuses()], [[408], []]);
  });

  for (const [count, length, sent] of [
    [16, 1_048_576, 65_536],
    [32, 16_384, 0],
  ] as const) {
    it(`lets others write when ${count} clients have sent ${sent} bytes and send one every nine seconds`, () => {
      const server = createTestServer({ bodyBytesMax: length, inFlightBytesMax: 16 * length });
      const { clock } = server;
      const senders = Array.from({ length: count }, () => client(server));
      for (const { socket } of senders) socket.receive(postHead('maps/m/k', length));
      for (const { socket } of senders) socket.receive('x'.repeat(sent));
      const writer = client(server);
      let [written, waited] = [0, 0];
      for (let second = 1; second <= 120; second++) {
        clock.advance(1000);
        if (second % 9 === 0) for (const { socket } of senders) socket.receive('x');
        writer.socket.receive(postHead('maps/m/other', 16_000));
        writer.socket.receive('v'.repeat(16_000));
        if (writer.statuses().at(-1) === 200) {
          written++;
          waited = 0;
        } else waited++;
        assert(waited < 10, `nothing written for ${waited} s`);
      }
      assert(written > 0);
    });
  }
});

describe('responses that wait for slow readers', () => {
  const VALUE = 'v'.repeat(60_000);

  function readers(count: number, inFlightBytesMax: number) {
    const server = createTestServer({ bodyBytesMax: 65_536, inFlightBytesMax });
    client(server).socket.receive(post('maps/m/k', VALUE));
    const reading = Array.from({ length: count }, () => client(server));
    for (const { socket } of reading) {
      socket.isStuck = true;
      socket.receive(get('maps/m/k').repeat(17));
    }
    return { ...server, reading, another: () => client(server) };
  }

  it('are counted in the budget while they wait', async () => {
    const { server, reading } = readers(2, 268_435_456);
    const [first, second] = reading;
    assert(server.inFlight.usedBytes > 1_500_000, `${server.inFlight.usedBytes} used`);
    first?.socket.unstick();
    second?.socket.destroy();
    second?.socket.unstick();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    assert.equal(server.inFlight.usedBytes, 0);
    assert.equal(first?.statuses().length, 17);
  });

  it('end with their connection if content is refused because of them and they make no progress', () => {
    const { server, reading, clock, another } = readers(2, 1_800_000);
    assert(reading.every(({ socket }) => !socket.isPaused));
    const [first, second] = reading;
    for (let piece = 0; piece < 3; piece++) first?.socket.take();
    const writer = another();
    const send = (): void => {
      writer.socket.receive(postHead('maps/m/other', 60_000));
      writer.socket.receive(VALUE);
    };
    clock.advance(PATIENCE_MS - 1);
    send();
    assert(!second?.socket.isDestroyed);
    clock.advance(10);
    send();
    assert.deepEqual([first?.socket.isDestroyed, second?.socket.isDestroyed], [false, true]);
    second?.socket.unstick();
    send();
    assert.deepEqual(writer.statuses(), [503, 503, 200]);
    assert(server.inFlight.usedBytes > 0);
  });

  it('also end with it if many bytes were read, but more than five seconds ago', () => {
    const { reading, clock, another } = readers(2, 1_800_000);
    const [first, second] = reading;
    for (let piece = 0; piece < 3; piece++) first?.socket.take();
    clock.advance(PATIENCE_MS + 250);
    second?.socket.take();
    another().socket.receive(postHead('maps/m/other', 60_000));
    assert.deepEqual([first?.socket.isDestroyed, second?.socket.isDestroyed], [true, false]);
  });

  it('stop reading only on their own connections when they use up the budget', async () => {
    const { server, reading, clock, another } = readers(100, 1_000_000);
    assert(server.inFlight.isFull);
    assert(server.inFlight.usedBytes < 100 * 3 * 65_536, `${server.inFlight.usedBytes} used`);
    for (const { socket } of reading) if (!socket.isPaused) socket.receive(get('maps/m/k'));
    assert(reading.every(({ socket }) => socket.isPaused));
    const waiting = another();
    const writer = another();
    waiting.socket.receive(poll('q', 20));
    clock.advance(19_000);
    assert(!waiting.socket.isPaused && !waiting.socket.isDestroyed);
    writer.socket.receive(post('maps/m/other', VALUE));
    writer.socket.receive(post('queues/q', 'item'));
    clock.settle();
    assert.equal(waiting.responses()[0]?.body, 'item');
    assert.deepEqual(writer.statuses(), [200, 200]);
    for (const { socket } of reading) socket.unstick();
    for (let turn = 0; turn < 100; turn++) await nextTurn();
    assert.equal(server.inFlight.usedBytes, 0);
    assert(reading.every(({ statuses }) => statuses().length >= 17));
  });
});

describe("values stored by the engine's servers", () => {
  const LONG = 'v'.repeat(100_000);

  /**
   * A member whose long values are memory of the response, like values from the engine's servers.
   */
  function onServers(inFlightBytesMax: number) {
    const uncounted = (result: OperationResult) => ({
      pin: () => {
        const pin = result.pin();
        return { isCounted: false, release: () => pin.release() };
      },
    });
    return createTestServer(
      { bodyBytesMax: LONG.length, inFlightBytesMax },
      { services: { isShared: true }, engineOn: (engine) => changingResults(engine, uncounted) },
    );
  }

  it('are counted in the budget until they are read, unlike values of the member', async () => {
    for (const [server, counted] of [
      [onServers(1_000_000), 2 * LONG.length],
      [createTestServer({ bodyBytesMax: LONG.length }), 0],
    ] as const) {
      const { socket, statuses } = client(server);
      socket.receive(post('maps/m/k', LONG));
      socket.isStuck = true;
      socket.receive(get('maps/m/k').repeat(2));
      const { usedBytes } = server.server.inFlight;
      assert(usedBytes >= counted && usedBytes < counted + 1000, `${usedBytes} used`);
      socket.unstick();
      for (let turn = 0; turn < 50; turn++) await nextTurn();
      assert.deepEqual(statuses(), [200, 200, 200]);
      assert.equal(server.server.inFlight.usedBytes, 0);
    }
  });

  it('are released if the client disconnects before they are read', () => {
    const server = onServers(1_000_000);
    const { socket } = client(server);
    socket.receive(post('maps/m/k', LONG));
    socket.isStuck = true;
    socket.receive(get('maps/m/k').repeat(2));
    socket.destroy();
    socket.unstick();
    assert.equal(server.server.inFlight.usedBytes, 0);
  });

  it('are refused, without effect, while the budget is used up; changes and health are not', () => {
    const server = onServers(LONG.length);
    const { socket, another } = client(server);
    socket.receive(post('maps/m/k', LONG));
    socket.receive(post('queues/q', 'item'));
    const reader = another();
    reader.socket.isStuck = true;
    reader.socket.receive(get('maps/m/k'));
    assert(server.server.inFlight.isFull);
    const late = another();
    late.socket.receive(`${get('maps/m/k')}${poll('q', 0)}${post('maps/m/other', 'v')}${LIVE}`);
    assert.deepEqual(late.statuses(), [503, 503, 200, 200]);
    const [read, polled] = late.responses();
    assert.match(read?.body ?? '', /Cannot accept a value from the servers: .* 100000 bytes/);
    for (const refused of [read, polled]) {
      assert.equal(refused?.fields.get('grid-outcome'), 'not-applied');
      assert.ok(Number(refused?.fields.get('retry-after')) > 0);
    }
    reader.socket.destroy();
    reader.socket.unstick();
    const again = another();
    again.socket.receive(poll('q', 0));
    assert.equal(again.responses()[0]?.body, 'item');
  });
});
