import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Server } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, describe, it, mock } from 'node:test';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Application } from '../../src/http/application.ts';
import { type TcpHandle, TcpHandles } from '../../src/http/tcp-handles.ts';
import { RawClient } from '../integration/client.ts';
import { countTimers } from '../timer-count.ts';
import { until } from './checked-carrier.ts';
import { errorOf } from './fake-handle.ts';
import type { Served } from './serve-once.ts';
import { createTestServer } from './test-server.ts';

/** A listening handle, or a client's. */
type Tcp = TcpHandle & {
  onconnection: (status: number, accepted: TcpHandle) => void;
  connect(request: object, address: string, port: number): number;
};

interface Modules {
  readonly stream_wrap: object;
  readonly tcp_wrap: {
    readonly TCP: new (kind: number) => Tcp;
    readonly TCPConnectWrap: new () => object;
    readonly constants: { readonly SOCKET: number };
  };
}

type Load = Parameters<typeof TcpHandles.check>[0];

/** Node's internal modules. */
const { binding } = process as unknown as {
  binding<Name extends keyof Modules>(module: Name): Modules[Name];
};

afterEach(() => mock.timers.reset());

/** Returns Node's modules, with changes of those named. */
function changed(changes: Partial<Record<keyof Modules, object>>): Load {
  return () => (module) => {
    const name = module as keyof Modules;
    return { ...binding(name), ...changes[name] };
  };
}

/** Returns modules whose listening handles pass accepted ones, each changed. */
function changedHandles(change: (handle: TcpHandle) => void): Load {
  class TCP extends binding('tcp_wrap').TCP {
    constructor(kind: number) {
      super(kind);
      let onConnection: Tcp['onconnection'] = () => {};
      Object.defineProperty(this, 'onconnection', {
        set(run: Tcp['onconnection']) {
          onConnection = run;
        },
        get: () => (status: number, accepted: TcpHandle) => {
          change(accepted);
          onConnection(status, accepted);
        },
      });
    }
  }
  return changed({ tcp_wrap: { TCP } });
}

/** Replaces a property of a handle, whose class has it. */
function replace(handle: TcpHandle, name: string, value: unknown): void {
  Object.defineProperty(handle, name, { value, configurable: true });
}

/** Returns the reason why handles are not available. Asserts that nothing of the check remains open. */
async function reasonAgainst(load: Load): Promise<string> {
  const open = resources();
  const timers = countTimers();
  const reason = await TcpHandles.check(load);
  await until(() => resources().length <= open.length, 'everything is closed');
  assert.equal(await timers.count(), 0);
  timers.end();
  if (typeof reason !== 'string') assert.fail('handles are available');
  return reason;
}

/** The open handles of the process, and its timers that keep it alive. */
function resources(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => /TCP|Timeout/.test(name))
    .sort();
}

