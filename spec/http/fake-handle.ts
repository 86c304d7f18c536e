/**
 * The handle of a connection without a socket. It does what a spec tells it to: returns an error, accepts
 * some of the bytes, completes a request. It fails a carrier that uses it after it was closed.
 */
import assert from 'node:assert/strict';
import { constants } from 'node:os';
import {
  type HandleRequest,
  type SocketName,
  type TcpHandle,
  TcpHandles,
} from '../../src/http/tcp-handles.ts';

type CallName =
  | 'readStart'
  | 'readStop'
  | 'setNoDelay'
  | 'getpeername'
  | 'getsockname'
  | 'writeBuffer'
  | 'shutdown';

/** Returns the number by which handles report a system error. */
export function errorOf(name: keyof typeof constants.errno): number {
  return -constants.errno[name];
}

/** A write or shutdown. */
class FakeRequest implements HandleRequest {
  owner: unknown = undefined;
  oncomplete?: (this: HandleRequest, status: number) => void;
  bytes?: Uint8Array | undefined;
  isUsed = false;

  getAsyncId(): number {
    return this.isUsed ? 7 : -1;
  }
}

export class FakeHandle implements TcpHandle {
  owner: unknown = undefined;
  onread: (this: TcpHandle) => void = () => {};
  writeQueueSize = 0;
  /** The calls of the handle, except those for addresses. */
  readonly calls: string[] = [];
  /** Results of the next call of each name; without one it succeeds. */
  readonly results = new Map<CallName, number>();
  /** The requests that were used. */
  readonly requests: FakeRequest[] = [];
  readonly sent: Uint8Array[] = [];
  /** Number of bytes that are accepted immediately. */
  roomBytes = Number.POSITIVE_INFINITY;
  isReading = false;
  buffer: Uint8Array = new Uint8Array(0);
  readonly #createsRequests: boolean;
  readonly #state = [0];
  #write: FakeRequest | undefined;
  #shutdown: FakeRequest | undefined;
  #onClosed: ((this: TcpHandle) => void) | undefined;

  /** `createsRequests`: whether writes create their requests, as from Node 25 on. */
  constructor({ createsRequests = false } = {}) {
    this.#createsRequests = createsRequests;
  }

  /** Node's internals, whose results are those of this handle. */
  get internals(): TcpHandles {
    return new TcpHandles({
      WriteWrap: FakeRequest,
      ShutdownWrap: FakeRequest,
      streamBaseState: this.#state,
      kReadBytesOrError: 0,
    });
  }

  get isClosing(): boolean {
    return this.calls.includes('close');
  }

  useUserBuffer(buffer: Uint8Array): void {
    this.buffer = buffer;
  }

  readStart(): number {
    const result = this.#call('readStart') || (this.isReading ? errorOf('EALREADY') : 0);
    if (result === 0) this.isReading = true;
    return result;
  }

  readStop(): number {
    this.isReading = false;
    return this.#call('readStop');
  }

  setNoDelay(isOn: boolean): number {
    assert.equal(isOn, true);
    return this.#call('setNoDelay');
  }

  getpeername(name: SocketName): number {
    return this.#name('getpeername', name, { address: '127.0.0.2', port: 40_000 });
  }

  getsockname(name: SocketName): number {
    return this.#name('getsockname', name, { address: '127.0.0.1', port: 5701 });
  }

  writeBuffer(passed: HandleRequest, bytes: Uint8Array): number | FakeRequest {
    const result = this.#call('writeBuffer');
    if (result < 0) return result;
    const accepted = Math.min(this.roomBytes, bytes.length);
    this.roomBytes -= accepted;
    this.sent.push(bytes.slice(0, accepted));
    if (accepted === bytes.length) return 0;
    assert.equal(this.#write, undefined, 'one write waits at a time');
    this.writeQueueSize = bytes.length - accepted;
    const request = this.#createsRequests ? new FakeRequest() : (passed as FakeRequest);
    this.#write = this.#use(request);
    return this.#createsRequests ? request : 0;
  }

  shutdown(request: HandleRequest): number {
    const result = this.#call('shutdown');
    if (result === 0) this.#shutdown = this.#use(request as FakeRequest);
    else this.requests.push(request as FakeRequest);
    return result;
  }

  close(onClosed: (this: TcpHandle) => void): void {
    this.#call('close');
    this.#onClosed = onClosed;
  }

  /** The client sends bytes. */
  receive(text: string): void {
    assert(this.isReading);
    this.buffer.set(Buffer.from(text));
    this.read(text.length);
  }

  /** Calls back with the result of a read. After an error, including the end, no read follows. */
  read(result: number): void {
    this.#state[0] = result;
    if (result < 0) this.isReading = false;
    this.onread();
    this.#state[0] = 0;
  }

  completeWrite(status: number): void {
    const request = this.#write;
    this.#write = undefined;
    this.writeQueueSize = 0;
    this.#complete(request, status);
  }

  completeShutdown(status: number): void {
    const request = this.#shutdown;
    this.#shutdown = undefined;
    this.#complete(request, status);
  }

  /** Completes the close, before it the requests under way. */
  finishClose(): void {
    assert(this.#onClosed !== undefined, 'the handle is closed');
    if (this.#write !== undefined) this.completeWrite(errorOf('ECANCELED'));
    if (this.#shutdown !== undefined) this.completeShutdown(errorOf('ECANCELED'));
    this.#onClosed();
  }

  #call(name: CallName | 'close'): number {
    assert(!this.isClosing, `${name} of a closed handle`);
    this.calls.push(name);
    return name === 'close' ? 0 : this.#result(name);
  }

  #name(call: CallName, name: SocketName, values: SocketName): number {
    const result = this.isClosing ? errorOf('EBADF') : this.#result(call);
    if (result === 0) Object.assign(name, values);
    return result;
  }

  #result(name: CallName): number {
    const result = this.results.get(name) ?? 0;
    this.results.delete(name);
    return result;
  }

  #use(request: FakeRequest): FakeRequest {
    assert(!request.isUsed, 'a request is used once');
    request.isUsed = true;
    this.requests.push(request);
    return request;
  }

  #complete(request: FakeRequest | undefined, status: number): void {
    assert(request?.oncomplete !== undefined, 'a request is under way');
    request.oncomplete(status);
  }
}
