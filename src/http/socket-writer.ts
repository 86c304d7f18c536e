/**
 * The way of answers to a socket. The kernel nearly always takes an answer at once, and the way there
 * through the socket's stream costs several objects and a tick of its own (bench: socket-reader). So
 * where the socket has a handle of the system's, bytes are handed to that. It sends them in order, and
 * calls back when the kernel has taken the bytes that it did not take at once. Other sockets (TLS, other
 * runtimes, tests) are written to as streams; that is slower and otherwise the same.
 *
 * A handle calls back through an object of a class that Node keeps internal (the teller). Up to Node 24 the
 * handle needs one with each write and uses it up only where it calls back; later versions make it then.
 * The first answer of the process is written as to a stream, which shows the class.
 */
import type { Socket } from 'node:net';

/** Called once for bytes that were not taken at once: they have been, or the connection has failed. */
type OnTaken = (error?: Error | null) => void;

export class SocketWriter {
  readonly #socket: Socket;
  readonly #handle: StreamHandle | undefined;
  readonly #onTaken: OnTaken;
  readonly #onFailed: () => void;
  /** For the next bytes that the kernel does not take at once. */
  #teller: Teller | null = null;
  /** Whether the handle has bytes that the kernel has not taken, and that did not come by the stream. */
  #isWaiting = false;
  /** Whether the socket copies the bytes it is handed while it has nothing else to send, as TLS does. */
  readonly isCopying: boolean;

  /** `onFailed`: nothing more can be sent; the socket is still to be destroyed. */
  constructor(socket: Socket, onTaken: OnTaken, onFailed: () => void) {
    this.#socket = socket;
    this.#onTaken = onTaken;
    this.#onFailed = onFailed;
    const { _handle: handle, encrypted } = socket as Handled;
    this.isCopying = encrypted === true;
    if (this.isCopying || handle == null || handle.writeQueueSize !== 0) return;
    this.#handle = handle;
    if (Class === undefined) showClass(handle);
  }

  /** Bytes handed over that the client has not taken. */
  get waitingBytes(): number {
    const { writableLength } = this.#socket;
    return this.#isWaiting ? writableLength + this.#handle!.writeQueueSize : writableLength;
  }

  /**
   * Hands over bytes, which have to stay unchanged until they are taken. False: nothing more may be
   * handed over until onTaken is called. With `isLeft` the caller need not know when they are taken.
   */
  write(bytes: Buffer, isLeft: boolean): boolean {
    const handle = this.#handle;
    const socket = this.#socket;
    if (handle === undefined || Class === undefined || socket.writableLength > 0) {
      return this.#writeToStream(bytes, isLeft);
    }
    if (socket.destroyed) return true;
    if (Class !== null) this.#teller ??= new Class();
    const result = handle.writeBuffer!(this.#teller, bytes);
    const teller = typeof result === 'number' ? this.#teller : result;
    if (teller !== null && teller.getAsyncId() > 0) return this.#await(teller, bytes);
    if (result !== 0 && !(teller === result && teller.writeStatus === 0)) this.#onFailed();
    return true;
  }

  /** The handle has the teller, though the kernel may have taken everything by now. */
  #await(teller: Teller, bytes: Buffer): boolean {
    this.#teller = null;
    this.#isWaiting = true;
    teller.bytes = bytes;
    teller.oncomplete = (status) => this.#onComplete(status);
    return false;
  }

  /** A stream that has nothing else to send hands bytes to the kernel at once, unless it is TLS. */
  #writeToStream(bytes: Buffer, isLeft: boolean): boolean {
    const socket = this.#socket;
    if (isLeft && !this.isCopying && socket.writableLength === 0) {
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

/** The object through which a handle calls back. */
interface Teller {
  /** Positive while a handle has it. */
  getAsyncId(): number;
  /** The result of a write that ended within the call. */
  readonly writeStatus?: number | null;
  /** Called when the kernel has taken the bytes, with 0, or a negative error number. */
  oncomplete?(status: number): void;
  /** The bytes, kept from the collector until then. */
  bytes?: Buffer;
}

type TellerClass = new () => Teller;

/** The part of Node's sockets that its types leave out. */
interface Handled {
  readonly _handle?: StreamHandle | null;
  /** Of a TLS socket. */
  readonly encrypted?: true;
}

interface StreamHandle {
  /** Bytes that the kernel has not taken. */
  readonly writeQueueSize: number;
  /** Hands over bytes: 0, a negative error number, or the teller. */
  writeBuffer?(teller: Teller | null, bytes: Buffer): number | Teller;
}

/** The class of all tellers, once a stream has shown it; null where handles make them. */
let Class: TellerClass | null | undefined;

/** The next write of a stream to the handle shows the class of its teller. */
function showClass(handle: StreamHandle): void {
  handle.writeBuffer = (teller, bytes) => {
    delete handle.writeBuffer;
    Class = teller === null ? null : (teller.constructor as TellerClass);
    return handle.writeBuffer!(teller, bytes);
  };
}
