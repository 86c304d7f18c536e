/**
 * Connections beyond single requests: waiting, ending, back-pressure, delays; with engines whose
 * results arrive immediately, and with engines whose results arrive later.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpLimits } from '../../src/http/limits.ts';
import { isAdjacent, type OutputPiece } from '../../src/http/output-piece.ts';
import type { ResponseDelay } from '../../src/http/response-delay.ts';
import { DelayingSink } from '../engine/sinks.ts';
import { MODES, settledServer } from './late-server.ts';
import { assertAfter, client, get, LIVE, poll, post } from './test-client.ts';
import { createTestServer, type TestServer } from './test-server.ts';

const MEBIBYTE = 1048576;

/** Functions that create servers, by the kind of engine. */
const SERVERS: Readonly<Record<string, typeof createTestServer>> = {
  'answers at once': createTestServer,
  ...Object.fromEntries(
    MODES.map(([mode, isOrdered]) => [
      `answers later, ${mode}`,
      (...words: Parameters<typeof createTestServer>) => settledServer({ isOrdered }, ...words),
    ]),
  ),
};

/** A server that delays the responses that depend on changes not yet durable, until `sync`. */
function holding(open: typeof createTestServer, limits?: Partial<HttpLimits>) {
  const sink = new DelayingSink(0);
  const delay: ResponseDelay = {
    delaysAll: false,
    delays: (partition, sequence) => server.engine.delays(partition, sequence),
    sequences: () => server.engine.sequences(),
  };
  const server: TestServer = open(limits, { sinks: [sink], delay });
  const sync = (): void => {
    server.engine.sequences().forEach((sequence, partition) => {
      sink.upTo.set(partition, sequence);
    });
    server.server.release();
  };
  return { server, sync };
}

