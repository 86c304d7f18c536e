/**
 * A connection to a member of a target: sends one message at a time, and reads its answer. Small in what it
 * does for a message, as a batch leaves every few milliseconds: a request of node:http costs as much as the
 * recording of 200 events.
 */
import type { Socket } from 'node:net';
import { AnswerParser } from '../http/answer-parser.ts';
import { ANSWER_BYTES_MAX, type TransportAnswer } from './wan-transport.ts';

/** A connection that was not used for this long may have been closed by what lies between. */
const IDLE_MS_MAX = 15_000;

/** Takes the first `length` bytes of a chunk, which are valid during the call only. */
export type OnRead = (chunk: Buffer, length: number) => void;

interface Exchange {
  readonly resolve: (answer: TransportAnswer) => void;
  readonly reject: (error: Error) => void;
}

export class TargetConnection {
  readonly #socket: Socket;
  readonly #parser = new AnswerParser(ANSWER_BYTES_MAX);
  /** What is under way. */
  #exchange: Exchange | undefined;
  #error: Error | undefined;
  readonly #onIdle: (connection: TargetConnection) => void;
  readonly #onClosed: (connection: TargetConnection) => void;

  /** `onIdle`: it takes another message; `onClosed`: it takes none any more. */
  constructor(
    connect: (onRead: OnRead) => Socket,
    onIdle: (connection: TargetConnection) => void,
    onClosed: (connection: TargetConnection) => void,
  ) {
    this.#onIdle = onIdle;
    this.#onClosed = onClosed;
    this.#socket = connect((chunk, length) => this.#read(chunk, length));
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
  send(head: string, message: Uint8Array, signal: AbortSignal): Promise<TransportAnswer> {
    return new Promise((resolve, reject) => {
      const abort = () => this.destroy(new Error('the operation was aborted'));
      const end = () => signal.removeEventListener('abort', abort);
      signal.addEventListener('abort', abort);
      this.#exchange = {
        resolve: (answer) => {
          end();
          resolve(answer);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#socket.write(message);
      this.#socket.uncork();
      if (signal.aborted) abort();
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
    const exchange = this.#exchange!;
    const { status, body, keepsAlive } = this.#parser;
    this.#exchange = undefined;
    this.#parser.begin();
    // An answer that came before the whole message was sent is the last one, too.
    if (keepsAlive && this.#socket.writableLength === 0) this.#onIdle(this);
    else this.#socket.destroy();
    exchange.resolve({ status, body });
  }

  #onEnd(): void {
    if (this.#exchange !== undefined && this.#parser.finish()) this.#onAnswer();
    this.#socket.destroy();
  }

  #onClose(): void {
    this.#parser.free();
    this.#onClosed(this);
    this.#exchange?.reject(this.#error ?? new Error('the connection was closed'));
    this.#exchange = undefined;
  }
}
