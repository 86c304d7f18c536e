import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { GridError } from '../../src/base/errors.ts';
import { listeningLine } from '../../src/cli/listening-line.ts';
import { serve } from '../../src/cli/serve.ts';
import { StopEvents } from '../../src/cli/stop-events.ts';
import { resolveConfig } from '../../src/member/config.ts';
import type { Member } from '../../src/member/member.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { configWith } from '../integration/member-on.ts';

type ServedMember = Omit<Member, 'inProcess'>;

const NEVER = new Promise<never>(() => {});

/** Returns a promise, and the function that resolves it. */
function deferred<Value>() {
  let resolve = (_: Value): void => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Resolves after the work of this turn. */
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

const MEMBER: ServedMember = {
  address: '127.0.0.1',
  port: 5701,
  healthPort: undefined,
  memoryBytesMax: 1_073_741_824,
  backlogWarning: undefined,
  stopRequested: NEVER,
  reload: () => Promise.resolve(),
  withdraw: () => {},
  drain: () => Promise.resolve(),
  abort: () => undefined,
};

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly err?: Error;
  readonly [field: string]: unknown;
}

interface Options {
  /** Starts the member; by default, it starts at once. */
  readonly start?: () => Promise<ServedMember>;
  readonly delaySeconds?: number;
  readonly isLogForPeople?: boolean;
}

/** Runs serve with a simulated member. Returns the run and its log. */
function served(parts: Partial<ServedMember> = {}, options: Options = {}) {
  const { delaySeconds = 0, isLogForPeople = false } = options;
  const member: ServedMember = { ...MEMBER, ...parts };
  const source = new EventEmitter();
  const lines: Line[] = [];
  const logged = deferred<void>();
  const write = (line: string) => {
    lines.push(JSON.parse(line));
    logged.resolve();
  };
  const log = createLog('INFO', { write });
  const startMember = options.start ?? (() => Promise.resolve(member));
  const config = { ...resolveConfig([]), shutdownDelaySeconds: delaySeconds };
  const load = async () => ({ config, structured: [], sections: [], findings: [] });
  const time = { nowMs: 0 };
  const fatal: string[] = [];
  const screen = { isLogForPeople, printFatal: (message: string) => fatal.push(message) };
  const events = new StopEvents(source, () => time.nowMs);
  const states: string[] = [];
  const manager = {
    serving: () => void states.push('serving'),
    stopping: async () => void states.push('stopping'),
  };
  const exit = serve(config, log, startMember, events, load, screen, manager);
  return { exit, source, lines, firstLine: logged.promise, time, fatal, states };
}

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  test(`serve logs where it listens, drains at ${signal} and exits with 0`, async () => {
    const { exit, source, lines } = served();
    source.emit(signal);
    assert.equal(await exit, 0);
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg]),
      [
        ['info', 'listening'],
        ['info', 'draining'],
        ['info', 'stopped'],
      ],
    );
    assert.equal(lines[0]?.address, '127.0.0.1');
    assert.equal(lines[0]?.port, 5701);
    assert.equal(lines[1]?.stoppedBy, signal);
    assert.equal(lines[2]?.stoppedBy, signal);
  });
}

test('serve notifies the service manager when the member serves and when it begins to stop', async () => {
  const starting = deferred<ServedMember>();
  const { exit, source, states, firstLine } = served({}, { start: () => starting.promise });
  await endOfTurn();
  assert.deepEqual(states, []);
  starting.resolve(MEMBER);
  await firstLine;
  await endOfTurn();
  assert.deepEqual(states, ['serving']);
  source.emit('SIGTERM');
  assert.equal(await exit, 0);
  assert.deepEqual(states, ['serving', 'stopping']);
});

test('serve does not notify the service manager of a member that does not start', async () => {
  const { exit, states } = served({}, { start: () => Promise.reject(new Error('no')) });
  assert.equal(await exit, 1);
  assert.deepEqual(states, []);
});

for (const [afterMs, cutOff, code] of [
  [249, '3 connections', 0],
  [250, '3 connections', 1],
  [250, undefined, 0],
] as const) {
  test(`serve exits with ${code} at a signal ${afterMs} ms after the first, which cuts off ${cutOff ?? 'nothing'}`, async () => {
    const draining = deferred<void>();
    const abort = () => {
      draining.resolve();
      return cutOff;
    };
    const { exit, source, lines, firstLine, time } = served({
      drain: () => draining.promise,
      abort,
    });
    await firstLine;
    source.emit('SIGTERM');
    time.nowMs += afterMs;
    source.emit('SIGINT');
    await endOfTurn();
    draining.resolve();
    assert.equal(await exit, code);
    const [, , last] = lines;
    const seen = [last?.level, last?.cutOff];
    assert.deepEqual(seen, code === 1 ? ['error', '3 connections'] : ['info', undefined]);
    assert.equal(last?.because, afterMs === 250 ? 'another SIGINT' : undefined);
  });
}