for (const [kind, open] of Object.entries(SERVERS)) {
  describe(`on an engine that ${kind}`, () => {
    describe('a request that waits', () => {
      it('delays later requests, and all are answered in order', () => {
        const { socket, statuses, responses, another, clock } = client(open());
        const other = another();
        socket.receive(poll('q') + post('maps/m/k', 'v') + get('maps/m/k'));
        socket.receive(LIVE);
        assert.deepEqual(statuses(), []);
        other.socket.receive(get('maps/m/k'));
        assert.deepEqual(other.statuses(), [204], 'the POST after the poll ran early');
        other.socket.receive(post('queues/q', 'item'));
        clock.settle();
        assert.deepEqual(statuses(), [200, 200, 200, 200]);
        assert.equal(responses()[0]?.body, 'item');
        assert.equal(responses()[2]?.body, 'v');
      });

      it('gets 204 after its timeout', () => {
        const { socket, statuses, clock } = client(open());
        socket.receive(poll('q', 3) + LIVE);
        clock.advance(2999);
        assert.deepEqual(statuses(), []);
        clock.advance(1);
        clock.settle();
        assert.deepEqual(statuses(), [204, 200]);
      });

      it('gets 204 at the end of input, and later polls take nothing', () => {
        const { socket, statuses, another, clock } = client(open());
        const offerer = another();
        socket.receive(poll('q') + post('maps/m/k', 'v') + poll('filled'));
        offerer.socket.receive(post('queues/filled', 'item'));
        socket.receiveEnd();
        clock.settle();
        assert.deepEqual(statuses(), [204, 200, 204]);
        assert(socket.writableEnded);
        offerer.socket.receive(get('queues/filled/size'));
        assert.equal(offerer.responses()[1]?.body, '1');
      });

      it('closes the connection when more than 64 KiB follow it', () => {
        const within = client(open());
        within.socket.receive(poll('q') + LIVE);
        within.socket.receive(Buffer.alloc(65536 - LIVE.length, 0x78));
        assert(!within.socket.isDestroyed);
        const beyond = client(open());
        beyond.socket.receive(poll('q') + LIVE);
        beyond.socket.receive(Buffer.alloc(65537 - LIVE.length, 0x78));
        assert(beyond.socket.isDestroyed);
      });

      it('closes the connection when more than pipeline-max requests follow it', () => {
        const limits = { pipelineMax: 10 };
        for (const request of [LIVE, post('maps/m/k', 'value'), get('maps/m/\x80\xff')]) {
          for (const pieces of [1, 1000]) {
            const { socket, another, statuses, clock } = client(open(limits));
            const bytes = poll('q') + request.repeat(10) + request.slice(0, -1);
            const step = Math.ceil(bytes.length / pieces);
            for (let at = 0; at < bytes.length; at += step)
              socket.receive(bytes.slice(at, at + step));
            assert(!socket.isDestroyed);
            const beyond = another();
            beyond.socket.receive(bytes);
            beyond.socket.receive(request.slice(-1));
            assert(beyond.socket.isDestroyed);
            another().socket.receive(post('queues/q', 'item'));
            clock.settle();
            assert.equal(statuses().length, 11);
          }
        }
      });

      it('keeps the polls of one connection in order', () => {
        const { socket, responses, another, clock } = client(open());
        const offerer = another();
        socket.receive(poll('q').repeat(100));
        for (let item = 0; item < 100; item++) {
          offerer.socket.receive(post('queues/q', String(item)));
          if (item % 7 === 0) clock.settle();
        }
        clock.settle();
        const bodies = responses().map(({ body }) => body);
        assert.deepEqual(
          bodies,
          Array.from({ length: 100 }, (_, item) => String(item)),
        );
      });
    });

    describe('the end of a connection', () => {
      it('follows the responses to all complete requests', () => {
        const { socket, statuses } = client(open());
        socket.receive(LIVE + LIVE);
        socket.receiveEnd();
        assert.deepEqual(statuses(), [200, 200]);
        assert(socket.writableEnded);
      });

      it('sends a refusal to a client that stops within a request', () => {
        const { socket, statuses, another } = client(open());
        socket.receive(
          `${LIVE}POST /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc`,
        );
        socket.receiveEnd();
        assert.deepEqual(statuses(), [200, 400]);
        const other = another();
        other.socket.receive(get('maps/m/k'));
        assert.deepEqual(other.statuses(), [204]);
      });

      it('discards input for two seconds, then closes', () => {
        const { socket, statuses, clock } = client(open());
        socket.receive('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
        socket.receive(LIVE);
        assert.deepEqual(statuses(), [404]);
        assertAfter(2000, clock, () => socket.isDestroyed);
      });

      it('follows a failure of the handler, which is reported once and gets 500', () => {
        const { socket, statuses, served, failures } = client(open());
        served.get = () => {
          throw new Error('broken');
        };
        socket.receive(get('maps/m/k') + LIVE);
        assert.deepEqual(statuses(), [500]);
        assert.equal(failures.length, 1);
        assert(socket.writableEnded);
      });
    });

    describe('content that is announced', () => {
      const head = 'POST /grid/rest/maps/m/k HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n';

      it('is invited once, before it is read', () => {
        const { socket, statuses } = client(open());
        socket.receive(`${head}Content-Length: 3\r\n\r\n`);
        assert.deepEqual(statuses(), [100]);
        socket.receive('abc');
        assert.deepEqual(statuses(), [100, 200]);
      });

      it('is not invited when the request is refused, and the connection ends', () => {
        const { socket, responses } = client(open());
        socket.receive(`${head}Content-Length: 1001\r\n\r\n`);
        assert.equal(responses()[0]?.status, 413);
        assert.equal(responses()[0]?.fields.get('connection'), 'close');
        assert(socket.writableEnded);
      });

      it('is dropped up to 1 MiB when it is unwanted, even in chunks', () => {
        const { socket, statuses } = client(open());
        socket.receive('POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
        const chunk = `8000\r\n${'x'.repeat(32768)}\r\n`;
        for (let chunks = 0; chunks < MEBIBYTE / 32768; chunks++) socket.receive(chunk);
        assert.deepEqual(statuses(), [404]);
        assert(!socket.writableEnded);
        socket.receive('1\r\nx\r\n');
        assert(socket.writableEnded);
      });
    });

    describe('back-pressure', () => {
      it('stops running requests while a client reads nothing, and continues when the client reads', async () => {
        const { socket, statuses, another, server, clock } = client(open({ bodyBytesMax: 65536 }));
        another().socket.receive(post('maps/m/k', 'v'.repeat(65536)));
        let run = 0;
        server.observe = () => run++;
        socket.isStuck = true;
        for (let read = 0; read < 4; read++) socket.receive(get('maps/m/k').repeat(10));
        assert(socket.isPaused);
        assert(run >= 16 && run < 30, `${run} run`);
        socket.unstick();
        for (let turn = 0; turn < 50; turn++) {
          await nextTurn();
          clock.settle();
        }
        assert(!socket.isPaused);
        assert.equal(statuses().length, 40);
      });

      it('sends a long value in pieces without a copy, and later responses after it', async () => {
        const { socket, responses, another } = client(open({ bodyBytesMax: 300_000 }));
        const value = Array.from({ length: 300_000 }, (_, at) => String(at % 10)).join('');
        const writer = another();
        writer.socket.receive(post('maps/m/k', value));
        socket.receive(get('maps/m/k') + LIVE);
        writer.socket.receive(post('maps/m/k', 'overwritten'));
        for (let turn = 0; turn < 10; turn++) await nextTurn();
        assert.equal(responses()[0]?.body, value);
        assert.equal(responses()[1]?.status, 200);
        assert(socket.sent.every((piece) => piece.length <= 65536));
      });
    });

    describe('delayed responses', () => {
      it('are sent in order when their partition is durable; meanwhile, later requests run', () => {
        const { server, sync } = holding(open);
        const { socket, statuses } = client(server);
        socket.receive(LIVE + post('maps/m/k', 'v') + get('maps/m/k') + LIVE);
        assert.deepEqual(statuses(), [200]);
        const other = client(server);
        other.socket.receive(get('maps/m/other-partition-3') + LIVE);
        sync();
        assert.deepEqual(statuses(), [200, 200, 200, 200]);
      });

      it('of a clear wait for every partition', () => {
        const { server, sync } = holding(open);
        const { socket, statuses } = client(server);
        socket.receive(post('maps/m/k', 'v'));
        sync();
        socket.receive('DELETE /grid/rest/maps/m HTTP/1.1\r\nHost: x\r\n\r\n');
        assert.deepEqual(statuses(), [200]);
        sync();
        assert.deepEqual(statuses(), [200, 200]);
      });

      it('include reads of changes that are not durable, but no other reads', () => {
        const { server, sync } = holding(open);
        const writer = client(server);
        writer.socket.receive(post('maps/m/k', 'v'));
        const keys = ['k', ...Array.from({ length: 50 }, (_, key) => `key-${key}`)];
        const readers = keys.map((key) => {
          const reader = client(server);
          reader.socket.receive(get(`maps/m/${key}`));
          return reader;
        });
        const answered = (): number =>
          readers.filter(({ statuses }) => statuses().length > 0).length;
        assert.deepEqual(readers[0]?.statuses(), []);
        assert(answered() > 25 && answered() < 50, 'not one of seven partitions is delayed');
        sync();
        assert.deepEqual(readers[0]?.statuses(), [200]);
        assert.equal(answered(), 51);
      });

      it('stop reading when pipeline-max of them wait', () => {
        const { server, sync } = holding(open, { pipelineMax: 10 });
        const { socket, statuses } = client(server);
        socket.receive(post('maps/m/k', 'v').repeat(9));
        assert(!socket.isPaused);
        socket.receive(post('maps/m/k', 'v').repeat(3));
        assert(socket.isPaused);
        sync();
        server.clock.settle();
        assert(!socket.isPaused);
        assert(statuses().length >= 10);
        sync();
        assert.equal(statuses().length, 12);
      });

      it('end the connection only after they have been sent', () => {
        const { server, sync } = holding(open);
        const { socket, statuses } = client(server);
        socket.receive(post('maps/m/k', 'v').replace('Host', 'Connection: close\r\nHost'));
        assert(!socket.writableEnded);
        sync();
        assert.deepEqual(statuses(), [200]);
        assert(socket.writableEnded);
      });
    });

    describe('a polled item whose response is delayed', () => {
      /** A server with a queue of two items, and control over when its responses may be sent. */
      function held(first = 'first') {
        const { server, sync } = holding(open, { bodyBytesMax: MEBIBYTE });
        const { socket } = client(server);
        socket.receive(post('queues/q', first) + post('queues/q', 'second'));
        sync();
        const polled = async (): Promise<string | undefined> => {
          const other = client(server);
          other.socket.receive(poll('q', 0));
          sync();
          // A long value is sent in parts.
          await nextTurn();
          return other.responses()[0]?.body.toString();
        };
        return { server, sync, polled };
      }

      it('is delivered when it may be sent; meanwhile, later requests run', async () => {
        const { server, sync, polled } = held();
        const { socket, responses } = client(server);
        socket.receive(poll('q', 0) + poll('q', 30) + LIVE);
        assert.equal(responses().length, 0);
        sync();
        assert.deepEqual(
          responses().map(({ status, body }) => `${status} ${body}`),
          ['200 first', '200 second', '200 '],
        );
        assert.equal(await polled(), '');
      });

      for (const length of [5, 100_000]) {
        it(`of ${length} bytes returns when the connection is closed first`, async () => {
          const { server, sync, polled } = held('f'.repeat(length));
          const { socket } = client(server);
          socket.receive(poll('q', 0));
          socket.destroy();
          assert.equal((await polled())?.length, length);
          sync();
          assert.equal(await polled(), 'second');
        });

        it(`of ${length} bytes returns when the client ends its side, which gets 204`, async () => {
          const { server, sync, polled } = held('f'.repeat(length));
          const before = server.server.inFlight.usedBytes;
          const { socket, statuses } = client(server);
          socket.receive(LIVE + poll('q', 30) + LIVE);
          socket.receiveEnd();
          assert.deepEqual(statuses(), [200]);
          sync();
          await nextTurn();
          assert.deepEqual(statuses(), [200, 204, 200]);
          assert(socket.writableEnded);
          assert.equal(server.server.inFlight.usedBytes, before);
          assert.equal((await polled())?.length, length);
          assert.equal(await polled(), 'second');
          assert.deepEqual(server.failures, []);
        });
      }

      it('is delivered to a waiting poll when it returns', () => {
        const { server, sync } = held();
        const gone = client(server);
        gone.socket.receive(poll('q', 0) + poll('q', 0));
        const { socket, responses } = client(server);
        socket.receive(poll('q', 30));
        gone.socket.destroy();
        server.clock.settle();
        sync();
        assert.equal(responses()[0]?.body.toString(), 'first');
      });
    });
  });
}

describe('a connection with an engine that returns results immediately', () => {
  it('takes nothing for a disconnected client', () => {
    const { socket, another, clock } = client();
    const second = another();
    const offerer = another();
    socket.receive(poll('q'));
    second.socket.receive(poll('q'));
    offerer.socket.receive(post('queues/q', 'item'));
    socket.destroy();
    clock.settle();
    assert.equal(socket.text, '');
    assert.equal(second.responses()[0]?.body, 'item');
  });

  it('releases a long value when its client has disconnected', async () => {
    const { socket, another, engine } = client(createTestServer({ bodyBytesMax: 300_000 }));
    const writer = another();
    writer.socket.receive(post('maps/m/k', 'v'.repeat(300_000)));
    const before = engine.memoryBytes;
    socket.isStuck = true;
    socket.receive(get('maps/m/k').repeat(2));
    writer.socket.receive(post('maps/m/k', 'v'.repeat(300_000)));
    assert(engine.memoryBytes > before + 250_000, 'the old value was released early');
    socket.destroy();
    socket.unstick();
    await nextTurn();
    assert(engine.memoryBytes < before + 50_000);
  });
  it('reads nothing more once pipeline-max responses wait', () => {
    const { server, sync } = holding(createTestServer, { pipelineMax: 10 });
    const { socket, statuses } = client(server);
    socket.receive(post('maps/m/k', 'v').repeat(12));
    assert(socket.isPaused);
    sync();
    assert.equal(statuses().length, 10);
  });
});

it('two pieces of output are adjacent only if one follows the other in the same buffer', () => {
  const [bytes, other] = [Buffer.alloc(8), Buffer.alloc(8)];
  const piece = (runStart: number, end: number, of = bytes) =>
    ({ bytes: of, runStart, end }) as OutputPiece;
  assert(isAdjacent(piece(0, 4), piece(4, 8)));
  assert(!isAdjacent(piece(0, 4), piece(5, 8)), 'a gap');
  assert(!isAdjacent(piece(0, 4), piece(4, 8, other)), 'another buffer');
  assert(!isAdjacent(piece(-1, 4), piece(4, 8)), 'bytes outside of the arena');
});