describe('The check of handles', () => {
  it('finds them in this version of Node, and leaves nothing open', async () => {
    const open = resources();
    const timers = countTimers();
    assert((await TcpHandles.check(changed({}))) instanceof TcpHandles);
    await until(() => resources().length <= open.length, 'everything is closed');
    assert.equal(await timers.count(), 0);
    timers.end();
  });

  it('passes over connections of other programs to its port', async () => {
    const { TCPConnectWrap, TCP: Handle, constants } = binding('tcp_wrap');
    const strangers: Tcp[] = [];
    class TCP extends Handle {
      override connect(request: object, address: string, port: number): number {
        for (let count = 0; count < 3; count++) {
          const stranger = new Handle(constants.SOCKET);
          strangers.push(stranger);
          assert.equal(stranger.connect(new TCPConnectWrap(), address, port), 0);
        }
        return super.connect(request, address, port);
      }
    }
    const handles = await TcpHandles.check(changed({ tcp_wrap: { TCP } }));
    for (const stranger of strangers) stranger.close(() => {});
    assert(handles instanceof TcpHandles);
    assert.equal(strangers.length, 3);
  });

  for (const name of ['WriteWrap', 'ShutdownWrap', 'streamBaseState', 'kReadBytesOrError']) {
    it(`names ${name} if it is missing or of another type`, async () => {
      for (const value of [undefined, null, 'text']) {
        const reason = await reasonAgainst(changed({ stream_wrap: { [name]: value } }));
        assert.equal(reason, `${name} is ${value === null ? 'null' : typeof value}`);
      }
    });
  }

  it('names a method of write requests that is missing', async () => {
    class WriteWrap {}
    const load = changed({ stream_wrap: { WriteWrap } });
    assert.equal(await reasonAgainst(load), 'getAsyncId is undefined');
  });

  it('reports that Node refuses its internals', async () => {
    const refuse = (): never => {
      throw new Error('Access to this API has been restricted');
    };
    assert.equal(await reasonAgainst(refuse), 'Access to this API has been restricted');
  });

  for (const name of ['TCP', 'TCPConnectWrap']) {
    it(`names ${name} if it is missing or of another type`, async () => {
      for (const value of [undefined, null, 'text']) {
        const reason = await reasonAgainst(changed({ tcp_wrap: { [name]: value } }));
        assert.equal(reason, `${name} is ${value === null ? 'null' : typeof value}`);
      }
    });
  }

  it('names onconnection if a server does not have it', async () => {
    const handles = await TcpHandles.check(changed({}));
    assert(handles instanceof TcpHandles);
    for (const _handle of [undefined, null, {}, { onconnection: null }]) {
      const server = { _handle } as unknown as Server;
      assert.throws(
        () => handles.accept(server, () => {}),
        /^Error: onconnection is (undefined|null)$/,
      );
    }
  });

  const METHODS = ['useUserBuffer', 'readStart', 'readStop', 'setNoDelay', 'getpeername'] as const;
  const OTHERS = ['getsockname', 'writeBuffer', 'shutdown', 'close'] as const;
  for (const name of [...METHODS, ...OTHERS]) {
    it(`names ${name} if a handle does not have it`, async () => {
      for (const value of [undefined, null, 7]) {
        const load = changedHandles((handle) => {
          if (name !== 'close') return replace(handle, name, value);
          // The handle is to be closed all the same.
          const { close } = handle;
          Object.defineProperty(handle, name, {
            configurable: true,
            get() {
              Object.defineProperty(handle, name, { value: close });
              return value;
            },
          });
        });
        assert.equal(
          await reasonAgainst(load),
          `${name} is ${value === null ? 'null' : typeof value}`,
        );
      }
    });
  }

  it('names writeQueueSize if a handle does not have it', async () => {
    const load = changedHandles((handle) => replace(handle, 'writeQueueSize', undefined));
    assert.equal(await reasonAgainst(load), 'writeQueueSize works in another way');
  });
});

describe('The check of handles names a part that works in another way:', () => {
  const CHANGES: Readonly<Record<string, readonly ((handle: TcpHandle) => void)[]>> = {
    getpeername: [(handle) => replace(handle, 'getpeername', () => 0)],
    getsockname: [
      (handle) => replace(handle, 'getsockname', () => 0),
      (handle) => replace(handle, 'getsockname', () => errorOf('EINVAL')),
    ],
    setNoDelay: [(handle) => replace(handle, 'setNoDelay', () => undefined)],
    readStart: [
      (handle) => replace(handle, 'readStart', () => undefined),
      (handle) => replace(handle, 'readStart', () => errorOf('EINVAL')),
    ],
    readStop: [(handle) => replace(handle, 'readStop', () => errorOf('EINVAL'))],
    onread: [
      // Reads use a buffer that the carrier does not know.
      (handle) => {
        const { useUserBuffer } = handle;
        replace(handle, 'useUserBuffer', () => useUserBuffer.call(handle, Buffer.alloc(64)));
      },
      // It is called with another object.
      (handle) => {
        const prototype = Object.getPrototypeOf(handle) as TcpHandle;
        Object.defineProperty(handle, 'onread', {
          set: (run: () => void) => Reflect.set(prototype, 'onread', () => run.call({}), handle),
        });
      },
    ],
    writeBuffer: [(handle) => replace(handle, 'writeBuffer', () => errorOf('EPIPE'))],
    writeQueueSize: [(handle) => replace(handle, 'writeQueueSize', 7)],
    shutdown: [(handle) => replace(handle, 'shutdown', () => 1)],
    close: [
      (handle) => {
        const { close } = handle;
        replace(handle, 'close', (onClosed: () => void) => {
          close.call(handle, () => {});
          replace(handle, 'readStart', () => 0);
          onClosed();
        });
      },
    ],
  };
  for (const [name, changes] of Object.entries(CHANGES)) {
    it(name, async () => {
      for (const change of changes) {
        assert.equal(await reasonAgainst(changedHandles(change)), `${name} works in another way`);
      }
    });
  }

  it('streamBaseState, as onread', async () => {
    const load = changed({ stream_wrap: { kReadBytesOrError: 1_000_000 } });
    assert.equal(await reasonAgainst(load), 'onread works in another way');
  });
});

