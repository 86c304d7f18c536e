/**
 * The handles of Node's TCP connections, without `net.Socket`. A socket adds two streams, emitters and some
 * thirty objects to each connection, which cost more than the connection itself (bench: connections).
 *
 * Handles are internal to Node. This file names everything of them that is used, and `tcpHandles` checks
 * it once in each process: that it exists, and over one connection to itself that it works as expected. If
 * not, servers use sockets instead; the same applies if Node refuses access to its internals (the permission
 * model), or would print a deprecation (`--pending-deprecation`). Tested by tcp-handles.spec.ts.
 */
import assert from 'node:assert/strict';
import type { Server } from 'node:net';
import { getSystemErrorMap } from 'node:util';

/** Time limit for the check, in ms. */
const CHECK_MS = 2000;
/** Connections that may wait for the check: its own, and those of other programs. */
const CHECK_BACKLOG = 64;

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

  /** Checks Node's internal modules, which `load` returns by their names. */
  static async check(load: () => (module: string) => object): Promise<Availability> {
    try {
      const binding = load();
      const handles = new TcpHandles(binding('stream_wrap'));
      await new Check(handles, binding('tcp_wrap')).run();
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
    const result = handle.shutdown(request);
    if (result !== 0) request.owner = undefined;
    return result;
  }

  /**
   * Makes a listening server pass on its connections as handles. Called in the turn in which it begins to
   * listen, before it can accept one. It goes on reporting errors itself. Throws an Error if it cannot.
   */
  accept(server: Server, onHandle: (handle: TcpHandle) => void): void {
    const { _handle: listening } = server as unknown as { readonly _handle: ListeningHandle };
    required('onconnection', listening?.onconnection, 'function');
    const { onconnection } = listening;
    listening.onconnection = function (status, handle) {
      if (status < 0 || handle === undefined) onconnection.call(this, status, handle);
      else onHandle(handle);
    };
  }
}

/** Numbers of the errors that are distinguished. */
export const UV_EALREADY = errorNumber('EALREADY');
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

/** The part of Node's internal module `tcp_wrap` that the check uses. */
interface TcpBinding {
  readonly TCP: new (kind: number) => TcpHandle & ListeningHandle & Connecting;
  readonly TCPConnectWrap: new () => HandleRequest;
  readonly constants: { readonly SOCKET: number; readonly SERVER: number };
}

interface Connecting {
  bind(address: string, port: number): number;
  listen(backlog: number): number;
  connect(request: HandleRequest, address: string, port: number): number;
}

/** Returns Node's internal modules. Throws an Error if using them would print a deprecation. */
function bindingOf(): (module: string) => object {
  const internal = process as unknown as { readonly binding?: (module: string) => object };
  const binding = required('process.binding', internal.binding, 'function');
  // Node replaces the function by one that prints the deprecation.
  if (Object.getPrototypeOf(binding) !== Function.prototype)
    throw new Error('process.binding would print a deprecation');
  return (module) => {
    try {
      return binding(module);
    } catch (error) {
      throw new Error('Node refuses process.binding', { cause: error });
    }
  };
}

/** Uses every part of a handle over one connection of this process to itself. */
class Check {
  readonly #handles: TcpHandles;
  readonly #binding: TcpBinding;
  readonly #buffer = Buffer.alloc(64);
  readonly #open: Pick<TcpHandle, 'close'>[] = [];
  /** The part that is awaited. */
  #awaited = 'connect';
  #timer: NodeJS.Timeout | undefined;

  constructor(handles: TcpHandles, binding: Partial<TcpBinding>) {
    required('TCP', binding.TCP, 'function');
    required('TCPConnectWrap', binding.TCPConnectWrap, 'function');
    this.#handles = handles;
    this.#binding = binding as TcpBinding;
  }

