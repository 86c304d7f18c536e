/**
 * Writes responses to a socket. The kernel nearly always accepts a response immediately, and writing through
 * the socket's stream costs several objects and a tick (bench: socket-reader). So if the socket has a
 * system handle, bytes are written to the handle. It sends them in order, and calls back when the kernel
 * has accepted bytes that it did not accept immediately. Other sockets (TLS, other runtimes, tests) are
 * written to as streams. That is slower and otherwise equivalent.
 *
 * A handle calls back through a write request, an object of a class internal to Node (WriteWrap). Up to
 * Node 24 each write needs such an object, but uses it up only if the handle calls back; later versions
 * create it then. The first response of the process is written through the stream, which reveals the
 * class. Tested by carrier.spec.ts.
 */
import type { Socket } from 'node:net';

/** Called once when bytes not accepted immediately have been accepted, or the connection has failed. */
type OnTaken = (error?: Error | null) => void;

export class SocketWriter {
  readonly #socket: Socket;
  readonly #handle: StreamHandle | undefined;
  readonly #onTaken: OnTaken;
  readonly #onFailed: () => void;
  /** The write request for the next bytes that the kernel does not accept immediately. */
  #request: WriteRequest | null = null;
  /** Whether the handle has unaccepted bytes that were not written through the stream. */
  #isWaiting = false;
  /** Whether the socket, if it has nothing else to send, copies the bytes written to it, as TLS does. */
  readonly isCopying: boolean;

  /** `onFailed` is called when nothing more can be sent. It has to destroy the socket. */
  constructor(socket: Socket, onTaken: OnTaken, onFailed: () => void) {
    this.#socket = socket;
    this.#onTaken = onTaken;
    this.#onFailed = onFailed;
    const { _handle: handle, encrypted } = socket as Handled;
    this.isCopying = encrypted === true;
    if (this.isCopying || handle == null || handle.writeQueueSize !== 0) return;
    this.#handle = handle;
    if (WriteRequestClass === undefined) captureWriteRequestClass(handle);
  }

  /** Bytes written that the client has not accepted. */
  get waitingBytes(): number {
    const { writableLength } = this.#socket;
    return this.#isWaiting ? writableLength + this.#handle!.writeQueueSize : writableLength;
  }

  /**
   * Writes bytes, which must remain unchanged until they have been accepted. False: nothing more may be
   * written until onTaken is called. `needsNoCallback`: whether the caller need not know when that is.
   */
  write(bytes: Buffer, needsNoCallback: boolean): boolean {
    const handle = this.#handle;
    const socket = this.#socket;
    if (handle === undefined || WriteRequestClass === undefined || socket.writableLength > 0) {
      return this.#writeToStream(bytes, needsNoCallback);
    }
    if (socket.destroyed) return true;
    if (WriteRequestClass !== null) this.#request ??= new WriteRequestClass();
    const result = handle.writeBuffer!(this.#request, bytes);
    const request = typeof result === 'number' ? this.#request : result;
    if (request !== null && request.getAsyncId() > 0) return this.#await(request, bytes);
    if (result !== 0 && !(request === result && request.writeStatus === 0)) this.#onFailed();
    return true;
  }

  /** Awaits the callback of a write request, although the kernel may have accepted everything by now. */
  #await(request: WriteRequest, bytes: Buffer): boolean {
    this.#request = null;
    this.#isWaiting = true;
    request.bytes = bytes;
    request.oncomplete = (status) => this.#onComplete(status);
    return false;
  }

  /** Writes through the stream. If nothing else is unsent, all but TLS pass bytes to the kernel at once. */
  #writeToStream(bytes: Buffer, needsNoCallback: boolean): boolean {
    const socket = this.#socket;
    if (needsNoCallback && !this.isCopying && socket.writableLength === 0) {
      socket.write(bytes);
      return true;
    }
    socket.write(bytes, this.#onTaken);
    return false;
  }

  #onComplete(status: number): void {
    this.#isWaiting = false;
    if (status === 0) return this.#onTaken();
    this.#onFailed();
    this.#onTaken(new Error('Cannot send: the connection has failed'));
  }
}

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
  readonly _handle?: StreamHandle | null;
  /** Set on TLS sockets. */
  readonly encrypted?: true;
}

interface StreamHandle {
  /** Bytes that the kernel has not accepted. */
  readonly writeQueueSize: number;
  /** Writes bytes. Returns 0, a negative error number, or a write request. */
  writeBuffer?(request: WriteRequest | null, bytes: Buffer): number | WriteRequest;
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
