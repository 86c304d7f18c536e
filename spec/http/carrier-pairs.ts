/** The two sides of a connection, for each implementation of the carrier. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { Carrier } from '../../src/http/carrier.ts';
import { Deadlines } from '../../src/http/deadlines.ts';
import { HandleCarrier } from '../../src/http/handle-carrier.ts';
import { INPUT_BYTES_MAX } from '../../src/http/llhttp.ts';
import { SocketCarrier } from '../../src/http/socket-carrier.ts';
import { type TcpHandle, TcpHandles, tcpHandles } from '../../src/http/tcp-handles.ts';
import { Handshakes } from '../../src/http/tls.ts';
import { FakeClock } from '../fake-clock.ts';
import { identity } from '../tls/identity.ts';
import { FakeCarrier } from './fake-carrier.ts';
import { socketPair } from './socket-pair.ts';

/** The client's side. It reads nothing until it is told to. */
export interface Client {
  send(bytes: Buffer | string): void;
  end(): void;
  reset(): void;
  read(): void;
  /** The bytes received so far. */
  readonly received: Buffer;
  /** Whether the server has ended its side. */
  readonly isEnded: boolean;
  readonly isClosed: boolean;
}

export interface Pair {
  readonly carrier: Carrier;
  readonly client: Client;
}

/** A clock whose turns are those of the event loop. */
const CLOCK = new FakeClock();
CLOCK.endOfTurn = (run) => setImmediate(run);
/** The read buffer of all socket carriers. */
export const READ_BUFFER = Buffer.alloc(INPUT_BYTES_MAX);
const HOST = { clock: CLOCK, readBuffer: READ_BUFFER };

/** The handle of a connection, without a socket. */
export async function handlePair(): Promise<Pair> {
  const handles = await tcpHandles();
  assert(handles instanceof TcpHandles, 'handles are available');
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = new Promise<TcpHandle>((resolve) => handles.accept(server, resolve));
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const carrier = new HandleCarrier(await accepted, handles, HOST);
  if (client.connecting) await once(client, 'connect');
  server.close();
  return { carrier, client: socketClient(client, client) };
}

/** A plain socket, written to its handle. */
export async function plainPair(): Promise<Pair> {
  const [client, accepted] = await socketPair();
  return { carrier: new SocketCarrier(accepted, HOST), client: socketClient(client, client) };
}

/** A socket whose handle cannot be used, as in other runtimes. */
export async function streamPair(): Promise<Pair & { readonly accepted: Socket }> {
  const [client, accepted] = await socketPair();
  const { _handle: handle } = accepted as unknown as { _handle: object };
  Object.defineProperties(handle, {
    useUserBuffer: { value: undefined },
    writeQueueSize: { value: undefined },
  });
  const carrier = new SocketCarrier(accepted, HOST);
  return { carrier, client: socketClient(client, client), accepted };
}

export async function tlsPair(): Promise<Pair> {
  const [raw, accepted] = await socketPair();
  return await new Promise((resolve, reject) => {
    let carrier: Carrier | undefined;
    const deadlines = new Deadlines(CLOCK);
    const handshakes = new Handshakes(
      identity('server'),
      deadlines,
      (secure) => {
        carrier = new SocketCarrier(secure, HOST);
      },
      () => {},
    );
    handshakes.begin(accepted, 1000);
    const secure = connectTls({ socket: raw, rejectUnauthorized: false });
    secure.allowHalfOpen = true;
    secure.once('error', reject);
    secure.once('secureConnect', async () => {
      while (carrier === undefined) await nextTurn();
      resolve({ carrier, client: socketClient(secure, raw) });
    });
  });
}

export async function fakePair(): Promise<Pair> {
  const carrier = new FakeCarrier();
  carrier.isStuck = true;
  let hasReset = false;
  const client = {
    send: (bytes: Buffer | string) => carrier.receive(bytes),
    end: () => carrier.receiveEnd(),
    reset() {
      hasReset = true;
      carrier.reset();
    },
    read: () => carrier.unstick(),
    get received() {
      return Buffer.concat(carrier.sent);
    },
    get isEnded() {
      return (carrier.writableEnded && carrier.untakenBytes === 0) || carrier.isDestroyed;
    },
    get isClosed() {
      return hasReset || carrier.isDestroyed;
    },
  };
  return { carrier, client };
}

/** `raw`: the socket below TLS, or the same. */
function socketClient(socket: Socket, raw: Socket): Client {
  const chunks: Buffer[] = [];
  let isEnded = false;
  socket.pause();
  socket.on('error', () => {});
  if (raw !== socket) raw.on('error', () => {});
  for (const event of ['end', 'close']) {
    socket.on(event, () => {
      isEnded = true;
    });
  }
  return {
    send: (bytes) => void socket.write(bytes),
    end: () => void socket.end(),
    reset: () => void raw.resetAndDestroy(),
    read() {
      socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
    },
    get received() {
      return Buffer.concat(chunks);
    },
    get isEnded() {
      return isEnded;
    },
    get isClosed() {
      return socket.destroyed;
    },
  };
}
