/**
 * A carrier on a socket of Node's. It reads into one buffer shared by all. A socket that is read as a stream
 * allocates a new buffer of 64 KiB for every read and leaves it to the garbage collector. That is a fifth of
 * a server's time for a small request (bench: socket-reader, whose figure includes the client's share). Node
 * reads into a provided buffer only if the socket was created with the option `onread`. A server creates
 * its sockets without it, so the connection's handle is moved to a socket created here.
 *
 * The kernel nearly always accepts a response immediately, and writing
 * through the socket's stream costs several objects and a tick (bench: socket-reader). So if the socket has
 * a system handle, bytes are written to the handle. It sends them in order, and calls back when the kernel
 * has accepted bytes that it did not accept immediately. Sockets without such a handle (TLS, other runtimes,
 * tests) are read and written as streams. That is slower and otherwise equivalent.
 *
 * A handle calls back through a write request, an object of a class internal to Node (WriteWrap). Up to
 * Node 24 each write needs such an object, but uses it up only if the handle calls back; later versions
 * create it then. The first response of the process is written through the stream, which reveals the
 * class. Tested by carrier.spec.ts.
 */
import assert from 'node:assert/strict';
import { Socket, type SocketConstructorOpts } from 'node:net';
import { afterNextTurn } from '../base/clock.ts';
import {
  type Carrier,
  type CarrierHost,
  type CarrierUser,
  FAILED,
  TAKEN,
  WAITS,
} from './carrier.ts';

export class SocketCarrier implements Carrier {
  readonly #host: CarrierHost;
  #socket: Socket;
  /** The handle to write to; undefined if the socket is written to as a stream. */
  readonly #handle: StreamHandle | undefined;
  #user: CarrierUser | undefined;
  /** The write request for the next bytes that the kernel does not accept immediately. */
  #request: WriteRequest | null = null;
  /** Whether a write waits, and whether its bytes are in the stream. */
  #isWaiting = false;
  #isInStream = false;
  /** Whether the user has destroyed the carrier, or knows of its failure. */
  #isOver = false;
  readonly isCopying: boolean;

  /** `accepted`: a socket that its server has accepted with `pauseOnConnect`, or a TLS socket. */
  constructor(accepted: Socket, host: CarrierHost) {
    this.#host = host;
    this.#socket = accepted;
    const { _handle: handle, encrypted } = accepted as Handled;
    this.isCopying = encrypted === true;
    accepted.on('error', ignoreError);
    if (this.isCopying || handle == null || handle.writeQueueSize !== 0) return;
    this.#handle = handle;
    if (WriteRequestClass === undefined) captureWriteRequestClass(handle);
  }

  get peerAddress(): string {
    return this.#socket.remoteAddress ?? '';
  }

  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  get remotePort(): number | undefined {
    return this.#socket.remotePort;
  }