test('serve cuts off remaining requests after 10 seconds, and exits with 1 even if the drain does not end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const drains = deferred<void>();
  const drain = () => {
    drains.resolve();
    return NEVER;
  };
  const { exit, source, lines } = served({ drain, abort: () => 'one poll' });
  source.emit('SIGTERM');
  await drains.promise;
  t.mock.timers.tick(9_999);
  await endOfTurn();
  assert.equal(lines.length, 2);
  t.mock.timers.tick(1);
  await endOfTurn();
  t.mock.timers.tick(1000);
  assert.equal(await exit, 1);
  assert.equal(lines[2]?.cutOff, 'one poll');
  assert.equal(lines[2]?.because, '10 seconds have passed');
});

/** Returns a member that records the calls to it. */
function recordingMember() {
  const calls: string[] = [];
  const member = {
    withdraw: () => calls.push('withdraw'),
    drain: () => {
      calls.push('drain');
      return Promise.resolve();
    },
    abort: () => {
      calls.push('abort');
      return undefined;
    },
  };
  return { calls, member };
}

for (const [cause, stopRequested] of [
  ['signal', undefined],
  ['shutdown call', Promise.resolve('POST clusterShutdown')],
] as const) {
  test(`serve withdraws at the ${cause}, and drains after the delay`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { calls, member } = recordingMember();
    const parts = { ...member, ...(stopRequested && { stopRequested }) };
    const { exit, source, lines, firstLine } = served(parts, { delaySeconds: 3 });
    await firstLine;
    if (stopRequested === undefined) source.emit('SIGTERM');
    await endOfTurn();
    assert.deepEqual([calls, lines[1]?.msg, lines[1]?.delaySeconds], [['withdraw'], 'draining', 3]);
    t.mock.timers.tick(2_999);
    await endOfTurn();
    assert.deepEqual(calls, ['withdraw']);
    t.mock.timers.tick(1);
    assert.equal(await exit, 0);
    assert.deepEqual(calls, ['withdraw', 'drain']);
  });
}

test('serve exits before the end of the delay at a second signal', async () => {
  const { calls, member } = recordingMember();
  const { exit, source, firstLine, time } = served(member, { delaySeconds: 3600 });
  await firstLine;
  source.emit('SIGTERM');
  time.nowMs += 1000;
  source.emit('SIGTERM');
  assert.equal(await exit, 0);
  assert.deepEqual(calls, ['withdraw', 'drain', 'abort']);
});

test('serve logs and ignores SIGUSR1 and SIGUSR2', async () => {
  const { exit, source, lines, firstLine } = served();
  await firstLine;
  await endOfTurn();
  for (const signal of ['SIGUSR1', 'SIGUSR2']) source.emit(signal);
  source.emit('SIGTERM');
  assert.equal(await exit, 0);
  assert.deepEqual(
    lines.slice(1, 3).map(({ msg, signal }) => `${msg} ${signal}`),
    ['signal ignored SIGUSR1', 'signal ignored SIGUSR2'],
  );
});

test('serve drains at once if the signal arrived while the member started', async () => {
  const starting = deferred<ServedMember>();
  const { exit, source } = served({}, { start: () => starting.promise });
  source.emit('SIGTERM');
  starting.resolve(MEMBER);
  assert.equal(await exit, 0);
});

test('serve exits with 1 at a second signal while the member starts', async () => {
  const { exit, source, lines, time } = served({}, { start: () => NEVER });
  source.emit('SIGINT');
  time.nowMs += 250;
  source.emit('SIGINT');
  assert.equal(await exit, 1);
  assert.equal(lines[0]?.msg, 'stopped while starting');
});

const unusable: readonly (readonly [string, string, string])[] = [
  ['EADDRINUSE', 'listen', 'ADDRESS_IN_USE'],
  ['EADDRNOTAVAIL', 'listen', 'ADDRESS_NOT_HERE'],
  ['EACCES', 'listen', 'ADDRESS_FORBIDDEN'],
  ['EAFNOSUPPORT', 'listen', 'ADDRESS_UNUSABLE'],
  ['ENOTFOUND', 'getaddrinfo', 'ADDRESS_UNUSABLE'],
];

