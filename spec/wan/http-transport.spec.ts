/** Messages over HTTP, to servers that behave correctly and servers that do not. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  createServer as createPlainServer,
  type Server,
  type Socket,
} from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HttpTransport } from '../../src/wan/http-transport.ts';
import type { WanEndpoint } from '../../src/wan/wan-config.ts';
import { RESPONSE_BYTES_MAX } from '../../src/wan/wan-transport.ts';
import { processClock } from '../process-clock.ts';

const OPTIONS = {
  segment: 'own',
  username: undefined,
  password: undefined,
  tls: {},
  connectTls: undefined,
};
const LONG_MS = 60_000;
const MESSAGE = Buffer.from('message');

const ends: (() => void)[] = [];

function transportOf(options: object = {}): HttpTransport {
  const transport = new HttpTransport({ ...OPTIONS, ...options });
  ends.push(() => transport.close());
  return transport;
}

async function listening(server: Server): Promise<WanEndpoint> {
  ends.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { host: '127.0.0.1', port, segment: undefined, tls: false };
}

/** Returns a server that counts its connections. */
async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const counts = { connections: 0 };
  const server = createServer(handle);
  server.on('connection', () => void counts.connections++);
  return { counts, endpoint: await listening(server) };
}

/** Returns a server that passes each connection, whose errors are ignored. */
function serveBytes(onSocket: (socket: Socket) => void): Promise<WanEndpoint> {
  const server = createPlainServer((socket) => {
    socket.on('error', () => {});
    onSocket(socket);
  });
  return listening(server);
}

