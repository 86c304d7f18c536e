/**
 * A connection to a member of a target, which sends one message at a time and reads the response.
 * It does little work per message, as a batch is sent every few milliseconds: with requests of
 * node:http, a client's write costs a member with a publisher a seventh more processor time.
 * Tested by http-transport.spec.ts.
 */
import type { Socket } from 'node:net';
import { ResponseParser } from '../http/response-parser.ts';
import { RESPONSE_BYTES_MAX, type TransportResponse } from './wan-transport.ts';

/** Maximum idle time of a connection, in ms. Proxies and firewalls may drop it after that. */
const IDLE_MS_MAX = 15_000;

/** Receives the first `length` bytes of a chunk, which are only valid during the call. */
export type OnRead = (chunk: Buffer, length: number) => void;

interface TargetConnectionParts {
  /** Creates the socket, which passes the bytes it reads to `onRead`. */
  readonly connect: (onRead: OnRead) => Socket;
  /** Called when the connection can send another message. */
  readonly onIdle: (connection: TargetConnection) => void;
  /** Called when the connection can send no further message. */
  readonly onClosed: (connection: TargetConnection) => void;
}

interface Exchange {
  readonly resolve: (response: TransportResponse) => void;
  readonly reject: (error: Error) => void;
  readonly timeoutMs: number;
  /** Time at which the timeout has passed. */
  readonly endMs: number;
}

export class TargetConnection {
  readonly #parts: TargetConnectionParts;
  readonly #socket: Socket;
  readonly #parser = new ResponseParser(RESPONSE_BYTES_MAX);
  /** The exchange in flight. */
  #exchange: Exchange | undefined;
  #error: Error | undefined;
  /**
   * The timer is armed for a message and not cancelled by its response: a timer per message would
   * cost more.
   */
  #timer: NodeJS.Timeout | undefined;
  #timerMs = 0;

  constructor(parts: TargetConnectionParts) {
    this.#parts = parts;
    this.#socket = parts.connect((chunk, length) => this.#read(chunk, length));
    this.#socket.setTimeout(IDLE_MS_MAX);
    this.#socket.on('timeout', () => {
      if (this.#exchange === undefined) this.destroy(undefined);
    });
    this.#socket.on('error', (error) => {
      this.#error ??= error;
    });
    this.#socket.on('end', () => this.#onEnd());
    this.#socket.on('close', () => this.#onClose());
  }

  /** Sends a request with the message as its body. No other may be in flight. */
  send(head: string, message: Uint8Array, timeoutMs: number): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      const endMs = performance.now() + timeoutMs;
      this.#exchange = { resolve, reject, timeoutMs, endMs };
      if (this.#timer === undefined || this.#timerMs > endMs) this.#armTimer(endMs);
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(message);
      this.#socket.uncork();
    });
  }

  /** Closes the connection. The exchange in flight rejects. */
  destroy(error: Error | undefined): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  #read(chunk: Buffer, length: number): void {
    if (this.#socket.destroyed) return;
    // Unrequested bytes could be mistaken for the next response.
    if (this.#exchange === undefined) return this.destroy(undefined);
    try {
      if (this.#parser.read(chunk, length)) this.#onResponse();
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #onResponse(): void {
    const exchange = this.#endExchange()!;
    const { status, body, keepsAlive } = this.#parser;
    this.#parser.begin();
    // If a response precedes the end of the request, the connection cannot be used again.
    if (keepsAlive && this.#socket.writableLength === 0) this.#parts.onIdle(this);
    else this.#socket.destroy();
    exchange.resolve({ status, body });
  }

  #onEnd(): void {
    if (this.#exchange !== undefined && this.#parser.finish()) this.#onResponse();
    this.#socket.destroy();
  }

  #armTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = ms;
    this.#timer = setTimeout(() => this.#checkTimeout(), Math.ceil(ms - performance.now())).unref();
  }

  /** Ends the exchange if its time is over, or re-arms the timer. */
  #checkTimeout(): void {
    this.#timer = undefined;
    if (this.#exchange === undefined) return;
    const { timeoutMs, endMs } = this.#exchange;
    if (performance.now() < endMs) this.#armTimer(endMs);
    else this.destroy(new Error(`timed out after ${timeoutMs} ms`));
  }

  #onClose(): void {
    clearTimeout(this.#timer);
    this.#parser.free();
    this.#parts.onClosed(this);
    this.#endExchange()?.reject(this.#error ?? new Error('the connection was closed'));
  }

  /** Removes the exchange in flight and returns it. */
  #endExchange(): Exchange | undefined {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    return exchange;
  }
}