for (const [code, call, expected] of unusable) {
  test(`serve exits with 3 and ${expected} at ${code} of ${call}`, async () => {
    const { exit, lines } = served({}, { start: () => Promise.reject(systemError(code, call)) });
    assert.equal(await exit, 3);
    assert.equal(lines[0]?.code, expected);
    assert.match(lines[0]?.msg ?? '', /^Cannot listen on 127\.0\.0\.1:5701: /);
  });
}

test('serve exits with 1 if the member cannot start for another reason', async () => {
  const { exit, lines } = served(
    {},
    { start: () => Promise.reject(systemError('EACCES', 'open')) },
  );
  assert.equal(await exit, 1);
  assert.equal(lines[0]?.level, 'fatal');
});

test('serve exits with 1 at an uncaught failure', async () => {
  const { exit, source, lines, firstLine } = served();
  await firstLine;
  source.emit('uncaughtException', new Error('unforeseen'));
  assert.equal(await exit, 1);
  assert.equal(lines.at(-1)?.err?.message, 'unforeseen');
});

test('serve exits with 1 if draining fails', async () => {
  const { exit, source, lines } = served({ drain: () => Promise.reject(new Error('no')) });
  source.emit('SIGTERM');
  assert.equal(await exit, 1);
  assert.equal(lines.at(-1)?.msg, 'cannot drain');
});

test('serve reloads the configuration at SIGHUP, also if the signal arrived while the member started', async () => {
  const starting = deferred<ServedMember>();
  let reloads = 0;
  const reload = async () => {
    reloads += 1;
  };
  const { exit, source, firstLine } = served({}, { start: () => starting.promise });
  source.emit('SIGHUP');
  starting.resolve({ ...MEMBER, reload });
  await firstLine;
  await endOfTurn();
  assert.equal(reloads, 1);
  source.emit('SIGHUP');
  await endOfTurn();
  assert.equal(reloads, 2);
  source.emit('SIGTERM');
  assert.equal(await exit, 0);
});

test('a member that does not start also reports the reason outside the log, in one line', async () => {
  const data = new GridError('DATA_DIRECTORY_LOCKED', { directory: 'd' });
  const { exit, lines, fatal } = served({}, { start: () => Promise.reject(data) });
  assert.equal(await exit, 3);
  assert.deepEqual(fatal, ['Cannot use data directory "d": another process uses it']);
  assert.equal(lines.at(-1)?.msg, fatal[0]);
  const version = new GridError('CLUSTER_VERSION', { version: '1.2', memberVersion: '1.3.0' });
  assert.equal(await served({}, { start: () => Promise.reject(version) }).exit, 2);
  const other = served({}, { start: () => Promise.reject(new Error('no luck')) });
  assert.equal(await other.exit, 1);
  assert.deepEqual(other.fatal, ['Cannot start: no luck']);
});

test('on a terminal, one line shows address, groups, memory and whether data is persistent', async () => {
  const { exit, source, lines, firstLine } = served({}, { isLogForPeople: true });
  await firstLine;
  const { msg, ...fields } = lines[0] as Line;
  assert.equal(
    msg,
    'listening on http://127.0.0.1:5701/grid; groups CLUSTER_READ, HEALTH_CHECK; ' +
      '1024 MiB for data; data is stored in memory only and lost when this process ends',
  );
  assert.deepEqual(Object.keys(fields), ['level', 'time', 'pid']);
  source.emit('SIGTERM');
  assert.equal(await exit, 0);
});

test('the line shows a limit of the system below the backlog, and nothing about a sufficient one', async () => {
  const backlogWarning = 'net.core.somaxconn is 128, which is below 4096';
  for (const warning of [backlogWarning, undefined]) {
    const { exit, source, lines, firstLine } = served({ backlogWarning: warning });
    await firstLine;
    source.emit('SIGTERM');
    assert.equal(await exit, 0);
    assert.deepEqual([lines[0]?.msg, lines[0]?.backlog], ['listening', warning]);
  }
  const shown = listeningLine({ ...MEMBER, backlogWarning }, configWith({}));
  assert.ok(shown.endsWith(`when this process ends; ${backlogWarning}`), shown);
});

test('the line of a member on all interfaces, with TLS, health port and persistence', () => {
  const settings = { tlsEnabled: 'true', persistenceEnabled: 'true', dataDirectory: 'data' };
  const config = configWith({ ...settings, compatibility: 'hazelcast' });
  assert.equal(
    listeningLine({ ...MEMBER, address: '::', healthPort: 8080 }, config),
    'listening on https://localhost:5701/hazelcast on all interfaces, health on port 8080; ' +
      'groups CLUSTER_READ, HEALTH_CHECK, DATA; 1024 MiB for data; data is stored in "data"',
  );
});
