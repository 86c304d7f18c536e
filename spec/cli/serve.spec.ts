import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { mock, test } from 'node:test';
import { serve } from '../../src/cli/serve.ts';
import { StopEvents } from '../../src/cli/stop-events.ts';
import { resolveConfig } from '../../src/config/config.ts';
import type { LoadedConfig } from '../../src/config/load.ts';
import type { Member } from '../../src/member.ts';
import { createLog } from '../../src/telemetry/log.ts';

const NEVER = new Promise<never>(() => {});

/** After what is under way in this turn. */
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

const MEMBER: Member = {
  address: '127.0.0.1',
  port: 5701,
  healthPort: undefined,
  stopRequested: new Promise<never>(() => {}),
  reload: () => Promise.resolve(),
  drain: () => Promise.resolve(),
  abort: () => 'nothing',
};

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly err?: Error;
  readonly [field: string]: unknown;
}

/** A run of serve with a member of our own making, and what it logged. */
function served(
  parts: Partial<Member> = {},
  start?: () => Promise<Member>,
  reloaded?: () => Promise<LoadedConfig>,
) {
  const member: Member = { ...MEMBER, ...parts };
  const source = new EventEmitter();
  const lines: Line[] = [];
  let logged = (): void => {};
  const firstLine = new Promise<void>((resolve) => {
    logged = resolve;
  });
  const write = (line: string) => {
    lines.push(JSON.parse(line));
    logged();
  };
  const log = createLog('INFO', { write });
  const startMember = start ?? (() => Promise.resolve(member));
  const config = resolveConfig([]);
  const load =
    reloaded ??
    (() => Promise.resolve({ config, structured: [], sections: [], warnings: [], refused: [] }));
  const exit = serve(config, log, startMember, new StopEvents(source), load);
  return { exit, source, lines, firstLine };
}

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  test(`serve says where it listens, drains at ${signal} and ends with 0`, async () => {
    const { exit, source, lines } = served();
    source.emit(signal);
    assert.equal(await exit, 0);
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg]),
      [
        ['info', 'listening'],
        ['info', 'stopped'],
      ],
    );
    assert.equal(lines[0]?.address, '127.0.0.1');
    assert.equal(lines[0]?.port, 5701);
    assert.equal(lines[1]?.stoppedBy, signal);
  });
}

test('serve cuts off what is left at a second signal and ends with 1', async () => {
  const member = { drain: () => NEVER, abort: () => '3 connections' };
  const { exit, source, lines, firstLine } = served(member);
  await firstLine;
  source.emit('SIGTERM');
  source.emit('SIGINT');
  assert.equal(await exit, 1);
  assert.equal(lines[1]?.level, 'error');
  assert.equal(lines[1]?.cutOff, '3 connections');
  assert.equal(lines[1]?.because, 'another SIGINT');
});

test('serve cuts off what is left after 10 seconds and ends with 1', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    let draining = (): void => {};
    const drains = new Promise<void>((resolve) => {
      draining = resolve;
    });
    const drain = () => {
      draining();
      return NEVER;
    };
    const { exit, source, lines } = served({ drain, abort: () => 'one poll' });
    source.emit('SIGTERM');
    await drains;
    mock.timers.tick(9_999);
    await Promise.resolve();
    assert.equal(lines.length, 1);
    mock.timers.tick(1);
    assert.equal(await exit, 1);
    assert.equal(lines[1]?.cutOff, 'one poll');
    assert.equal(lines[1]?.because, '10 seconds have passed');
  } finally {
    mock.timers.reset();
  }
});

test('serve drains at once where the signal came while the member started', async () => {
  let started = (_: Member): void => {};
  const starting = new Promise<Member>((resolve) => {
    started = resolve;
  });
  const { exit, source } = served({}, () => starting);
  source.emit('SIGTERM');
  started(MEMBER);
  assert.equal(await exit, 0);
});

test('serve ends with 1 at a second signal while the member starts', async () => {
  const { exit, source, lines } = served({}, () => NEVER);
  source.emit('SIGINT');
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
  test(`serve ends with 3 and ${expected} at ${code} of ${call}`, async () => {
    const { exit, lines } = served({}, () => Promise.reject(systemError(code, call)));
    assert.equal(await exit, 3);
    assert.equal(lines[0]?.code, expected);
    assert.match(lines[0]?.msg ?? '', /^Cannot listen on 127\.0\.0\.1:5701: /);
  });
}

test('serve ends with 1 when the member cannot start for another reason', async () => {
  const { exit, lines } = served({}, () => Promise.reject(systemError('EACCES', 'open')));
  assert.equal(await exit, 1);
  assert.equal(lines[0]?.level, 'fatal');
});

test('serve ends with 1 at a failure that nothing caught', async () => {
  const { exit, source, lines, firstLine } = served();
  await firstLine;
  source.emit('uncaughtException', new Error('unforeseen'));
  assert.equal(await exit, 1);
  assert.equal(lines.at(-1)?.err?.message, 'unforeseen');
});

test('serve ends with 1 when draining fails', async () => {
  const { exit, source, lines } = served({ drain: () => Promise.reject(new Error('no')) });
  source.emit('SIGTERM');
  assert.equal(await exit, 1);
  assert.equal(lines.at(-1)?.msg, 'cannot drain');
});

test('serve reads the configuration again at SIGHUP, also at one that came while the member started', async () => {
  let started = (_: Member): void => {};
  const starting = new Promise<Member>((resolve) => {
    started = resolve;
  });
  let reloads = 0;
  const reload = async () => {
    reloads += 1;
  };
  const { exit, source, firstLine } = served({}, () => starting);
  source.emit('SIGHUP');
  started({ ...MEMBER, reload });
  await firstLine;
  await endOfTurn();
  assert.equal(reloads, 1);
  source.emit('SIGHUP');
  await endOfTurn();
  assert.equal(reloads, 2);
  source.emit('SIGTERM');
  assert.equal(await exit, 0);
});
