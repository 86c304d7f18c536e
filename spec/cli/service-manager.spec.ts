import assert from 'node:assert/strict';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { serviceManager } from '../../src/cli/service-manager.ts';
import { FakeClock } from '../fake-clock.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Returns a program that replaces systemd-notify, and the calls to it. It fails if `failing` exists. */
function notifier() {
  const folder = temporaryFolder();
  const [program, calls, failing] = [
    join(folder, 'notify'),
    join(folder, 'calls'),
    join(folder, 'failing'),
  ];
  writeFileSync(calls, '');
  writeFileSync(
    program,
    `#!/bin/sh
if [ -e '${failing}' ]; then echo refused >&2; exit 1; fi
echo "$NOTIFY_SOCKET $PPID $*" >> '${calls}'\n`,
  );
  chmodSync(program, 0o755);
  const lines = () => readFileSync(calls, 'utf8').split('\n').slice(0, -1);
  return { program, failing, calls: () => lines().map((line) => line.split(' ')) };
}

// The shell does not keep the process alive, and the open port does.
const { port1: open } = new MessageChannel();
before(() => void open.on('message', () => {}));
after(() => open.close());

const MANAGED = { NOTIFY_SOCKET: '/s' };
const WATCHED = { ...MANAGED, WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(process.pid) };

test('serviceManager sends each state with systemd-notify, in order, from one shell', async () => {
  const { program, calls } = notifier();
  const manager = serviceManager(MANAGED, new FakeClock(), assert.ifError, program);
  manager.serving();
  await manager.stopping();
  const [first, second] = calls();
  assert.deepEqual([first?.[0], first?.[2]], ['/s', 'READY=1']);
  assert.equal(second?.[2], 'STOPPING=1');
  assert.equal(first?.[1], second?.[1]);
});

test('serviceManager reports three times per period of the watchdog that the event loop runs, until the stop', async () => {
  const { program, calls } = notifier();
  const clock = new FakeClock();
  const manager = serviceManager(WATCHED, clock, assert.ifError, program);
  clock.advance(120_000);
  manager.serving();
  clock.advance(19_999);
  assert.equal(clock.nextDueMs, 140_000);
  clock.advance(1);
  clock.advance(20_000);
  await manager.stopping();
  assert.equal(clock.timerCount, 0);
  const states = calls().map(([, , state]) => state);
  assert.deepEqual(states, ['READY=1', 'WATCHDOG=1', 'WATCHDOG=1', 'STOPPING=1']);
});

for (const [name, environment] of [
  ['without a watchdog', MANAGED],
  ['with the watchdog of another process', { ...WATCHED, WATCHDOG_PID: '1' }],
  ['with a period that is not a number', { ...WATCHED, WATCHDOG_USEC: 'soon' }],
] as const) {
  test(`serviceManager needs no timer ${name}`, async () => {
    const clock = new FakeClock();
    const manager = serviceManager(environment, clock, assert.ifError, notifier().program);
    manager.serving();
    assert.equal(clock.timerCount, 0);
    await manager.stopping();
  });
}

test('serviceManager starts nothing without a service manager', async () => {
  const environment = { WATCHDOG_USEC: '60000000' };
  const clock = new FakeClock();
  const manager = serviceManager(environment, clock, assert.fail, '/nowhere/notify');
  manager.serving();
  assert.equal(clock.timerCount, 0);
  await manager.stopping();
});

test('serviceManager reports why it cannot notify, and starts a new shell for the next message', async () => {
  const { program, failing, calls } = notifier();
  const errors: string[] = [];
  const onError = (error: Error) => errors.push(error.message);
  writeFileSync(failing, '');
  const clock = new FakeClock();
  const manager = serviceManager(WATCHED, clock, onError, program);
  manager.serving();
  clock.advance(20_000);
  while (errors.length < 2) await new Promise(setImmediate);
  rmSync(failing);
  await manager.stopping();
  assert.deepEqual(errors, [
    'Cannot notify systemd of READY=1: refused',
    'Cannot notify systemd of WATCHDOG=1: refused',
  ]);
  assert.deepEqual(
    calls().map(([, , state]) => state),
    ['STOPPING=1'],
  );
});

test('serviceManager reports that systemd-notify is missing', async () => {
  const errors: string[] = [];
  const onError = (error: Error) => errors.push(error.message);
  const manager = serviceManager(MANAGED, new FakeClock(), onError, '/nowhere/notify');
  await manager.stopping();
  assert.equal(errors.length, 1);
  assert.match(
    errors[0] ?? '',
    /^Cannot notify systemd of STOPPING=1: .*\/nowhere\/notify.*not found/,
  );
});

test('serviceManager reports that no shell can be started', async () => {
  const errors: string[] = [];
  const onError = (error: Error) => errors.push(error.message);
  const environment = { ...MANAGED, NOT_TEXT: 'a\0b' };
  const manager = serviceManager(environment, new FakeClock(), onError);
  await manager.stopping();
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? '', /null bytes/);
});
