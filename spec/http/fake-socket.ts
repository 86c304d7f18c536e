/**
 * A socket in memory for the HTTP engine's tests. Bytes sent are kept. Bytes received are emitted at
 * once, or, while the socket is paused, after it is resumed. The kernel takes everything unless told
 * otherwise. No time passes and no turn.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

const READ_BYTES_MAX = 65536;

export class FakeSocket extends EventEmitter {
  /** Everything that was written. */
  readonly sent: Buffer[] = [];
  writableLength = 0;
  writableEnded = false;
  isDestroyed = false;
  isPaused = false;
  /** While true, no written bytes are taken. */
  isStuck = false;
  /** What was written and not taken: how much, and whom to tell. */
  /** Bytes received while the socket was paused. */
  readonly #unread: Buffer[] = [];
  readonly #waiting: { length: number; readonly callback: (() => void) | undefined }[] = [];

  readonly #defer: (run: () => void) => void;
  #onFinish = (): void => {};

  /** `defer` runs the socket's work of a later turn: reading on, calling back for taken bytes. */
  constructor(defer: (run: () => void) => void = (run) => process.nextTick(run)) {
    super();
    this.#defer = defer;
  }

  /** As the type that a connection asks for. */
  get socket(): Socket {
    return this as unknown as Socket;
  }

  /** The bytes sent so far, one character a byte. */
  get text(): string {
    return Buffer.concat(this.sent).toString('latin1');
  }

  write(bytes: Buffer, callback?: (error?: Error) => void): boolean {
    this.sent.push(Buffer.from(bytes));
    if (this.isStuck) {
      this.writableLength += bytes.length;
      this.#waiting.push({ length: bytes.length, callback });
    } else if (callback) this.#defer(callback);
    return !this.isStuck;
  }

  /** The kernel takes all bytes written; the socket calls back. */
  unstick(): void {
    this.isStuck = false;
    while (this.#waiting.length > 0) this.take();
    this.emit('drain');
  }

  /** The kernel takes the oldest bytes written and not taken. */
  take(): void {
    const first = this.#waiting.shift();
    this.writableLength -= first?.length ?? 0;
    first?.callback?.();
    if (this.writableLength === 0 && this.writableEnded) this.#onFinish();
  }

  end(callback: () => void): void {
    this.writableEnded = true;
    this.#onFinish = callback;
    if (this.writableLength === 0) this.#onFinish();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    if (this.#unread.length > 0) this.#defer(() => this.#read());
  }

  destroy(): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    this.emit('close');
  }

  /** The client sends these bytes; they come as a socket reads them, 64 KiB at most at once. */
  receive(bytes: Buffer | string): void {
    const all = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    for (let at = 0; at < all.length; at += READ_BYTES_MAX) {
      this.#unread.push(all.subarray(at, at + READ_BYTES_MAX));
    }
    this.#read();
  }

  #read(): void {
    while (!this.isPaused && !this.isDestroyed) {
      const chunk = this.#unread.shift();
      if (chunk === undefined) return;
      this.emit('data', chunk);
    }
  }

  /** The client has sent all that it will send. */
  receiveEnd(): void {
    this.emit('end');
  }
}
