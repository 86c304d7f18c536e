/**
 * An in-memory socket for the specs of the HTTP server. Sent bytes are recorded. Received bytes are
 * emitted immediately or, if the socket is paused, when it is resumed. The kernel accepts
 * everything unless configured otherwise. Neither time nor a turn of the event loop passes.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

const READ_BYTES_MAX = 65536;

export class FakeCarrier extends EventEmitter {
  /** Everything that was written. */
  readonly sent: Buffer[] = [];
  writableLength = 0;
  writableEnded = false;
  isDestroyed = false;
  isPaused = false;
  /** Whether the kernel accepts no written bytes. */
  isStuck = false;
  /** Bytes received while the socket was paused. */
  readonly #unread: Buffer[] = [];
  /** Unaccepted writes: their lengths and callbacks. */
  readonly #waiting: { length: number; readonly callback: (() => void) | undefined }[] = [];

  readonly #defer: (run: () => void) => void;
  #onFinish = (): void => {};

  /**
   * `defer` runs the socket's work of a later turn: further reads, and callbacks for accepted
   * bytes.
   */
  constructor(defer: (run: () => void) => void = (run) => process.nextTick(run)) {
    super();
    this.#defer = defer;
  }

  /** The socket with the type that a connection requires. */
  get socket(): Socket {
    return this as unknown as Socket;
  }

  /** The bytes sent so far, one character per byte. */
  get text(): string {
    return Buffer.concat(this.sent).toString('latin1');
  }

  write(bytes: Buffer | string, callback?: (error?: Error) => void): boolean {
    this.sent.push(Buffer.from(bytes as Buffer));
    if (this.isStuck) {
      this.writableLength += bytes.length;
      this.#waiting.push({ length: bytes.length, callback });
    } else if (callback) this.#defer(callback);
    return !this.isStuck;
  }

  /** Makes the kernel accept all written bytes, and calls back. */
  unstick(): void {
    this.isStuck = false;
    while (this.#waiting.length > 0) this.take();
    this.emit('drain');
  }

  /** Makes the kernel accept the oldest unaccepted bytes. */
  take(): void {
    const first = this.#waiting.shift();
    this.writableLength -= first?.length ?? 0;
    first?.callback?.();
    if (this.writableLength === 0 && this.writableEnded) this.#onFinish();
  }

  /** Ends the server's side, after a text or before a call. */
  end(last: string | (() => void)): void {
    if (typeof last === 'string') this.write(Buffer.from(last));
    else this.#onFinish = last;
    this.writableEnded = true;
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

  /** Receives bytes from the client, as a socket reads them: at most 64 KiB at a time. */
  receive(bytes: Buffer | string): void {
    const all = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    for (let at = 0; at < all.length; at += READ_BYTES_MAX) {
      this.#unread.push(all.subarray(at, at + READ_BYTES_MAX));
    }
    this.#read();
  }

  /** Received bytes that have not been read, as in the kernel's receive buffer. */
  get unreadBytes(): number {
    return this.#unread.reduce((sum, { length }) => sum + length, 0);
  }

  #read(): void {
    while (!this.isPaused && !this.isDestroyed) {
      const chunk = this.#unread.shift();
      if (chunk === undefined) return;
      this.emit('data', chunk);
    }
  }

  /** Ends the client's side. */
  receiveEnd(): void {
    this.emit('end');
  }
}
