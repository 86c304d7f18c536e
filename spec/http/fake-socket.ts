/**
 * A socket in memory for the HTTP engine's tests: what is sent is kept, what comes is emitted at
 * once, the kernel takes everything unless told otherwise. No time passes and no turn.
 */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

export class FakeSocket extends EventEmitter {
  /** Everything that was written. */
  readonly sent: Buffer[] = [];
  writableLength = 0;
  writableEnded = false;
  isDestroyed = false;
  isPaused = false;
  /** While true, nothing that is written is taken. */
  isStuck = false;
  readonly #callbacks: (() => void)[] = [];

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
      if (callback) this.#callbacks.push(callback);
    } else if (callback) process.nextTick(callback);
    return !this.isStuck;
  }

  /** The kernel takes what was written; the socket says so. */
  unstick(): void {
    this.isStuck = false;
    this.writableLength = 0;
    for (const callback of this.#callbacks.splice(0)) callback();
    this.emit('drain');
  }

  end(callback: () => void): void {
    this.writableEnded = true;
    callback();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  destroy(): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    this.emit('close');
  }

  /** The client sends these bytes. */
  receive(bytes: Buffer | string): void {
    this.emit('data', typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** The client has sent all that it will send. */
  receiveEnd(): void {
    this.emit('end');
  }
}
