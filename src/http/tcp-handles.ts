/**
 * The handles of Node's TCP connections, without `net.Socket`. A socket adds two streams, emitters and some
 * thirty objects to each connection, which cost more than the connection itself (bench: http-load).
 *
 * Handles are internal to Node. This file names everything of them that is used, and `tcpHandles` checks
 * it once in each process: that it exists, and over one connection to itself that it works as expected. If
 * not, servers use sockets instead. So they do if Node refuses access to its internals (the permission
 * model), or would print a deprecation (`--pending-deprecation`). Tested by tcp-handles.spec.ts.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { getSystemErrorMap } from 'node:util';

/** Time limit for the check, in ms. */
const CHECK_MS = 2000;

/** A TCP connection. Its methods return 0 or a negative error number, unless stated otherwise. */
export interface TcpHandle {
  /** Bytes that the kernel has not accepted. */
  readonly writeQueueSize: number;
  /** Called for each read; `TcpHandles.readResult` has its result. */
  onread: (this: TcpHandle) => void;
  /** Sets the buffer that all reads use. */
  useUserBuffer(buffer: Uint8Array): void;
  readStart(): number;
  readStop(): number;
  setNoDelay(isOn: boolean): number;
  getpeername(name: SocketName): number;
  getsockname(name: SocketName): number;
  /** Writes bytes. From Node 25 on also returns a request, if it needs one. */
  writeBuffer(request: WriteRequest, bytes: Uint8Array): number | WriteRequest;
  /** Ends this side after all written bytes. 1: this was done during the call. */
  shutdown(request: HandleRequest): number;
  close(onClosed: (this: TcpHandle) => void): void;
  /** The carrier of the connection. */
  owner?: unknown;
}

/** An object through which a handle calls back. */
export interface HandleRequest {
  /** Called with 0 or a negative error number. */
  oncomplete?(this: HandleRequest, status: number): void;
  /** The carrier to be called. */
  owner?: unknown;
}

interface WriteRequest extends HandleRequest {
  /** Positive while a handle uses the object. */
  getAsyncId(): number;
  /** The bytes, referenced until the kernel has accepted them, so that they are not collected. */
  bytes?: Uint8Array | undefined;
}

/** An address, as a handle returns it. */
export interface SocketName {
  address?: string;
  port?: number;
}

/** The part of a listening handle that is used. */
interface ListeningHandle {
  /** Called for each accepted connection, or with a negative error number. */
  onconnection: (this: ListeningHandle, status: number, handle: TcpHandle | undefined) => void;
}

export class TcpHandles {
  readonly #WriteWrap: new () => WriteRequest;
  readonly #ShutdownWrap: new () => HandleRequest;
  readonly #state: ArrayLike<number>;
  readonly #readIndex: number;
  /** A write request that no handle uses. */
  #spare: WriteRequest;

