/**
 * The memory that connections hold for incomplete heads, waiting polls and waiting requests: its
 * share of the budget for bytes in flight, and the behaviour if the budget is used up.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { collectGarbage } from '../../src/base/collect-garbage.ts';
import { bufferBytes, initialBufferBytes } from '../buffer-bytes.ts';
import { heldServer, request } from './held-application.ts';
import { client, get, guardedServer, LIVE, poll, post, postHead } from './test-client.ts';
import { createTestServer, type TestServer } from './test-server.ts';

const FREE_BYTES = 4096;
const PATIENCE_MS = 5000;
const LONG = 'x'.repeat(20_000);
/** Returns an incomplete head. Only its target, of this many bytes, is in memory. */
const half = (targetBytes: number): string => `GET /${'t'.repeat(targetBytes - 1)}`;
/** Returns the part of its head that a poll retains. */
const pathOf = (queue: string): string => `/grid/rest/queues/${queue}/30`;

/** A server with a budget of 100,000 bytes, 50,000 of them for heads and polls. */
function small(): TestServer {
  return createTestServer({ bodyBytesMax: 100_000, inFlightBytesMax: 100_000 });
}

function pollWithLogin(queue: string): string {
  return poll(queue).replace('Host: ', `Authorization: Basic ${LONG}\r\nHost: `);
}

