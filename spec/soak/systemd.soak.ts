/**
 * The unit of packaging/ under a systemd that is process 1 of a container: a member starts, reloads,
 * is started again after a crash and after a hang, waits for a taken port, is not started again with
 * wrong settings, and stops cleanly. Needs root, systemd and iproute2.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { packaged } from '../peers/packaged-files.ts';
import { until } from '../peers/server-process.ts';
import { SystemdHost } from './systemd-host.ts';

const UNIT = 'gridnode.service';
const SETTINGS = '/etc/gridnode/gridnode.yaml';
const USED = `
grid:
  network:
    rest-api:
      enabled: true
      endpoint-groups:
        DATA: { enabled: true }
`;
/** More starts than systemd allows by default: five in ten seconds. */
const CRASHES = 6;
const WATCHDOG_SECONDS = 2;

let host: SystemdHost;

before(async () => {
  host = await SystemdHost.boot(UNIT, packaged(UNIT));
  host.makeFolder('/etc/gridnode');
  host.write(SETTINGS, USED);
});

after(() => host.stop());

function run(program: string, ...words: string[]): string {
  const { status, output } = host.run(program, ...words);
  assert.equal(status, 0, `${program} ${words.join(' ')}\n${output}`);
  return output;
}

function property(name: string): string {
  return run('systemctl', 'show', '--value', '--property', name, UNIT).trim();
}

/** Resolves once the unit has this state, such as `active/running`. */
async function reaches(state: string): Promise<void> {
  await until(async () => `${property('ActiveState')}/${property('SubState')}` === state);
}

/** Kills the member's process with this signal. */
function kill(signal: string): void {
  run('kill', `-${signal}`, property('MainPID'));
}

function journal(): string {
  return run('journalctl', '--unit', UNIT, '--output', 'cat', '--no-pager');
}

test('systemctl start waits until the member serves, as a user of its own', () => {
  run('systemctl', 'start', UNIT);
  assert.equal(run('gridnode', 'health', 'ready'), 'yes\n');
  run('gridnode', 'map', 'set', 'm', 'k', 'value');
  assert.match(run('ps', '-o', 'user=', '-p', property('MainPID')), /^gridnode/);
  assert.match(run('stat', '-L', '-c', '%a', '/var/lib/gridnode'), /^700$/m);
});

test('systemctl reload reloads the settings', async () => {
  host.write(SETTINGS, `${USED}        CLUSTER_WRITE: { enabled: true }\n`);
  const pid = property('MainPID');
  run('systemctl', 'reload', UNIT);
  await until(async () => /"msg":"reloaded"/.test(journal()));
  assert.equal(property('MainPID'), pid);
});

test(`a member that is killed ${CRASHES} times is started again, with its data`, async () => {
  for (let crash = 1; crash <= CRASHES; crash++) {
    kill('KILL');
    await until(async () => property('NRestarts') === String(crash));
    await reaches('active/running');
    assert.equal(run('gridnode', 'map', 'get', 'm', 'k'), 'value');
  }
});

test('a member whose event loop hangs is started again, and no other', async () => {
  host.makeFolder(`/run/systemd/system/${UNIT}.d`);
  const dropIn = `[Service]\nWatchdogSec=${WATCHDOG_SECONDS}\n`;
  host.write(`/run/systemd/system/${UNIT}.d/watchdog.conf`, dropIn);
  run('systemctl', 'daemon-reload');
  run('systemctl', 'restart', UNIT);
  await sleep(3 * WATCHDOG_SECONDS * 1000);
  assert.equal(property('NRestarts'), '0');
  kill('STOP');
  await until(async () => property('NRestarts') === '1');
  assert.match(journal(), /Watchdog timeout .*\n.*SIGKILL/);
  await reaches('active/running');
  assert.equal(run('gridnode', 'map', 'get', 'm', 'k'), 'value');
});

test('systemctl stop lets the member drain, and no process remains', async () => {
  run('systemctl', 'stop', UNIT);
  await reaches('inactive/dead');
  assert.deepEqual([property('Result'), property('ExecMainStatus')], ['success', '0']);
  assert.match(journal(), /"msg":"stopped"/);
  assert.equal(host.run('pgrep', '-f', 'gridnode').output, '');
});

test('a member whose port is taken is started again until the port is free', async () => {
  const other = host.start('gridnode', 'serve', '--port', '5701');
  await until(async () => host.run('gridnode', 'health', 'live').status === 0);
  assert.notEqual(host.run('systemctl', 'start', UNIT).status, 0);
  assert.equal(property('ExecMainStatus'), '3');
  await until(async () => Number(property('NRestarts')) > 1);
  run('pkill', '--full', 'serve --port 5701');
  await once(other, 'exit');
  await reaches('active/running');
});

test('a member with wrong settings is not started again', async () => {
  run('systemctl', 'stop', UNIT);
  host.write(SETTINGS, 'grid: { netwrok: {} }\n');
  assert.notEqual(host.run('systemctl', 'start', UNIT).status, 0);
  await reaches('failed/failed');
  assert.deepEqual([property('ExecMainStatus'), property('NRestarts')], ['2', '0']);
  assert.match(journal(), /network/);
});
