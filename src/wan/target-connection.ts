/**
 * A connection to a member of a target: sends one message at a time, and reads its answer. Small in what it
 * does for a message, as a batch leaves every few milliseconds: with requests of node:http a client's write
 * costs a member with a publisher a seventh more processor time.
 */
import type { Socket } from 'node:net';
import { ResponseParser } from '../http/response-parser.ts';
import { ANSWER_BYTES_MAX, type TransportAnswer } from './wan-transport.ts';

/** A connection that was not used for this long may have been closed by what lies between. */
const IDLE_MS_MAX = 15_000;

/** Takes the first `length` bytes of a chunk, which are valid during the call only. */
export type OnRead = (chunk: Buffer, length: number) => void;

interface TargetConnectionParts {
  /** The socket, which hands what it reads to `onRead`. */
  readonly connect: (onRead: OnRead) => Socket;
  /** It takes another message. */
  readonly onIdle: (connection: TargetConnection) => void;
  /** It takes none any more. */
  readonly onClosed: (connection: TargetConnection) => void;
}

interface Exchange {
  readonly resolve: (answer: TransportAnswer) => void;
  readonly reject: (error: Error) => void;
  readonly timeoutMs: number;
  /** When it has been under way for that long. */
  readonly endMs: number;
}

export class TargetConnection {
  readonly #parts: TargetConnectionParts;
  readonly #socket: Socket;
  readonly #parser = new ResponseParser(ANSWER_BYTES_MAX);
  /** What is under way. */
  #exchange: Exchange | undefined;
  #error: Error | undefined;
  /** Set for a message, and left to itself behind its answer, as a timer for each costs more. */
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

  /** Sends a request, which has the message as its body. None is under way. */
  send(head: string, message: Uint8Array, timeoutMs: number): Promise<TransportAnswer> {
    return new Promise((resolve, reject) => {
      const endMs = performance.now() + timeoutMs;
      this.#exchange = { resolve, reject, timeoutMs, endMs };
      if (this.#timer === undefined || this.#timerMs > endMs) this.#lookAt(endMs);
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(message);
      this.#socket.uncork();
    });
  }

  /** What is under way rejects. */
  destroy(error: Error | undefined): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  #read(chunk: Buffer, length: number): void {
    if (this.#socket.destroyed) return;
    // Bytes that nobody has asked for would be taken for the next answer.
    if (this.#exchange === undefined) return this.destroy(undefined);
    try {
      if (this.#parser.read(chunk, length)) this.#onAnswer();
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #onAnswer(): void {
    const exchange = this.#endExchange()!;
    const { status, body, keepsAlive } = this.#parser;
    this.#parser.begin();
    // An answer that came before the whole message was sent is the last one, too.
    if (keepsAlive && this.#socket.writableLength === 0) this.#parts.onIdle(this);
    else this.#socket.destroy();
    exchange.resolve({ status, body });
  }

  #onEnd(): void {
    if (this.#exchange !== undefined && this.#parser.finish()) this.#onAnswer();
    this.#socket.destroy();
  }

  #lookAt(ms: number): void {
    clearTimeout(this.#timer);
    this.#timerMs = ms;
    this.#timer = setTimeout(() => this.#look(), Math.ceil(ms - performance.now())).unref();
  }

  /** Ends what has been under way for too long. */
  #look(): void {
    this.#timer = undefined;
    if (this.#exchange === undefined) return;
    const { timeoutMs, endMs } = this.#exchange;
    if (performance.now() < endMs) this.#lookAt(endMs);
    else this.destroy(new Error(`none within ${timeoutMs} ms`));
  }

  #onClose(): void {
    clearTimeout(this.#timer);
    this.#parser.free();
    this.#parts.onClosed(this);
    this.#endExchange()?.reject(this.#error ?? new Error('the connection was closed'));
  }

  /** Nothing is under way any more: returns what was. */
  #endExchange(): Exchange | undefined {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    return exchange;
  }
}