describe('an incomplete head', () => {
  it('reserves the bytes beyond 4 KiB, until it is complete or its client disconnects', () => {
    const server = createTestServer();
    const { inFlight } = server.server;
    for (const [bytes, taken] of [
      [4096, 0],
      [4097, 1],
      [30_000, 30_000 - FREE_BYTES],
    ] as const) {
      const whole = client(server);
      const gone = client(server);
      whole.socket.receive(half(bytes));
      assert.equal(inFlight.usedBytes, taken);
      gone.socket.receive(half(bytes));
      assert.equal(inFlight.usedBytes, 2 * taken);
      assert.equal(inFlight.heldBytes, 2 * taken);
      gone.socket.destroy();
      whole.socket.receive(` HTTP/1.1\r\nHost: x\r\n\r\n${LIVE}`);
      assert.deepEqual(whole.statuses(), [404, 200]);
      assert.equal(inFlight.usedBytes, 0);
    }
  });

  it('has a buffer that is at most a quarter longer than needed, however it is received', () => {
    for (const pieceBytes of [1, 100, 1460, 20_000]) {
      const server = createTestServer();
      const { socket } = client(server);
      const head = half(30_000);
      let most = 0;
      for (let at = 0; at < head.length; at += pieceBytes) {
        socket.receive(head.slice(at, at + pieceBytes));
        const target = Math.min(head.length, at + pieceBytes) - 4;
        const held = server.server.inFlight.usedBytes;
        if (held > 0) most = Math.max(most, (held + FREE_BYTES) / target);
      }
      assert(
        most >= 1 && most <= 1.25,
        `${most} of the bytes received, in pieces of ${pieceBytes}`,
      );
    }
  });

  it('is counted with its fields, and while its content is under way', () => {
    const server = createTestServer();
    const { inFlight } = server.server;
    const { socket, statuses } = client(server);
    socket.receive(
      `POST /grid/rest/maps/m/${LONG} HTTP/1.1\r\nHost: x\r\nContent-Type: ${LONG}\r\n` +
        'Content-Length: 10\r\n\r\n01234',
    );
    const held = `/grid/rest/maps/m/${LONG}${LONG}x10`.length - FREE_BYTES;
    assert.equal(inFlight.heldBytes, held);
    assert.equal(inFlight.usedBytes, held + 10);
    socket.receive('56789');
    assert.deepEqual(statuses(), [200]);
    assert.equal(inFlight.usedBytes, 0);
  });

  it('is refused with 503 if half of the budget is used up, and its connection ends', () => {
    const server = small();
    const holders = [client(server), client(server)];
    for (const { socket } of holders) socket.receive(half(29_096));
    assert.equal(server.server.inFlight.heldBytes, 50_000);
    const { socket, responses } = client(server);
    socket.receive(LIVE);
    socket.receive(half(FREE_BYTES + 1));
    const [, refused] = responses();
    assert.equal(refused?.status, 503);
    assert.equal(refused?.fields.get('connection'), 'close');
    assert.match(refused?.body ?? '', /^{"status":"fail","message":".* half of .* 100000 bytes"}$/);
    assert(socket.writableEnded);
    const withoutContent = client(server);
    withoutContent.socket.receive(half(FREE_BYTES + 1).replace('GET', 'HEAD'));
    assert.match(withoutContent.socket.text, /^HTTP\/1.1 503 .*\r\n\r\n$/s);
    assert.equal(server.server.inFlight.heldBytes, 50_000);
    const short = client(server);
    short.socket.receive(half(FREE_BYTES));
    assert.deepEqual(
      [short, ...holders].map(({ statuses }) => statuses()),
      [[], [], []],
    );
  });

  it('is also refused if its content is under way, or the whole budget is used up', () => {
    const server = small();
    const body = client(server);
    body.socket.receive(`${postHead('maps/m/k', 90_000)}x`);
    const { socket, statuses } = client(server);
    socket.receive(`${half(10_000)} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nx`);
    assert.deepEqual(statuses(), [404]);
    assert(!socket.writableEnded);
    const another = client(server);
    another.socket.receive(
      `POST /grid/rest/maps/m/${LONG} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nx`,
    );
    assert.deepEqual(another.statuses(), [503]);
    assert(another.socket.writableEnded);
    assert.deepEqual(body.statuses(), []);
  });

  it('leaves nothing in memory once it is complete, whether or not its connection ends', async () => {
    const server = createTestServer();
    client(server).socket.receive(`${half(30_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const before = await initialBufferBytes();
    const idle = Array.from({ length: 200 }, () => client(server));
    for (const { socket } of idle) socket.receive(half(30_000));
    assert(bufferBytes() - before > 200 * 30_000);
    for (const { socket } of idle) socket.receive(' HTTP/1.1\r\nHost: x\r\n\r\n');
    const left = bufferBytes() - before;
    assert(left < 200 * FREE_BYTES, `${left} bytes of 200 idle connections`);
    for (const { socket } of idle) socket.receive(half(30_000));
    for (const { socket } of idle.splice(0)) socket.destroy();
    const leftAfter = bufferBytes() - before;
    assert(leftAfter < 200 * FREE_BYTES, `${leftAfter} bytes of 200 requests that ended`);
  });
});

describe('a head that makes room', () => {
  /**
   * Returns clients with a content, a head and a later head in progress, of this many bytes each.
   */
  function crowd(contentBytes: number, headBytes: number) {
    const server = small();
    const content = client(server);
    const head = client(server);
    const young = client(server);
    content.socket.receive(`${postHead('maps/m/k', 50_000)}${'x'.repeat(contentBytes)}`);
    head.socket.receive(half(headBytes));
    server.clock.advance(PATIENCE_MS - 1);
    young.socket.receive(half(FREE_BYTES + 100));
    const refuse = (sent: string): void => {
      client(server).socket.receive(sent);
      server.clock.advance(10);
    };
    const statuses = () => [content, head, young].map((each) => each.statuses());
    return { server, content, head, refuse, statuses };
  }

  it('is the one that moved least among contents and heads in progress for five seconds: 408', () => {
    for (const [contentBytes, ended] of [
      [20_000, [[], [408], []]],
      [5000, [[408], [], []]],
    ] as const) {
      const { server, refuse, statuses } = crowd(contentBytes, 10_000);
      refuse(`${postHead('maps/m/l', 90_000)}x`);
      assert.deepEqual(statuses(), [[], [], []]);
      refuse(`${postHead('maps/m/l', 90_000)}x`);
      assert.deepEqual(statuses(), ended);
      assert(server.server.inFlight.usedBytes < 60_000);
    }
  });

  it('is a head if only half of the budget is used up', () => {
    const { refuse, statuses, server } = crowd(0, 30_000);
    client(server).socket.receive(half(20_000));
    server.clock.advance(10);
    refuse(half(30_000));
    assert.deepEqual(statuses(), [[], [408], []]);
  });

  it('is never one that makes progress: its later bytes count, and those of its content', () => {
    const server = createTestServer({ bodyBytesMax: 200_000, inFlightBytesMax: 250_000 });
    const still = client(server);
    const moving = client(server);
    const head = `POST /grid/rest/maps/m/${LONG} HTTP/1.1\r\nHost: x\r\n`;
    still.socket.receive(head);
    moving.socket.receive(`${head}Content-Length: 100000\r\n\r\n`);
    server.clock.advance(PATIENCE_MS + 250);
    moving.socket.receive('x'.repeat(65_536));
    for (let count = 0; count < 2; count++) {
      client(server).socket.receive(`${postHead('maps/m/l', 200_000)}x`);
      server.clock.advance(10);
    }
    assert.deepEqual([still.statuses(), moving.statuses()], [[408], []]);
  });

  it('is counted from its beginning if the connection has sent another one since', () => {
    const server = small();
    const { socket, statuses } = client(server);
    socket.receive(half(30_000));
    server.clock.advance(PATIENCE_MS);
    socket.receive(` HTTP/1.1\r\nHost: x\r\n\r\n${half(30_000)}`);
    client(server).socket.receive(`${postHead('maps/m/l', 90_000)}x`);
    assert.deepEqual(statuses(), [404]);
    server.clock.advance(PATIENCE_MS);
    client(server).socket.receive(`${postHead('maps/m/l', 90_000)}x`);
    assert.deepEqual(statuses(), [404, 408]);
  });
});

describe('a waiting poll', () => {
  it('retains its path, but neither its query nor its fields', async () => {
    const server = createTestServer();
    const { inFlight } = server.server;
    client(server).socket.receive(poll('q'));
    const before = await initialBufferBytes();
    const pollers = Array.from({ length: 100 }, () => client(server));
    for (const { socket } of pollers) {
      socket.receive(pollWithLogin('q').replace('/30', `/30?${LONG}`));
    }
    assert.equal(inFlight.usedBytes, 0);
    const kept = bufferBytes() - before;
    assert(kept < 100 * FREE_BYTES, `${kept} bytes of 100 polls`);
    client(server).socket.receive(post('queues/q', 'item').repeat(2));
    server.clock.settle();
    assert.equal(pollers[0]?.responses()[0]?.body, 'item');
  });

  it('reserves the bytes of its path beyond 4 KiB, until it is answered', () => {
    const server = createTestServer();
    const { inFlight } = server.server;
    const answered = client(server);
    const gone = client(server);
    answered.socket.receive(pollWithLogin(LONG));
    assert.equal(inFlight.heldBytes, pathOf(LONG).length - FREE_BYTES);
    gone.socket.receive(pollWithLogin(LONG));
    assert.equal(inFlight.usedBytes, 2 * (pathOf(LONG).length - FREE_BYTES));
    gone.socket.destroy();
    client(server).socket.receive(post(`queues/${LONG}`, 'item'));
    server.clock.settle();
    assert.equal(answered.responses()[0]?.body, 'item');
    assert.equal(inFlight.usedBytes, 0);
  });

  it('is refused with 503 if half of the budget is used up, unless there is an item', () => {
    const server = small();
    const waiting = [client(server), client(server), client(server)];
    for (const { socket } of waiting) socket.receive(poll(LONG));
    const { socket, statuses, responses } = client(server);
    socket.receive(`${poll(`y${LONG}`)}${LIVE}${poll('y', 0)}`);
    assert.deepEqual(statuses(), [503, 200, 204]);
    assert.match(responses()[0]?.body ?? '', /wait for an item .* half of in-flight-bytes-max/);
    assert.equal(responses()[0]?.fields.get('retry-after'), '5');
    socket.receive(post(`queues/z${LONG}`, 'item') + poll(`z${LONG}`));
    assert.equal(responses().at(-1)?.body, 'item');
    const other = client(server);
    other.socket.receive(post(`queues/y${LONG}`, 'item') + get(`queues/y${LONG}/size`));
    server.clock.settle();
    assert.equal(other.responses()[1]?.body, '1', 'the refused poll took the item');
    assert.deepEqual(
      waiting.map((each) => each.statuses()),
      [[], [], []],
    );
  });

  it('retains no credentials if it begins to wait after a login', async () => {
    const held = guardedServer();
    const { socket } = client(held.server);
    socket.receive(held.call + pollWithLogin(LONG) + pollWithLogin('behind'));
    const { inFlight } = held.server.server;
    assert.equal(inFlight.usedBytes, 0);
    assert(inFlight.unreadBytes > 0, 'no input waits for the login');
    await held.letIn();
    const behind = pollWithLogin('behind').length;
    const least = pathOf(LONG).length + behind - FREE_BYTES;
    assert(inFlight.heldBytes >= least && inFlight.heldBytes <= least + behind / 4);
    assert(!socket.isDestroyed);
  });
});

describe('requests after a waiting poll', () => {
  it('reserve the bytes beyond 4 KiB, until they run', () => {
    const server = createTestServer();
    const { inFlight } = server.server;
    const { socket, statuses } = client(server);
    socket.receive(poll('q') + LIVE.repeat(1000));
    assert.equal(inFlight.heldBytes, pathOf('q').length + LIVE.length * 1000 - FREE_BYTES);
    client(server).socket.receive(post('queues/q', 'item'));
    for (let turn = 0; turn < 50; turn++) server.clock.settle();
    assert.equal(statuses().length, 1001);
    assert.equal(inFlight.usedBytes, 0);
  });

  it('end the connection if half of the budget is used up; the poll takes no item', () => {
    const server = small();
    const first = client(server);
    first.socket.receive(poll('q') + 'x'.repeat(50_000));
    const { socket } = client(server);
    socket.receive(poll('p'));
    socket.receive('x'.repeat(FREE_BYTES));
    assert(!socket.isDestroyed);
    socket.receive('x'.repeat(5000));
    assert(socket.isDestroyed);
    assert(!first.socket.isDestroyed);
    const other = client(server);
    other.socket.receive(post('queues/p', 'item') + get('queues/p/size'));
    server.clock.settle();
    assert.equal(other.responses()[1]?.body, '1');
  });

  it('are in one buffer, however small the received pieces are', () => {
    const server = createTestServer();
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const waiting = Array.from({ length: 5 }, () => client(server));
    for (const { socket } of waiting) {
      socket.receive(poll('q'));
      for (let at = 0; at < 20_000; at++) socket.receive('x');
    }
    collectGarbage();
    const grown = process.memoryUsage().heapUsed - before;
    assert(grown < 1_500_000, `${grown} bytes of objects, for 100,000 bytes`);
    assert(server.server.inFlight.heldBytes <= 5 * (25_000 - FREE_BYTES));
  });
});

describe('requests that wait for others', () => {
  it('are counted separately, so that contents still have room and are not refused', async () => {
    const guarded = guardedServer();
    const { inFlight } = guarded.server.server;
    const { socket, statuses } = client(guarded.server);
    inFlight.unreadBytes += inFlight.bytesMax;
    socket.receive(guarded.call + LIVE.repeat(1000));
    const held = 1000 * LIVE.length - FREE_BYTES;
    assert.deepEqual([inFlight.usedBytes, inFlight.unreadBytes], [0, inFlight.bytesMax + held]);
    assert(socket.isPaused);
    inFlight.unreadBytes -= inFlight.bytesMax;
    await guarded.letIn();
    for (let turn = 0; turn < 50; turn++) guarded.server.clock.settle();
    assert.equal(statuses().length, 1001);
    assert.equal(inFlight.unreadBytes, 0);
  });

  it('end a slow reader if there are too many', () => {
    const server = small();
    client(server).socket.receive(post('maps/m/k', 'v'.repeat(60_000)));
    const readers = Array.from({ length: 3 }, () => client(server));
    const read = ({ socket }: ReturnType<typeof client>): void => {
      socket.isStuck = true;
      socket.receive(get('maps/m/k').repeat(500));
    };
    for (const reader of readers.slice(0, 2)) read(reader);
    assert.equal(server.server.inFlight.unreadBytes > 25_000, true);
    server.clock.advance(PATIENCE_MS);
    read(readers[2]!);
    assert.deepEqual(
      readers.map(({ socket }) => socket.isDestroyed),
      [true, false, false],
    );
  });

  it('do not let others run first if there is no room to store them', () => {
    for (const isFull of [false, true]) {
      const { socket, bodies, server, clock } = heldServer();
      const { inFlight } = server;
      if (isFull) inFlight.unreadBytes += inFlight.bytesMax / 2;
      const each = request('/now/x');
      socket.receive(each.repeat(500));
      const unread = (500 - bodies().length) * each.length;
      if (isFull) assert(unread > 0 && unread <= FREE_BYTES, `${unread} bytes unread`);
      else assert.equal(bodies().length, 64);
      clock.settle();
    }
  });
});

describe('requests under way together', () => {
  it('have intact heads if one of them is received in parts and begins later', () => {
    const { application, clock, server, socket, bodies } = heldServer();
    const alone = request(`/alone/${LONG}`);
    socket.receive(request('/late/a') + alone.slice(0, 15_000));
    assert.equal(server.inFlight.heldBytes, 15_000 - 'GET '.length - FREE_BYTES);
    socket.receive(alone.slice(15_000));
    assert.equal(server.inFlight.unreadBytes, `/alone/${LONG}`.length - FREE_BYTES);
    assert.equal(server.inFlight.heldBytes, 0);
    application.answer('a');
    clock.settle();
    application.answer(LONG);
    clock.settle();
    assert.deepEqual(bodies(), ['a', LONG]);
    assert.equal(server.inFlight.unreadBytes, 0);
  });

  it('are few if their heads are long; later ones wait and are counted', () => {
    const { application, clock, server, socket, bodies } = heldServer();
    const names = Array.from({ length: 30 }, (_, index) => `${index}${'n'.repeat(2000)}`);
    socket.receive(names.map((name) => request(`/late/${name}`)).join(''));
    assert.equal(application.begun.length, 9);
    assert(server.inFlight.unreadBytes > 40_000 && server.inFlight.heldBytes === 0);
    for (const name of names) {
      application.answer(name);
      clock.settle();
      assert(application.underWay.size <= 9);
    }
    assert.deepEqual(bodies(), names);
    assert.equal(server.inFlight.unreadBytes, 0);
  });
});

describe('the budget', () => {
  it('is unused after random clients with little room have disconnected', async () => {
    const seed = Number(process.env.FUZZ_SEED ?? 1);
    const random = new Random(seed);
    for (let round = 0; round < 4; round++) {
      const server = createTestServer({ bodyBytesMax: 20_000, inFlightBytesMax: 60_000 });
      const { inFlight, requests } = server.server;
      const clients = Array.from({ length: 8 }, () => client(server));
      for (let step = 0; step < 200; step++) {
        const at = random.below(clients.length);
        const { socket } = clients[at]!;
        const dice = random.below(40);
        if (dice === 0) socket.receiveEnd();
        else if (dice === 1) socket.destroy();
        else if (dice === 2) socket.isStuck = !socket.isStuck;
        else if (dice === 3) socket.unstick();
        else if (dice === 4) server.clock.advance(random.below(3000));
        else socket.receive(randomBytes(random));
        server.clock.settle();
        if (socket.isDestroyed || socket.writableEnded) {
          socket.destroy();
          socket.unstick();
          clients[at] = client(server);
        }
        assert(inFlight.heldBytes <= 30_000, `seed ${seed}, round ${round}, step ${step}`);
      }
      for (const { socket } of clients) {
        socket.destroy();
        socket.unstick();
      }
      server.clock.settle();
      await nextTurn();
      assert.deepEqual(
        [inFlight.usedBytes, inFlight.heldBytes, inFlight.unreadBytes, requests.usedCount],
        [0, 0, 0, 0],
        `seed ${seed}, round ${round}`,
      );
      assert.deepEqual(server.failures, []);
    }
  });
});

/** Returns a part of a request, or some requests; the next part may not continue it. */
function randomBytes(random: Random): string {
  const long = 'x'.repeat(random.below(16_000));
  const requests = [
    LIVE,
    get(`maps/m/${long}`),
    post('maps/m/k', long),
    poll(`q${random.below(3)}`),
    poll(long, 5),
    pollWithLogin('q0'),
    post(`queues/q${random.below(3)}`, long),
    LIVE.repeat(random.below(500)),
    postHead('maps/m/k', random.below(20_000), `Content-Type: ${long}\r\n`),
    `${postHead('maps/m/k', random.below(30_000), 'Expect: 100-continue\r\n')}x`,
    long,
  ];
  const all = requests[random.below(requests.length)]! + requests[random.below(requests.length)]!;
  const start = random.below(4) === 0 ? random.below(all.length) : 0;
  return random.below(2) === 0 ? all.slice(start) : all.slice(start, random.below(all.length));
}