describe('HttpTransport', () => {
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  it('posts the message to the path, with the credentials, on a persistent connection', async () => {
    const seen: unknown[] = [];
    const { counts, endpoint } = await serve((request, response) => {
      const { method, url, headers } = request;
      assert.equal(headers.host, `127.0.0.1:${endpoint.port}`);
      request.on('data', (chunk) => {
        seen.push([method, url, headers.authorization, headers['content-type'], String(chunk)]);
        response.end('answer');
      });
    });
    const transport = transportOf({ username: 'u', password: 'ä' });
    for (const segment of [undefined, 'their']) {
      const answer = await transport.send({ ...endpoint, segment }, MESSAGE, LONG_MS);
      assert.deepEqual([answer.status, String(answer.body)], [200, 'answer']);
    }
    const login = `Basic ${Buffer.from('u:ä').toString('base64')}`;
    const rest = [login, 'application/octet-stream', 'message'];
    assert.deepEqual(seen, [
      ['POST', '/own/rest/wan/receive', ...rest],
      ['POST', '/their/rest/wan/receive', ...rest],
    ]);
    assert.equal(counts.connections, 1);
  });

  it('destroys a connection that receives unrequested bytes', async () => {
    const unasked = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil';
    const sockets: Socket[] = [];
    const endpoint = await serveBytes((socket) => {
      sockets.push(socket);
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood'));
    });
    const transport = transportOf();
    assert.equal(String((await transport.send(endpoint, MESSAGE, LONG_MS)).body), 'good');
    const [first] = sockets as [Socket];
    first.write(unasked);
    await once(first, 'close');
    assert.equal(String((await transport.send(endpoint, MESSAGE, LONG_MS)).body), 'good');
    assert.equal(sockets.length, 2);
  });

  it('rejects if it is unknown whether the message arrived', async () => {
    const silent = await serveBytes(() => {});
    const transport = transportOf();
    await assert.rejects(transport.send(silent, MESSAGE, 20), /^Error: timed out after 20 ms$/);
    const closing = await serveBytes((socket) => socket.destroy());
    await assert.rejects(transport.send(closing, MESSAGE, LONG_MS));
    const cut = await serveBytes((socket) => {
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf');
    });
    await assert.rejects(transport.send(cut, MESSAGE, LONG_MS));
    const pending = transport.send(silent, MESSAGE, LONG_MS);
    transport.close();
    await assert.rejects(pending);
    await assert.rejects(transport.send(silent, MESSAGE, LONG_MS), /closed/);
  });

  it('rejects if no connection can be opened', async () => {
    const connectTls = () => {
      throw new Error('no certificate');
    };
    const transport = transportOf({ connectTls });
    const endpoint = { host: '127.0.0.1', port: 1, segment: undefined, tls: true };
    await assert.rejects(transport.send(endpoint, MESSAGE, LONG_MS), /no certificate/);
    assert.equal(transport.connectionCount, 0);
  });

  it('applies the timeout to each message of a connection separately', async (t) => {
    const clock = processClock(t);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const advance = (ms: number) => {
      clock.nowMs += ms;
      t.mock.timers.tick(ms);
    };
    const requests = new EventEmitter();
    const { counts, endpoint } = await serve((request, response) => {
      request.resume().on('end', () => requests.emit('received', response));
    });
    const transport = transportOf();
    for (const [timeoutMs, durationMs] of [
      [500, 499],
      [LONG_MS, LONG_MS - 1],
      [500, 499],
    ] as const) {
      const received = once(requests, 'received');
      const sent = transport.send(endpoint, MESSAGE, timeoutMs);
      const [response] = await received;
      advance(durationMs);
      response.end('answer');
      assert.equal((await sent).status, 200);
    }
    const received = once(requests, 'received');
    const late = assert.rejects(
      transport.send(endpoint, MESSAGE, 20),
      /^Error: timed out after 20 ms$/,
    );
    await received;
    advance(20);
    await late;
    assert.equal(counts.connections, 1);
  });

  it('accepts responses in each form of HTTP', async () => {
    const forms = {
      'in pieces':
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nans\r\n3\r\nwer\r\n0\r\n\r\n',
      'up to the end': 'HTTP/1.0 200 OK\r\n\r\nanswer',
      'the last one': 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\nanswer',
      'after others':
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n' +
        'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer',
      empty: 'HTTP/1.1 204 No Content\r\n\r\n',
    };
    for (const [form, bytes] of Object.entries(forms)) {
      for (const isInBytes of [false, true]) {
        let connections = 0;
        const endpoint = await serveBytes((socket) => {
          connections++;
          socket.setNoDelay();
          socket.once('data', () => {
            if (isInBytes) for (const byte of bytes) socket.write(byte);
            else socket.write(bytes);
            if (form === 'up to the end' || form === 'the last one') socket.end();
          });
        });
        const { status, body } = await transportOf().send(endpoint, MESSAGE, LONG_MS);
        const expected = form === 'empty' ? [204, ''] : [200, 'answer'];
        assert.deepEqual([status, String(body)], expected, form);
        assert.equal(connections, 1);
      }
    }
  });

  it('opens a new connection after a last or premature response', async () => {
    const early = 'HTTP/1.1 413 Too Long\r\nContent-Length: 0\r\n\r\n';
    const counts = { connections: 0 };
    const endpoint = await serveBytes((socket) => {
      counts.connections++;
      // The message is not read.
      socket.pause();
      socket.write(early);
    });
    const transport = transportOf();
    const long = Buffer.alloc(33_554_432);
    for (const connections of [1, 2]) {
      const { status } = await transport.send(endpoint, long, LONG_MS);
      assert.deepEqual([status, counts.connections], [413, connections]);
    }
  });

  it('rejects invalid responses', async () => {
    const length = 'Content-Length: 1\r\n';
    const wrong: [string, RegExp][] = [
      ['GARBAGE\r\n\r\n', /not HTTP/],
      [`HTTP/1.1 200 OK\r\n${length}${length}\r\nx`, /not HTTP/],
      [`HTTP/1.1 200 OK\r\n${length}\r\nxmore`, /4 bytes follow/],
      [
        `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`,
        /head of the response is longer than 65536 bytes/,
      ],
      ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', /not HTTP/],
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nans\r\n', /closed/],
    ];
    for (const [bytes, message] of wrong) {
      const endpoint = await serveBytes((socket) => {
        socket.once('data', () => socket.end(bytes));
      });
      await assert.rejects(transportOf().send(endpoint, MESSAGE, LONG_MS), message);
    }
  });

  it('uses no earlier connection for a message after a reload of the TLS files', async () => {
    let isHeld = false;
    const held: ServerResponse[] = [];
    const { counts, endpoint } = await serve((request, response) => {
      request.resume();
      request.on('end', () => (isHeld ? held.push(response) : response.end('answer')));
    });
    const transport = transportOf();
    await transport.send(endpoint, MESSAGE, LONG_MS);
    isHeld = true;
    const underWay = transport.send(endpoint, MESSAGE, LONG_MS);
    transport.renewTls({});
    while (held.length === 0) await nextTurn();
    isHeld = false;
    held[0]?.end('answer');
    assert.equal(String((await underWay).body), 'answer');
    await transport.send(endpoint, MESSAGE, LONG_MS);
    assert.deepEqual([counts.connections, transport.connectionCount], [2, 1]);
  });

  it('accepts a response of 64 KiB, and rejects a longer one', async () => {
    let bytes = RESPONSE_BYTES_MAX;
    const { endpoint } = await serve((_, response) => response.end(Buffer.alloc(bytes++)));
    const { body } = await transportOf().send(endpoint, MESSAGE, LONG_MS);
    assert.equal(body.length, RESPONSE_BYTES_MAX);
    await assert.rejects(transportOf().send(endpoint, MESSAGE, LONG_MS), /longer than 65536 bytes/);
  });

  it('accepts a long head of a response', async () => {
    const head = `HTTP/1.1 204 No Content\r\nX: ${'x'.repeat(60_000)}\r\n\r\n`;
    const endpoint = await serveBytes((socket) => {
      socket.once('data', () => socket.write(head));
    });
    assert.equal((await transportOf().send(endpoint, MESSAGE, LONG_MS)).status, 204);
  });
});
