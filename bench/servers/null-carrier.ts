/**
 * A socket that accepts every write and stores nothing, so that only the server's cost is measured.
 */
import { EventEmitter } from 'node:events';
import type { FakeCarrier } from '../../spec/http/fake-carrier.ts';

export class NullCarrier extends EventEmitter {
  readonly writableLength = 0;
  readonly writableEnded = false;
  bytesWritten = 0;

  /** Returns this socket as the type that a test server connects. */
  get asFake(): FakeCarrier {
    return { socket: this } as unknown as FakeCarrier;
  }

  write(bytes: Buffer, callback?: () => void): boolean {
    this.bytesWritten += bytes.length;
    if (callback) process.nextTick(callback);
    return true;
  }

  receive(bytes: Buffer): void {
    this.emit('data', bytes);
  }

  end(): void {}
  pause(): void {}
  resume(): void {}
  destroy(): void {}
}