describe('The check of handles names a part that has no effect:', () => {
  /** Lets the time of the check pass, in place of a part. */
  const pass = (): void => mock.timers.tick(2000);
  const CHANGES: Readonly<Record<string, (handle: TcpHandle) => void>> = {
    onread: (handle) => {
      replace(handle, 'readStart', () => {
        setImmediate(pass);
        return 0;
      });
    },
    shutdown: (handle) => {
      replace(handle, 'shutdown', () => {
        setImmediate(pass);
        return 0;
      });
    },
    close: (handle) => {
      const { close } = handle;
      replace(handle, 'close', () => {
        close.call(handle, () => {});
        setImmediate(pass);
      });
    },
  };
  for (const [name, change] of Object.entries(CHANGES)) {
    it(name, async () => {
      mock.timers.enable({ apis: ['setTimeout'] });
      assert.equal(
        await reasonAgainst(changedHandles(change)),
        `${name} has no effect within 2000 ms`,
      );
    });
  }

  it('onconnection', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    class TCP extends binding('tcp_wrap').TCP {
      constructor(kind: number) {
        super(kind);
        Object.defineProperty(this, 'onconnection', {
          set() {},
          get: () => (_: number, accepted: TcpHandle) => accepted.close(() => setImmediate(pass)),
        });
      }
    }
    assert.equal(
      await reasonAgainst(changed({ tcp_wrap: { TCP } })),
      'onconnection has no effect within 2000 ms',
    );
  });
});

const GET = 'GET /grid/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
const PROGRAM = new URL('serve-once.ts', import.meta.url).pathname;
const [MAJOR = 0] = process.versions.node.split('.').map(Number);

