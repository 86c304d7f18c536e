import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { serviceManager } from '../../src/cli/service-manager.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Returns a program that replaces systemd-notify, and the calls to it. */
function notifier() {
  const folder = temporaryFolder();
  const [program, calls] = [join(folder, 'notify'), join(folder, 'calls')];
  writeFileSync(calls, '');
  writeFileSync(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> '${calls}'\n`);
  chmodSync(program, 0o755);
  return { program, lines: () => readFileSync(calls, 'utf8').split('\n').slice(0, -1) };
}

test('serviceManager sends each state with systemd-notify, in order', async () => {
  const { program, lines } = notifier();
  const notify = serviceManager({ NOTIFY_SOCKET: '/s' }, assert.ifError, program);
  void notify('READY=1');
  await notify('STOPPING=1');
  assert.deepEqual(lines(), ['/s READY=1', '/s STOPPING=1']);
});

test('serviceManager starts nothing without a service manager', async () => {
  await serviceManager({}, assert.fail, '/nowhere/notify')('READY=1');
});

test('serviceManager reports why it cannot notify', async () => {
  const errors: Error[] = [];
  const onError = (error: Error) => errors.push(error);
  await serviceManager({ NOTIFY_SOCKET: '/s' }, onError, '/nowhere/notify')('READY=1');
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['Cannot notify systemd of READY=1: spawn /nowhere/notify ENOENT'],
  );
});
