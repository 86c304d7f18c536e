/**
 * In-memory connections between the engine and servers. The bytes of a direction arrive in order,
 * in a later turn. A server that does not listen refuses connections; one that is cut off neither
 * receives nor sends anything, as if all packets were lost.
 */
import { addressText, type ServerAddress } from '../../src/base/server-address.ts';
import type { ConnectionOptions } from '../../src/engine/redis/redis-connection.ts';
import type { Channel, World } from './world.ts';

type ConnectTcp = NonNullable<ConnectionOptions['connectTcp']>;
type TcpSocket = ReturnType<ConnectTcp>;

/** What happens at one end of a connection. */
export interface EndObserver {
  onBytes(bytes: Buffer): void;
  /** Called once: the other end has closed the connection, or reset it. */
  onEnd(isReset: boolean): void;
}

/** The server's end of a connection. */
export type ServerEnd = Pick<End, 'clientAddress' | 'isClosed' | 'write' | 'close'>;

/** Receives the server's end of a new connection and returns its observer. */
type Accept = (end: ServerEnd) => EndObserver;

interface Arrival {
  readonly bytes?: Buffer;
  readonly isReset?: boolean;
  /** Whether the connection is established, or refused. */
  readonly isConnected?: boolean;
}

const FIRST_PORT = 40_000;
const NO_OBSERVER: EndObserver = { onBytes() {}, onEnd() {} };

export class Network {
  readonly #world: World;
  readonly #servers = new Map<string, Accept>();
  readonly #cut = new Set<string>();
  readonly #ends = new Set<End>();
  #port = FIRST_PORT;

  constructor(world: World) {
    this.#world = world;
  }

  /** Returns a free port. */
  newPort(): number {
    return ++this.#port;
  }

  listen(address: ServerAddress, accept: Accept): void {
    this.#servers.set(addressText(address), accept);
  }

  /** Refuses connections to the server from now on. */
  unlisten(address: ServerAddress): void {
    this.#servers.delete(addressText(address));
  }

  /** Cuts a server off from all clients, or connects it again. Pending bytes then arrive. */
  cut(address: ServerAddress, isCut: boolean): void {
    const text = addressText(address);
    if (isCut) this.#cut.add(text);
    else this.#cut.delete(text);
    for (const end of this.#ends) if (end.server === text) this.#world.add(end);
  }

  isCut(server: string): boolean {
    return this.#cut.has(server);
  }

  /** Opens a connection for the engine. */
  readonly connect: ConnectTcp = ({ onread: { buffer, callback }, ...address }) => {
    const server = addressText(address);
    const [client, other] = this.#pair(server);
    const socket = new EngineSocket(client, (bytes) => {
      for (let at = 0; at < bytes.length; at += buffer.length) {
        callback(bytes.copy(buffer, 0, at), buffer);
      }
    });
    client.observer = socket;
    client.onConnected = (isRefused) => socket.onConnected(isRefused, server);
    other.arrive({ isConnected: true });
    return socket;
  };

  #pair(server: string): [End, End] {
    const clientAddress = { host: '127.0.0.1', port: this.newPort() };
    const client = new End(this.#world, server, clientAddress);
    const other = new End(this.#world, server, clientAddress);
    client.peer = other;
    other.peer = client;
    other.onConnected = () => {
      const accept = this.#servers.get(server);
      client.arrive({ isConnected: accept !== undefined });
      if (accept !== undefined) other.observer = accept(other);
    };
    for (const end of [client, other]) {
      this.#ends.add(end);
      end.onClosed = () => this.#ends.delete(end);
    }
    return [client, other];
  }
}

/** One end of a connection; a channel for what arrives there. */
export class End implements Channel {
  readonly server: string;
  readonly clientAddress: ServerAddress;
  observer = NO_OBSERVER;
  onConnected: (isRefused: boolean) => void = () => {};
  onClosed: () => void = () => {};
  peer!: End;
  isClosed = false;
  readonly #world: World;
  #arrivals: Arrival[] = [];

  constructor(world: World, server: string, clientAddress: ServerAddress) {
    this.#world = world;
    this.server = server;
    this.clientAddress = clientAddress;
  }

  write(bytes: Buffer): void {
    if (!this.isClosed) this.peer.arrive({ bytes: Buffer.from(bytes) });
  }

  /** Closes the connection; what was written still arrives. */
  close(): void {
    this.#end(false);
  }

  /** Closes the connection; what was written and has not arrived is discarded. */
  reset(): void {
    if (!this.isClosed) this.peer.#arrivals = this.peer.#arrivals.filter(isConnecting);
    this.#end(true);
  }

  arrive(arrival: Arrival): void {
    if (this.isClosed) return;
    this.#arrivals.push(arrival);
    this.#world.add(this);
  }

  deliver(): void {
    if (this.#world.network.isCut(this.server)) return;
    for (let left = this.#arrivals.length; left > 0 && !this.isClosed; left--) {
      const arrival = this.#arrivals.shift();
      if (arrival === undefined) return;
      const { bytes, isConnected, isReset = false } = arrival;
      if (isConnected !== undefined) this.onConnected(!isConnected);
      else if (bytes === undefined) {
        this.#closeHere();
        this.observer.onEnd(isReset);
      } else this.observer.onBytes(bytes);
    }
  }

  #end(isReset: boolean): void {
    if (this.isClosed) return;
    this.#closeHere();
    this.peer.arrive({ isReset });
  }

  #closeHere(): void {
    this.isClosed = true;
    this.#arrivals = [];
    this.onClosed();
  }
}

function isConnecting({ isConnected }: Arrival): boolean {
  return isConnected !== undefined;
}

/** The socket that the engine uses. */
class EngineSocket implements TcpSocket, EndObserver {
  connecting = true;
  readonly onBytes: (bytes: Buffer) => void;
  readonly #end: End;
  readonly #errors: ((error: Error) => void)[] = [];
  readonly #closes: (() => void)[] = [];

  constructor(end: End, onBytes: (bytes: Buffer) => void) {
    this.#end = end;
    this.onBytes = onBytes;
  }

  setNoDelay(): void {}

  on(event: 'error' | 'close', listener: (error: Error) => void): void {
    if (event === 'error') this.#errors.push(listener);
    else this.#closes.push(listener as () => void);
  }

  write(bytes: Buffer): void {
    this.#end.write(bytes);
  }

  destroy(): void {
    this.#end.close();
  }

  resetAndDestroy(): void {
    this.#end.reset();
  }

  onConnected(isRefused: boolean, server: string): void {
    this.connecting = isRefused;
    if (!isRefused) return;
    this.#end.close();
    this.#fail('ECONNREFUSED', `connect ECONNREFUSED ${server}`);
  }

  onEnd(isReset: boolean): void {
    if (isReset) this.#fail('ECONNRESET', 'read ECONNRESET');
    for (const listener of this.#closes) listener();
  }

  #fail(code: string, message: string): void {
    for (const listener of this.#errors) listener(Object.assign(new Error(message), { code }));
  }
}