describe('A server', () => {
  /** Runs a process that serves on a connection. */
  const served = async (
    flags: readonly string[],
    env = {},
  ): Promise<Served & { stderr: string }> => {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [...flags, '--import', 'tsx', PROGRAM],
      { env: { ...process.env, NODE_OPTIONS: '', ...env } },
    );
    return { ...(JSON.parse(stdout) as Served), stderr };
  };

  it('uses handles in a worker thread', async () => {
    const start = `import('tsx/esm/api').then(({ register }) => (register(), import('${PROGRAM}')))`;
    const worker = new Worker(start, { eval: true });
    const [result] = await once(worker, 'message');
    assert.deepEqual(result, { status: 200, reasons: [], sockets: 0 });
  });

  it('uses sockets where Node would print a deprecation, and none is printed', async () => {
    const results = await Promise.all([
      served(['--pending-deprecation']),
      served([], { NODE_PENDING_DEPRECATION: '1' }),
    ]);
    for (const { stderr, ...result } of results) {
      const reasons = ['process.binding would print a deprecation'];
      assert.deepEqual(result, { status: 200, reasons, sockets: 1 });
      assert.doesNotMatch(stderr, /DEP0111|process\.binding/);
    }
  });

  it('uses sockets under the permission model', async () => {
    const flag = MAJOR >= 24 ? '--permission' : '--experimental-permission';
    const allowed = ['--allow-fs-read=*', '--allow-fs-write=*', '--allow-worker'];
    const others =
      MAJOR >= 25 ? ['--allow-net', '--allow-child-process'] : ['--allow-child-process'];
    const { status, reasons, sockets } = await served([flag, ...allowed, ...others]);
    assert.deepEqual({ status, sockets }, { status: 200, sockets: 1 });
    assert.equal(reasons.length, 1);
    assert.match(reasons[0] ?? '', /restricted|process\.binding/);
  });

  it('reports an error of accepting, and serves afterwards', async () => {
    const listen = mock.method(Server.prototype, 'listen');
    const { server, failures } = createTestServer();
    const { port } = await server.listen('127.0.0.1', 0);
    listen.mock.restore();
    const { _handle: handle } = listen.mock.calls[0]!.this as unknown as { readonly _handle: Tcp };
    for (const name of ['EMFILE', 'ENFILE', 'ECONNABORTED'] as const) {
      handle.onconnection(errorOf(name), undefined as never);
      assert.equal((failures.pop() as NodeJS.ErrnoException).code, name);
      const client = new RawClient(port);
      client.send(GET);
      assert.equal((await client.response())?.status, 200);
      client.destroy();
    }
    assert.deepEqual(failures, []);
    server.abort();
  });

  it('serves after more connections than there are descriptors', async (context) => {
    const words = ['-c', 'ulimit -n 200; exec "$@"', 'sh', process.execPath, '--import', 'tsx'];
    const child = spawn('sh', [...words, PROGRAM, 'serve'], { stdio: ['pipe', 'pipe', 'inherit'] });
    context.after(() => child.kill());
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const clients = Array.from({ length: 300 }, () => new RawClient(Number(line)));
    for (const client of clients) client.send(GET);
    const answers = await Promise.all(
      clients.map((client) => client.response().catch(() => undefined)),
    );
    const statuses = answers.map((answer) => answer?.status);
    assert(statuses.includes(200) && statuses.includes(undefined));
    assert(statuses.every((status) => status === 200 || status === undefined));
    for (const client of clients) client.destroy();
    for (let tries = 0; ; tries++) {
      assert(tries < 1000, 'it serves again');
      const client = new RawClient(Number(line));
      client.send(GET);
      const answer = await client.response().catch(() => undefined);
      client.destroy();
      if (answer?.status === 200) break;
    }
  });

  it('loses no connection that arrives as soon as it listens', async () => {
    // Clients connect within the call that begins to listen, before it has returned.
    const { listen } = Server.prototype;
    const clients: RawClient[] = [];
    const listening = mock.method(
      Server.prototype,
      'listen',
      function (this: Server, ...options: Parameters<typeof listen>) {
        this.prependOnceListener('listening', () => {
          const { port } = this.address() as { readonly port: number };
          for (let count = 0; count < 10; count++) clients.push(new RawClient(port));
        });
        return listen.apply(this, options);
      },
    );
    const { server } = createTestServer();
    await server.listen('127.0.0.1', 0);
    listening.mock.restore();
    assert.equal(clients.length, 10);
    for (const client of clients) {
      client.send(GET);
      assert.equal((await client.response())?.status, 200);
      client.destroy();
    }
    server.abort();
  });

  it('keeps the asynchronous context of one connection from all others', async () => {
    const storage = new AsyncLocalStorage<number>();
    const seen: (number | undefined)[] = [];
    const wrap = (application: Application): Application => ({
      open(request) {
        const handler = application.open(request);
        const { run } = handler;
        return Object.assign(handler, {
          run() {
            seen.push(storage.getStore());
            storage.enterWith(seen.length);
            run.call(handler);
          },
        });
      },
    });
    const { server } = createTestServer({}, { wrap });
    const { port } = await server.listen('127.0.0.1', 0);
    for (let round = 0; round < 2; round++) {
      const clients = Array.from({ length: 5 }, () => new RawClient(port));
      for (const client of clients) client.send(GET);
      for (const client of clients) assert.equal((await client.response())?.status, 200);
      for (const client of clients) client.destroy();
    }
    assert.deepEqual(seen, Array(10).fill(undefined));
    server.abort();
  });
});
