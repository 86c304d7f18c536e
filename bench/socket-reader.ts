/**
 * Measures the cost of reading small requests from sockets and writing responses: as a stream, the
 * usual way of a server; reading into one buffer; and also writing through the socket's handle, both
 * in src/http/socket-carrier.ts. The response is fixed and nothing is
 * parsed, so only the reading and writing differ.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { SystemClock } from '../src/base/clock.ts';
import type { Carrier, CarrierUser } from '../src/http/carrier.ts';
import { INPUT_BYTES_MAX } from '../src/http/llhttp.ts';
import { readInto, SocketCarrier } from '../src/http/socket-carrier.ts';
import type { Bench } from './harness.ts';

const CLIENTS = 64;
const REQUEST = Buffer.from('GET /grid/rest/maps/bench/k1234 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
const RESPONSE = Buffer.from(
  'HTTP/1.1 204 No Content\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n',
);

export const bench: Bench = {
  name: 'socket-reader',
  about:
    'requests over 64 sockets, client in this process: stream, one buffer, writes by the handle',
  async run(harness) {
    const roundTrips = harness.pick(20, 2000);
    const stream = await serve((socket) => {
      socket.on('data', () => socket.write(RESPONSE));
      socket.resume();
    });
    const buffer = Buffer.allocUnsafeSlow(INPUT_BYTES_MAX);
    const single = await serve((accepted) => {
      const socket = readInto(buffer, accepted, { onBytes: () => socket.write(RESPONSE) });
    });
    const host = { clock: new SystemClock(), readBuffer: buffer };
    const direct = await serve((accepted) => {
      const carrier = new SocketCarrier(accepted, host);
      carrier.open(responder(carrier));
    });
    await harness.compare('round trips', [
      { name: 'stream', round: () => stream.load(roundTrips) },
      { name: 'one buffer', round: () => single.load(roundTrips) },
      { name: 'and the handle', round: () => direct.load(roundTrips) },
    ]);
    for (const side of [stream, single, direct]) side.close();
  },
};

/** A user that responds to each read. */
function responder(carrier: Carrier): CarrierUser {
  return {
    onBytes: () => carrier.write(RESPONSE),
    onInputEnd: () => carrier.destroy(),
    onTaken() {},
    onEnded() {},
    onFailed() {},
    onClosed() {},
  };
}

/** A server and its clients; `load` returns the round trips per second. */
async function serve(accept: (socket: Socket) => void) {
  const server = createServer({ noDelay: true, pauseOnConnect: true }, accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: CLIENTS }, () => connect({ port, noDelay: true }));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  return {
    async load(roundTrips: number): Promise<number> {
      const started = performance.now();
      await Promise.all(clients.map((client) => roundTrip(client, roundTrips)));
      return (CLIENTS * roundTrips * 1000) / (performance.now() - started);
    },
    close(): void {
      for (const client of clients) client.destroy();
      server.close();
    },
  };
}

function roundTrip(client: Socket, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    const next = (): void => {
      if (left-- > 0) client.write(REQUEST);
      else {
        client.off('data', next);
        resolve();
      }
    };
    client.on('data', next);
    next();
  });
}