  get untakenBytes(): number {
    if (!this.#isWaiting) return 0;
    return this.#isInStream ? this.#socket.writableLength : this.#handle!.writeQueueSize;
  }

  open(user: CarrierUser): void {
    this.#user = user;
    const socket = readInto(this.#host.readBuffer, this.#socket, user);
    this.#socket = socket;
    socket.on('end', () => user.onInputEnd());
    socket.on('error', () => this.#fail());
    socket.on('close', () => user.onClosed());
  }

  write(bytes: Buffer): typeof TAKEN | typeof WAITS | typeof FAILED {
    if (this.#socket.destroyed) return this.#abandon();
    if (this.#isWaiting) assert.fail('a write waits');
    const handle = this.#handle;
    if (handle === undefined || WriteRequestClass === undefined) return this.#writeToStream(bytes);
    if (WriteRequestClass !== null) this.#request ??= new WriteRequestClass();
    const result = handle.writeBuffer!(this.#request, bytes);
    const request = typeof result === 'number' ? this.#request : result;
    if (request !== null && request.getAsyncId() > 0) return this.#await(request, bytes);
    if (result === 0 || (request === result && request.writeStatus === 0)) return TAKEN;
    return this.#abandon();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  look(onLooked: () => void): void {
    afterNextTurn(this.#host.clock, () => {
      if (!this.#socket.destroyed) onLooked();
    });
  }

  end(): void {
    const socket = this.#socket;
    if (socket.writableEnded) return;
    socket.end(() => {
      if (!socket.destroyed) this.#user?.onEnded();
    });
  }

  destroy(): void {
    this.#isOver = true;
    this.#socket.destroy();
  }

  /** Awaits the callback of a write request, although the kernel may have accepted everything by now. */
  #await(request: WriteRequest, bytes: Buffer): typeof WAITS {
    this.#request = null;
    this.#isWaiting = true;
    this.#isInStream = false;
    request.bytes = bytes;
    request.oncomplete = (status) => this.#onComplete(status);
    return WAITS;
  }

  #onComplete(status: number): void {
    if (this.#socket.destroyed) return;
    if (status === 0) this.#onTaken();
    else this.#fail();
  }

  /** Writes through the stream. All but TLS pass bytes to the kernel at once. */
  #writeToStream(bytes: Buffer): typeof TAKEN | typeof WAITS {
    const socket = this.#socket;
    let waits = false;
    socket.write(bytes, () => {
      if (waits && !socket.destroyed) this.#onTaken();
    });
    waits = this.isCopying || socket.writableLength > 0;
    this.#isWaiting = waits;
    this.#isInStream = waits;
    return waits ? WAITS : TAKEN;
  }

  #onTaken(): void {
    this.#isWaiting = false;
    this.#user?.onTaken();
  }

  #abandon(): typeof FAILED {
    this.destroy();
    return FAILED;
  }

  /** Closes the socket, unless Node has already, and informs the user, unless it knows. */
  #fail(): void {
    const isKnown = this.#isOver;
    this.destroy();
    if (!isKnown) this.#user?.onFailed();
  }
}

/**
 * Begins to read a socket that its server has accepted with `pauseOnConnect`. Returns the socket to use
 * from then on instead of `accepted`. The user's bytes are only valid during the call.
 */
export function readInto(
  buffer: Buffer,
  accepted: Socket,
  user: Pick<CarrierUser, 'onBytes'>,
): Socket {
  const { _handle: handle, encrypted } = accepted as Handled;
  if (encrypted || typeof handle?.useUserBuffer !== 'function') return readStream(accepted, user);
  (accepted as Handled)._handle = null;
  accepted.destroy();
  const options: HandleOptions = {
    handle,
    allowHalfOpen: true,
    onread: {
      buffer,
      callback(length) {
        user.onBytes(buffer, length);
        return true;
      },
    },
  };
  return new Socket(options).resume();
}

/** A function of its own: a closure in the one above would keep `accepted` alive with each connection. */
function readStream(socket: Socket, user: Pick<CarrierUser, 'onBytes'>): Socket {
  socket.on('data', (chunk: Buffer) => {
    if (!socket.destroyed) user.onBytes(chunk, chunk.length);
  });
  return socket.resume();
}

/** Ignores the failure of a socket that is not open yet; Node destroys it. */
function ignoreError(): void {}

/** A write request, the object through which a handle calls back (Node's WriteWrap). */
interface WriteRequest {
  /** Positive while a handle uses the object. */
  getAsyncId(): number;
  /** The result of a write that was completed during the call. */
  readonly writeStatus?: number | null;
  /** Called with 0 when the kernel has accepted the bytes, or with a negative error number. */
  oncomplete?(status: number): void;
  /** The bytes, referenced until then so that they are not collected. */
  bytes?: Buffer;
}

type WriteRequestConstructor = new () => WriteRequest;

/** The part of Node's sockets that is missing in its types. */
interface Handled {
  _handle?: StreamHandle | null;
  /** Set on TLS sockets. */
  readonly encrypted?: true;
}

interface StreamHandle {
  /** Bytes that the kernel has not accepted. */
  readonly writeQueueSize: number;
  /** Writes bytes. Returns 0, a negative error number, or a write request. */
  writeBuffer?(request: WriteRequest | null, bytes: Buffer): number | WriteRequest;
  readonly useUserBuffer?: unknown;
}

interface HandleOptions extends SocketConstructorOpts {
  readonly handle: object;
  readonly onread: {
    readonly buffer: Buffer;
    callback(length: number): boolean;
  };
}

/** The class of write requests, once a stream has revealed it; null if handles create them. */
let WriteRequestClass: WriteRequestConstructor | null | undefined;

/** Captures the class of the write request in the stream's next write to the handle. */
function captureWriteRequestClass(handle: StreamHandle): void {
  handle.writeBuffer = (request, bytes) => {
    delete handle.writeBuffer;
    WriteRequestClass = request === null ? null : (request.constructor as WriteRequestConstructor);
    return handle.writeBuffer!(request, bytes);
  };
}
