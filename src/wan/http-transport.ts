/**
 * Sends messages over HTTP: POST to the endpoint's `rest/wan/receive`, on persistent connections.
 */

import { connect, isIP, type Socket } from 'node:net';
import type { SecureContextOptions, connect as TlsConnect } from 'node:tls';
import { domainToASCII } from 'node:url';
import { getOrCreate } from '../base/get-or-create.ts';
import { addressText } from '../base/server-address.ts';
import { readBuffer } from '../http/response-parser.ts';
import { type OnRead, TargetConnection } from './target-connection.ts';
import type { WanEndpoint } from './wan-config.ts';
import type { TransportResponse, WanTransport } from './wan-transport.ts';

interface HttpTransportOptions {
  /** First path segment for endpoints that specify none. */
  readonly segment: string;
  /** Credentials: both or neither are set. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** TLS options for endpoints that use TLS. */
  readonly tls: SecureContextOptions;
  /** `connect` of node:tls, set if an endpoint uses TLS: the module takes 10 ms to load. */
  readonly connectTls: typeof TlsConnect | undefined;
}

/** The connections to one address. */
interface Connections {
  /** Connections without a message in flight; the last one was used most recently. */
  idle: TargetConnection[];
  readonly all: Set<TargetConnection>;
}

export class HttpTransport implements WanTransport {
  readonly #options: HttpTransportOptions;
  #tls: SecureContextOptions;
  /** Connections by address. */
  #connections = new Map<string, Connections>();
  /** Connections that get no further message. */
  readonly #ending = new Set<TargetConnection>();
  #isClosed = false;
  readonly #authorization: string;
  /** Request heads by endpoint, without Content-Length. */
  readonly #heads = new WeakMap<WanEndpoint, string>();

  constructor(options: HttpTransportOptions) {
    const { username, password, tls } = options;
    this.#options = options;
    this.#tls = tls;
    const login = Buffer.from(`${username}:${password ?? ''}`).toString('base64');
    this.#authorization = username === undefined ? '' : `Authorization: Basic ${login}\r\n`;
  }

  send(endpoint: WanEndpoint, message: Uint8Array, timeoutMs: number): Promise<TransportResponse> {
    try {
      const connection = this.#connectionTo(endpoint);
      return connection.send(this.#head(endpoint, message.length), message, timeoutMs);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Replaces the TLS files for new connections. Existing connections get no further message. */
  renewTls(tls: SecureContextOptions): void {
    this.#tls = tls;
    for (const { idle, all } of this.#connections.values()) {
      for (const each of all) this.#ending.add(each);
      for (const each of idle) each.destroy(undefined);
    }
    this.#connections = new Map();
  }

  /** Number of open connections, in use or idle. */
  get connectionCount(): number {
    let count = this.#ending.size;
    for (const { all } of this.#connections.values()) count += all.size;
    return count;
  }

  close(): void {
    this.#isClosed = true;
    const closed = new Error('the publisher is closed');
    for (const each of this.#ending) each.destroy(closed);
    for (const { all } of this.#connections.values()) for (const each of all) each.destroy(closed);
  }

  /** Returns an idle connection, or opens one. */
  #connectionTo(endpoint: WanEndpoint): TargetConnection {
    if (this.#isClosed) throw new Error('the publisher is closed');
    const { host, port, tls } = endpoint;
    const connections = getOrCreate(
      this.#connections,
      `${tls} ${host} ${port}`,
      (): Connections => ({
        idle: [],
        all: new Set(),
      }),
    );
    return connections.idle.pop() ?? this.#connect(endpoint, connections);
  }

  #connect(endpoint: WanEndpoint, connections: Connections): TargetConnection {
    const made = new TargetConnection({
      connect: (onRead) => this.#connected(endpoint, onRead),
      onIdle: (connection) => {
        if (this.#ending.has(connection)) connection.destroy(undefined);
        else connections.idle.push(connection);
      },
      onClosed: (connection) => {
        connections.all.delete(connection);
        connections.idle = connections.idle.filter((each) => each !== connection);
        this.#ending.delete(connection);
      },
    });
    connections.all.add(made);
    return made;
  }

  #head(endpoint: WanEndpoint, length: number): string {
    let head = this.#heads.get(endpoint);
    if (head === undefined) {
      const { segment = this.#options.segment, host, port } = endpoint;
      head =
        `POST /${segment}/rest/wan/receive HTTP/1.1\r\nHost: ${addressText({ host: asciiOf(host), port })}\r\n` +
        `Content-Type: application/octet-stream\r\n${this.#authorization}Connection: keep-alive\r\n`;
      this.#heads.set(endpoint, head);
    }
    return `${head}Content-Length: ${length}\r\n\r\n`;
  }

  /** Opens a socket to the endpoint. */
  #connected(endpoint: WanEndpoint, onRead: OnRead): Socket {
    const { host, port } = endpoint;
    if (endpoint.tls) {
      const servername = isIP(host) === 0 ? asciiOf(host) : '';
      const socket = this.#options.connectTls!({ host, port, servername, ...this.#tls });
      socket.setNoDelay();
      return socket.on('data', (chunk: Buffer) => onRead(chunk, chunk.length));
    }
    const buffer = readBuffer();
    const callback = (length: number) => {
      onRead(buffer, length);
      return true;
    };
    return connect({ host, port, noDelay: true, onread: { buffer, callback } }).resume();
  }
}

/** Converts an internationalised host name to the ASCII form used in DNS and requests. */
function asciiOf(host: string): string {
  return isIP(host) === 0 ? domainToASCII(host) || host : host;
}
