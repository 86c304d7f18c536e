/**
 * A program that makes a connection for each request. Its argument is ConnectorOrder as JSON; it prints
 * ConnectorFigures as JSON. It uses the system handles of its connections, because sockets of Node cost
 * several times as much as the connections of the server that they should load. It assumes that all
 * responses have the length of the first.
 */
import assert from 'node:assert/strict';
import { type TcpHandle, type TcpHandles, tcpHandles } from '../../src/http/tcp-handles.ts';
import { median, percentile } from '../harness.ts';
import { type Exchange, KEY, keyOf } from './request.ts';
import { responseLength } from './response-length.ts';

export interface ConnectorOrder {
  readonly port: number;
  readonly exchange: Exchange;
  readonly keyCount: number;
  /** Number of connections at a time, or of a burst. */
  readonly connections: number;
  readonly seconds: number;
  /** Number of bursts instead of the seconds; each begins when the one before it has ended. */
  readonly bursts?: number | undefined;
  /** Side that ends each connection first. The server does so because of `Connection: close`. */
  readonly ends: 'server' | 'client';
}

export interface ConnectorFigures {
  readonly requests: number;
  readonly failed: number;
  /** Duration of all connections, in microseconds. */
  readonly us: number;
  /** Times from the attempt to connect to the end of the response, or to the server's end. */
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  /** Median time from the begin of a burst to its last response; null without bursts. */
  readonly burstUs: number | null;
}

/** Number of requests that are built before the start and sent repeatedly. */
const REQUESTS_MAX = 10_000;
/** A prime, so that successive requests have distant keys. */
const STRIDE = 7919;
/**
 * Number of own addresses. The side that ends a connection first cannot use its port again for a minute,
 * or with Linux's default on loopback a second, and one address has 28,000 ports.
 */
const ADDRESSES = process.platform === 'linux' ? 254 : 1;
/** Time limit for all connections to make progress, in ms: the kernel repeats lost packets for longer. */
const SILENT_MS = 20_000;

/** A TCP connection to be made. */
interface ClientHandle extends TcpHandle {
  bind(address: string, port: number): number;
  connect(request: ConnectRequest, address: string, port: number): number;
}

interface ConnectRequest {
  oncomplete?: (status: number) => void;
}

/** The part of Node's internal module `tcp_wrap` that is used. */
interface TcpBinding {
  readonly TCP: new (type: number) => ClientHandle;
  readonly TCPConnectWrap: new () => ConnectRequest;
  readonly constants: { readonly SOCKET: number };
}

const internal = process as unknown as { binding(name: string): unknown };
const { TCP, TCPConnectWrap, constants } = internal.binding('tcp_wrap') as TcpBinding;
const input = Buffer.allocUnsafeSlow(65_536);

class Connector {
  readonly #order: ConnectorOrder;
  readonly #handles: TcpHandles;
  readonly #requests: readonly Buffer[];
  readonly #responseBytes: number;
  readonly #latenciesMs: number[] = [];
  #failed = 0;
  #begun = 0;
  #open = 0;
  /** Whether a connection that has ended is followed by another one. */
  #goesOn = false;
  #onAllEnded = (): void => {};

  constructor(
    order: ConnectorOrder,
    handles: TcpHandles,
    requests: readonly Buffer[],
    responseBytes: number,
  ) {
    this.#order = order;
    this.#handles = handles;
    this.#requests = requests;
    this.#responseBytes = responseBytes;
  }

  async run(): Promise<ConnectorFigures> {
    const { seconds, bursts } = this.#order;
    const start = performance.now();
    const burstsMs: number[] = [];
    for (let done = 0; done < (bursts ?? 0); done++) burstsMs.push(await this.#burst());
    if (bursts === undefined) {
      this.#goesOn = true;
      setTimeout(() => {
        this.#goesOn = false;
      }, seconds * 1000);
      await this.#burst();
    }
    const us = (performance.now() - start) * 1000;
    const sorted = Float64Array.from(this.#latenciesMs).sort();
    const at = (share: number) => percentile(sorted, share) * 1000;
    return {
      requests: sorted.length,
      failed: this.#failed,
      us,
      p50Us: at(0.5),
      p99Us: at(0.99),
      p999Us: at(0.999),
      burstUs: bursts === undefined ? null : median(burstsMs) * 1000,
    };
  }

  /** Begins all connections in one turn. Resolves with the time in ms, when all have ended. */
  async #burst(): Promise<number> {
    const start = performance.now();
    const ended = new Promise<void>((resolve) => {
      this.#onAllEnded = resolve;
    });
    let seen = -1;
    const timer = setInterval(() => {
      if (seen === this.#latenciesMs.length) throw new Error('The server no longer responds');
      seen = this.#latenciesMs.length;
    }, SILENT_MS);
    for (let begun = 0; begun < this.#order.connections; begun++) this.#begin();
    await ended;
    clearInterval(timer);
    return performance.now() - start;
  }

  #begin(): void {
    const start = performance.now();
    const handle = new TCP(constants.SOCKET);
    const request = this.#requests[this.#begun++ % this.#requests.length]!;
    this.#open += 1;
    let received = 0;
    const isEndedByServer = this.#order.ends === 'server';
    handle.onread = () => {
      const result = this.#handles.readResult;
      if (result > 0) received += result;
      const isWhole = received >= this.#responseBytes;
      if (result < 0 || (isWhole && !isEndedByServer)) this.#end(handle, start, isWhole);
    };
    const connecting = new TCPConnectWrap();
    connecting.oncomplete = (status) => {
      if (status < 0) return this.#end(handle, start, false);
      handle.useUserBuffer(input);
      const isSent = handle.readStart() === 0 && this.#handles.write(handle, request) === 0;
      if (!isSent) this.#end(handle, start, false);
    };
    const own = `127.0.0.${1 + (this.#begun % ADDRESSES)}`;
    if (handle.bind(own, 0) < 0 || handle.connect(connecting, '127.0.0.1', this.#order.port) < 0)
      setImmediate(() => this.#end(handle, start, false));
  }

  #end(handle: ClientHandle, start: number, isWhole: boolean): void {
    handle.onread = () => {};
    handle.close(() => {});
    this.#open -= 1;
    if (isWhole) this.#latenciesMs.push(performance.now() - start);
    else this.#failed += 1;
    if (this.#goesOn && isWhole) this.#begin();
    else if (this.#open === 0) this.#onAllEnded();
  }
}

async function drive(order: ConnectorOrder): Promise<ConnectorFigures> {
  const { exchange, keyCount, ends, port } = order;
  const handles = await tcpHandles();
  assert.ok(typeof handles !== 'string', 'the handles of Node are not available');
  const close = ends === 'server' ? 'Connection: close\r\n\r\n' : '\r\n';
  const text = exchange.request.replace('\r\n\r\n', `\r\n${close}`);
  const requests = Array.from({ length: Math.min(REQUESTS_MAX, keyCount) }, (_, index) =>
    Buffer.from(text.replace(KEY, keyOf((index * STRIDE) % keyCount))),
  );
  const bytes = await responseLength(port, requests[0]!, exchange);
  return await new Connector(order, handles, requests, bytes).run();
}

process.stdout.write(JSON.stringify(await drive(JSON.parse(process.argv[2] ?? ''))));
