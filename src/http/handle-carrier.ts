/**
 * A carrier on the system handle of a TCP connection. It has no stream, no emitter and no timer: the
 * handle calls functions that all connections share, which find the carrier through the handle or request.
 *
 * All handles read into one buffer. Nagle's algorithm delays only the writes after the first one, so it is
 * turned off at the second write, which most connections that are made for one request never have.
 * A connection whose client has ended its side is closed instead of half-closed: that also sends the end,
 * after all bytes.
 */
import assert from 'node:assert/strict';
import { afterNextTurn } from '../base/clock.ts';
import {
  type Carrier,
  type CarrierHost,
  type CarrierUser,
  FAILED,
  TAKEN,
  WAITS,
} from './carrier.ts';
import {
  type HandleRequest,
  type SocketName,
  type TcpHandle,
  type TcpHandles,
  UV_EALREADY,
  UV_ENOTCONN,
  UV_EOF,
} from './tcp-handles.ts';

/** Number of writes so far that decide about Nagle's algorithm. */
const NONE = 0;
const ONE = 1;
const MORE = 2;

export class HandleCarrier implements Carrier {
  readonly isCopying = false;
  readonly #host: CarrierHost;
  readonly #handles: TcpHandles;
  readonly #handle: TcpHandle;
  #user: CarrierUser | undefined;
  #writes = NONE;
  /** Whether a write waits. */
  #isWaiting = false;
  #hasInputEnded = false;
  /** Whether this side is ending, and whether it has ended. */
  #isEnding = false;
  #hasOutputEnded = false;
  /** Whether the handle is closing or closed. */
  #isClosing = false;

  /** `handle`: an accepted connection, which the carrier owns from now on. */
  constructor(handle: TcpHandle, handles: TcpHandles, host: CarrierHost) {
    this.#handle = handle;
    this.#handles = handles;
    this.#host = host;
    handle.owner = this;
  }

  get peerAddress(): string {
    return this.#peer().address ?? '';
  }

  get remotePort(): number | undefined {
    return this.#peer().port;
  }

  get localPort(): number | undefined {
    const name: SocketName = {};
    this.#handle.getsockname(name);
    return name.port;
  }

  get untakenBytes(): number {
    return this.#isWaiting && !this.#isClosing ? this.#handle.writeQueueSize : 0;
  }

  open(user: CarrierUser): void {
    this.#user = user;
    const handle = this.#handle;
    handle.onread = onRead;
    handle.useUserBuffer(this.#host.readBuffer);
    this.resume();
  }

  write(bytes: Buffer): typeof TAKEN | typeof WAITS | typeof FAILED {
    if (this.#isClosing) return FAILED;
    if (this.#isWaiting) assert.fail('a write waits');
    if (this.#writes !== MORE) this.#countWrite();
    const result = this.#handles.write(this.#handle, bytes);
    if (result === 0) return TAKEN;
    if (typeof result === 'number') {
      this.destroy();
      return FAILED;
    }
    result.owner = this;
    result.oncomplete = onWritten;
    this.#isWaiting = true;
    return WAITS;
  }

  pause(): void {
    if (!this.#isClosing) this.#handle.readStop();
  }

  resume(): void {
    if (this.#isClosing || this.#hasInputEnded) return;
    const result = this.#handle.readStart();
    if (result < 0 && result !== UV_EALREADY) this.#failLater();
  }

  look(onLooked: () => void): void {
    afterNextTurn(this.#host.clock, () => {
      if (!this.#isClosing) onLooked();
    });
  }

  end(): void {
    if (this.#isEnding || this.#isClosing) return;
    this.#isEnding = true;
    if (this.#hasInputEnded && !this.#isWaiting) return this.#onOutputEnded();
    const result = this.#handles.shutdown(this.#handle, this, onShutDown);
    if (result === 0) return;
    if (result === 1 || result === UV_ENOTCONN) this.#onOutputEnded();
    else this.#failLater();
  }

  destroy(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#handle.onread = ignoreRead;
    this.#handle.close(onClosed);
  }

  // The events of the handle and its requests.

  onRead(): void {
    const result = this.#handles.readResult;
    if (this.#isClosing || result === 0) return;
    if (result > 0) {
      this.#user!.onBytes(this.#host.readBuffer, result);
      return;
    }
    if (result !== UV_EOF) return this.#fail();
    this.#hasInputEnded = true;
    this.#user!.onInputEnd();
    if (this.#hasOutputEnded) this.destroy();
  }

  onWritten(status: number): void {
    if (this.#isClosing) return;
    if (status < 0) return this.#fail();
    this.#isWaiting = false;
    this.#user?.onTaken();
  }

  onShutDown(status: number): void {
    if (this.#isClosing) return;
    if (status < 0 && status !== UV_ENOTCONN) this.#fail();
    else this.#onOutputEnded();
  }

  onClosed(): void {
    const user = this.#user;
    this.#user = undefined;
    user?.onClosed();
  }

  #peer(): SocketName {
    const name: SocketName = {};
    this.#handle.getpeername(name);
    return name;
  }

  #countWrite(): void {
    // If this fails, the write after it fails as well.
    if (this.#writes === ONE) this.#handle.setNoDelay(true);
    this.#writes++;
  }

  #onOutputEnded(): void {
    this.#hasOutputEnded = true;
    this.#user?.onEnded();
    if (this.#hasInputEnded) this.destroy();
  }

  #fail(): void {
    this.destroy();
    this.#user?.onFailed();
  }

  /** Fails in a later turn, as no call to the carrier may report a failure. */
  #failLater(): void {
    this.#host.clock.endOfTurn(() => {
      if (!this.#isClosing) this.#fail();
    });
  }
}

// The functions that handles and requests call. A carrier is released by the last of its calls. If one
// throws, the connection is closed, as nothing else would end it in a program that continues.

function onRead(this: TcpHandle): void {
  const carrier = this.owner as HandleCarrier;
  try {
    carrier.onRead();
  } catch (error) {
    carrier.destroy();
    throw error;
  }
}

function ignoreRead(): void {}

const onWritten = onDone('onWritten');
const onShutDown = onDone('onShutDown');

/** Returns the function that a request calls when it is done. */
function onDone(event: 'onWritten' | 'onShutDown') {
  return function (this: HandleRequest, status: number): void {
    const carrier = this.owner as HandleCarrier;
    this.owner = undefined;
    try {
      carrier[event](status);
    } catch (error) {
      carrier.destroy();
      throw error;
    }
  };
}

function onClosed(this: TcpHandle): void {
  const carrier = this.owner as HandleCarrier;
  this.owner = undefined;
  carrier.onClosed();
}