  /** Checks Node's internal module, which `load` returns. */
  static async check(load: () => Partial<StreamBinding>): Promise<Availability> {
    try {
      const handles = new TcpHandles(load());
      await checkConnection(handles);
      return handles;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Throws an Error that names the part of the module that is missing. */
  constructor(binding: Partial<StreamBinding>) {
    const { WriteWrap, ShutdownWrap, streamBaseState, kReadBytesOrError } = binding;
    this.#WriteWrap = required('WriteWrap', WriteWrap, 'function');
    this.#ShutdownWrap = required('ShutdownWrap', ShutdownWrap, 'function');
    this.#state = required('streamBaseState', streamBaseState, 'object');
    this.#readIndex = required('kReadBytesOrError', kReadBytesOrError, 'number');
    this.#spare = new this.#WriteWrap();
    required('getAsyncId', this.#spare.getAsyncId, 'function');
  }

  /** The result of the present read: bytes, or a negative error number. Only valid in `onread`. */
  get readResult(): number {
    return this.#state[this.#readIndex]!;
  }

  /**
   * Writes bytes. Returns 0 if the kernel has accepted all of them, a negative error number, or the
   * request that is completed when it has.
   */
  write(handle: TcpHandle, bytes: Uint8Array): number | WriteRequest {
    const spare = this.#spare;
    const result = handle.writeBuffer(spare, bytes);
    const request = typeof result === 'number' ? spare : result;
    // A handle uses a request only if the kernel has not accepted all bytes.
    if (request.getAsyncId() <= 0) return typeof result === 'number' ? result : 0;
    if (request === spare) this.#spare = new this.#WriteWrap();
    request.bytes = bytes;
    return request;
  }

  /** Ends this side after all written bytes; `onComplete` is called unless the result is not 0. */
  shutdown(
    handle: TcpHandle,
    owner: unknown,
    onComplete: (this: HandleRequest, status: number) => void,
  ): number {
    const request = new this.#ShutdownWrap();
    request.owner = owner;
    request.oncomplete = onComplete;
    return handle.shutdown(request);
  }

  /**
   * Makes a listening server pass on its connections as handles. Called in the turn in which it begins to
   * listen, before it can accept one. It goes on reporting errors itself.
   */
  accept(server: Server, onHandle: (handle: TcpHandle) => void): void {
    const listening = listeningHandle(server);
    const { onconnection } = listening;
    listening.onconnection = function (status, handle) {
      if (status < 0 || handle === undefined) onconnection.call(this, status, handle);
      else onHandle(handle);
    };
  }
}

/** Numbers of the errors that are distinguished. */
export const UV_EOF = errorNumber('EOF');
export const UV_ENOTCONN = errorNumber('ENOTCONN');

/** The handles, or the reason why sockets are used instead. */
type Availability = TcpHandles | string;

/** Returns the handles if they work in this process, which the first call checks. */
export function tcpHandles(): Promise<Availability> {
  available ??= TcpHandles.check(bindingOf);
  return available;
}

let available: Promise<Availability> | undefined;

/** The part of Node's internal module `stream_wrap` that is used. */
interface StreamBinding {
  readonly WriteWrap: new () => WriteRequest;
  readonly ShutdownWrap: new () => HandleRequest;
  readonly streamBaseState: ArrayLike<number>;
  readonly kReadBytesOrError: number;
}

/** Returns Node's internal module. Throws an Error if Node refuses it, or would print a deprecation. */
function bindingOf(): Partial<StreamBinding> {
  const internal = process as unknown as { readonly binding?: (name: string) => unknown };
  const binding = required('process.binding', internal.binding, 'function');
  // Node replaces the function by one that prints the deprecation.
  if (Object.getPrototypeOf(binding) !== Function.prototype)
    throw new Error('process.binding would print a deprecation');
  return binding('stream_wrap') as Partial<StreamBinding>;
}

/** Uses every part of a handle over one connection of this process to itself. */
async function checkConnection(handles: TcpHandles): Promise<void> {
  const server = createServer();
  let client: Socket | undefined;
  let accepted: TcpHandle | undefined;
  const signal = AbortSignal.timeout(CHECK_MS);
  try {
    server.listen({ host: '127.0.0.1', port: 0, backlog: 1 });
    await once(server, 'listening', { signal });
    const { port } = server.address() as AddressInfo;
    const arrival = new Promise<TcpHandle>((resolve) => handles.accept(server, resolve));
    client = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    client.on('error', () => {});
    accepted = await within(signal, arrival);
    await within(signal, useHandle(handles, accepted, client, port));
    accepted = undefined;
  } finally {
    accepted?.close(() => {});
    client?.destroy();
    server.close();
  }
}

async function useHandle(
  handles: TcpHandles,
  handle: TcpHandle,
  client: Socket,
  port: number,
): Promise<void> {
  requireMethods(handle);
  const name: SocketName = {};
  expect('getpeername', handle.getpeername(name) === 0 && name.address === '127.0.0.1');
  expect('getsockname', handle.getsockname(name) === 0 && name.port === port);
  expect('setNoDelay', handle.setNoDelay(true) === 0);
  const buffer = Buffer.alloc(64);
  let onRead: (result: number) => void = () => {};
  const nextRead = (): Promise<number> => new Promise((resolve) => (onRead = resolve));
  handle.useUserBuffer(buffer);
  handle.onread = function () {
    expect('onread', this === handle);
    onRead(handles.readResult);
  };
  expect('readStart', handle.readStart() === 0);
  const read = nextRead();
  client.write('question');
  expect('read', (await read) === 8 && buffer.toString('latin1', 0, 8) === 'question');
  expect('readStop', handle.readStop() === 0 && handle.readStart() === 0);
  const received = once(client, 'data');
  const isWritten = handles.write(handle, Buffer.from('answer')) === 0;
  expect('writeBuffer', isWritten && handle.writeQueueSize === 0);
  expect('writeBuffer', String((await received)[0]) === 'answer');
  const ended = once(client, 'end');
  const status = await new Promise<number>((resolve) => {
    expect('shutdown', handles.shutdown(handle, undefined, resolve) === 0);
  });
  expect('shutdown', status === 0);
  await ended;
  const end = nextRead();
  client.end();
  expect('onread', (await end) === UV_EOF);
  await new Promise<void>((resolve) => handle.close(resolve));
  expect('readStart', handle.readStart() < 0);
}

function requireMethods(handle: TcpHandle): void {
  for (const name of METHODS) required(name, handle[name], 'function');
  required('writeQueueSize', handle.writeQueueSize, 'number');
}

const METHODS = [
  'useUserBuffer',
  'readStart',
  'readStop',
  'setNoDelay',
  'getpeername',
  'getsockname',
  'writeBuffer',
  'shutdown',
  'close',
] as const;

function listeningHandle(server: Server): ListeningHandle {
  const { _handle: handle } = server as unknown as { readonly _handle?: ListeningHandle | null };
  required('onconnection', handle?.onconnection, 'function');
  return handle!;
}

/** Returns the value. Throws an Error if it is missing or of another type. */
function required<Value>(name: string, value: Value | undefined | null, type: string): Value {
  if (typeof value === type && value !== undefined && value !== null) return value;
  throw new Error(`${name} is ${value === null ? 'null' : typeof value}`);
}

function expect(name: string, isAsExpected: boolean): void {
  if (!isAsExpected) throw new Error(`${name} works in another way`);
}

/** Rejects when the signal is aborted first. */
async function within<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error(`no result within ${CHECK_MS} ms`)));
  });
  return await Promise.race([promise, late]);
}

/** Returns the number of a system error by its name. */
function errorNumber(wanted: string): number {
  for (const [number, [name]] of getSystemErrorMap()) if (name === wanted) return number;
  assert.fail(`no error ${wanted}`);
}