  /** Rejects with an Error that names the part that is missing or works in another way. */
  async run(): Promise<void> {
    const late = new Promise<never>((_, reject) => {
      this.#timer = setTimeout(
        () => reject(new Error(`${this.#awaited} has no effect within ${CHECK_MS} ms`)),
        CHECK_MS,
      );
    });
    try {
      await Promise.race([this.#exchange(), late]);
    } finally {
      clearTimeout(this.#timer);
      for (const handle of this.#open) handle.close(() => {});
    }
  }

  async #exchange(): Promise<void> {
    const [client, handle] = await this.#connect();
    const question = this.#read(handle);
    expect('writeBuffer', this.#handles.write(client, Buffer.from('question')) === 0);
    this.#awaited = 'onread';
    expect('onread', (await question) === 'question');
    expect('readStop', handle.readStop() === 0 && handle.readStart() === 0);
    const answer = this.#read(client);
    expect('writeBuffer', this.#handles.write(handle, Buffer.from('answer')) === 0);
    expect('writeQueueSize', handle.writeQueueSize === 0);
    expect('onread', (await answer) === 'answer');
    const clientEnd = this.#read(handle);
    await this.#shutDown(client);
    this.#awaited = 'onread';
    expect('onread', (await clientEnd) === UV_EOF);
    const end = this.#read(client);
    await this.#shutDown(handle);
    this.#awaited = 'onread';
    expect('onread', (await end) === UV_EOF);
    this.#awaited = 'close';
    await new Promise<void>((resolve) => handle.close(resolve));
    expect('close', handle.readStart() < 0);
  }

  /** Returns both sides of a connection. */
  async #connect(): Promise<[client: TcpHandle, accepted: TcpHandle]> {
    const { TCP, TCPConnectWrap, constants } = this.#binding;
    const listening = new TCP(constants.SERVER);
    this.#open.push(listening);
    expect('listen', listening.bind('127.0.0.1', 0) === 0 && listening.listen(CHECK_BACKLOG) === 0);
    const name: SocketName = {};
    expect('getsockname', listening.getsockname(name) === 0);
    const port = required('port', name.port, 'number');
    const client = new TCP(constants.SOCKET);
    const arrival = new Promise<TcpHandle | undefined>((resolve) => {
      listening.onconnection = (_, accepted) => {
        if (accepted !== undefined) this.#open.push(accepted);
        // Another program may connect to the port as well.
        if (accepted === undefined || !isOfAnother(accepted, client)) resolve(accepted);
      };
    });
    this.#open.push(client);
    await completed(new TCPConnectWrap(), (request) => client.connect(request, '127.0.0.1', port));
    this.#awaited = 'onconnection';
    const handle = required('the handle of a connection', await arrival, 'object');
    for (const method of METHODS) required(method, handle[method], 'function');
    const own: SocketName = {};
    expect('getsockname', handle.getsockname(own) === 0 && own.port === port);
    const peer: SocketName = {};
    expect('getpeername', handle.getpeername(peer) === 0 && peer.address === '127.0.0.1');
    expect('setNoDelay', handle.setNoDelay(true) === 0);
    for (const side of [client, handle]) {
      side.useUserBuffer(this.#buffer);
      expect('readStart', side.readStart() === 0);
    }
    return [client, handle];
  }

  /** Resolves with the bytes of the next read, or with its negative error number. */
  #read(handle: TcpHandle): Promise<string | number> {
    const handles = this.#handles;
    const buffer = this.#buffer;
    return new Promise((resolve) => {
      handle.onread = function () {
        const result = this === handle ? handles.readResult : 0;
        resolve(result > 0 ? buffer.toString('latin1', 0, result) : result);
      };
    });
  }

  async #shutDown(handle: TcpHandle): Promise<void> {
    this.#awaited = 'shutdown';
    const status = await new Promise<number>((resolve) => {
      expect('shutdown', this.#handles.shutdown(handle, undefined, resolve) === 0);
    });
    expect('shutdown', status === 0);
  }
}

/** Whether the accepted connection is certainly not that of the client. */
function isOfAnother(accepted: Partial<TcpHandle>, client: TcpHandle): boolean {
  const peer: SocketName = {};
  const own: SocketName = {};
  if (typeof accepted.getpeername !== 'function' || accepted.getpeername(peer) !== 0) return false;
  if (client.getsockname(own) !== 0) return false;
  return peer.port !== undefined && peer.port !== own.port;
}

/** Resolves when the request that `begin` makes is completed. */
async function completed(
  request: HandleRequest,
  begin: (request: HandleRequest) => number,
): Promise<void> {
  const status = await new Promise<number>((resolve) => {
    request.oncomplete = resolve;
    expect('connect', begin(request) === 0);
  });
  expect('connect', status === 0);
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

/** Returns the value. Throws an Error if it is missing or of another type. */
function required<Value>(name: string, value: Value | undefined | null, type: string): Value {
  if (typeof value === type && value !== undefined && value !== null) return value;
  throw new Error(`${name} is ${value === null ? 'null' : typeof value}`);
}

function expect(name: string, isAsExpected: boolean): void {
  if (!isAsExpected) throw new Error(`${name} works in another way`);
}

/** Returns the number of a system error by its name. */
function errorNumber(wanted: string): number {
  for (const [number, [name]] of getSystemErrorMap()) if (name === wanted) return number;
  assert.fail(`no error ${wanted}`);
}
