/** The client commands against a running member: their output and their exit codes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { programWords } from '../../bench/load/program.ts';
import type { Member } from '../../src/member/member.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { freePort } from '../free-port.ts';
import { configWith, memberWith, startQuietly } from '../integration/member-on.ts';
import { TEST_MEMORY } from '../integration/member-process.ts';
import { readMetrics } from '../telemetry/read-metrics.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { CLIENT_COMMANDS, run as runCommand } from './run-command.ts';

let member: Member;
let stopped: string | undefined;

before(async () => {
  const config = configWith({ maxMemory: TEST_MEMORY }, ['DATA', 'CLUSTER_WRITE', 'PERSISTENCE']);
  const queueMaxSizes = new Map([['small', 1]]);
  member = await startQuietly({ ...config, queueMaxSizes }, createLog('OFF', process.stdout));
  member.stopRequested.then((because) => {
    stopped = because;
  });
});

after(() => member.drain());

/** Runs a command in this process, with the address of the member unless another one is given. */
async function run(...words: string[]) {
  const address = words.includes('--address') ? [] : ['--address', `127.0.0.1:${member.port}`];
  return await runCommand(...words, ...address);
}

const done = (output = '') => ({ code: 0, output, errors: '' });

test('map set, get, delete and clear', async () => {
  const set = ['map', 'set', 'm', 'a/b é', 'value', '--content-type', 'text/plain'];
  assert.deepEqual(await run(...set), done());
  assert.deepEqual(await run('map', 'get', 'm', 'a/b é'), done('value'));
  assert.deepEqual(
    await run('map', 'get', 'm', 'a/b é', '--json'),
    done('{"found":true,"contentType":"text/plain","base64":"dmFsdWU="}\n'),
  );
  assert.deepEqual(await run('map', 'delete', 'm', 'a/b é'), done());
  assert.deepEqual(await run('map', 'get', 'm', 'a/b é'), { ...done(), code: 1 });
  assert.deepEqual(await run('map', 'get', 'm', 'a/b é', '--json'), {
    ...done('{"found":false}\n'),
    code: 1,
  });
  await run('map', 'set', 'm', 'k', '');
  assert.deepEqual(await run('map', 'clear', 'm', '--json'), done('{"done":true}\n'));
  assert.equal((await run('map', 'get', 'm', 'k')).code, 1);
});

test('queue offer, size and poll', async () => {
  assert.deepEqual(await run('queue', 'offer', 'small', 'one'), done());
  assert.deepEqual(await run('queue', 'offer', 'small', 'two'), {
    code: 1,
    output: '',
    errors: 'The queue is full\n',
  });
  assert.deepEqual(await run('queue', 'offer', 'small', 'two', '--json'), {
    ...done('{"full":true}\n'),
    code: 1,
  });
  assert.deepEqual(await run('queue', 'size', 'small'), done('1\n'));
  assert.deepEqual(await run('queue', 'size', 'small', '--json'), done('{"size":1}\n'));
  assert.deepEqual(await run('queue', 'poll', 'small'), done('one'));
  const poll = ['queue', 'poll', 'small', '--timeout', '1'];
  assert.deepEqual(await run(...poll), { ...done(), code: 1 });
});

test('a value is read from a file or from standard input byte for byte', async () => {
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index & 255));
  const file = join(temporaryFolder(), 'value');
  writeFileSync(file, bytes);
  assert.deepEqual(await run('map', 'set', 'm', 'file', '--file', file), done());
  const words = programWords('bin/gridnode');
  const address = ['--address', `127.0.0.1:${member.port}`];
  const set = spawn(process.execPath, [...words, 'map', 'set', 'm', 'input', ...address]);
  set.stdin.end(bytes);
  assert.deepEqual(await once(set, 'exit'), [0, null]);
  for (const key of ['file', 'input']) {
    const { output } = await run('map', 'get', 'm', key, '--json');
    assert.equal((JSON.parse(output) as { base64: string }).base64, bytes.toString('base64'), key);
  }
  const get = spawn(process.execPath, [...words, 'map', 'get', 'm', 'input', ...address]);
  const chunks: Buffer[] = [];
  get.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(get, 'close');
  assert.deepEqual(Buffer.concat(chunks), bytes);
});

test('health, whole and in parts', async () => {
  const whole = await run('health');
  assert.match(whole.output, /^nodeState +ACTIVE\n/);
  assert.deepEqual(await run('health', 'node-state'), done('ACTIVE\n'));
  assert.deepEqual(await run('health', 'cluster-size', '--json'), done('1\n'));
  assert.deepEqual(await run('health', 'ready'), done('yes\n'));
  assert.equal((await run('health', 'nonsense')).code, 4);
});

test('cluster calls that read', async () => {
  const { output } = await run('cluster', 'members');
  assert.match(output, /^127\.0\.0\.1:\d+ {2}[0-9a-f-]{36} {2}[\d.]+ {2}this member\n$/);
  assert.deepEqual(await run('cluster', 'state'), done('active\n'));
  assert.match((await run('cluster', 'version')).output, /^\d+\.\d+\n$/);
  assert.match((await run('cluster', 'nodes')).output, /^\[Member .* this\]\n/);
  assert.equal((await run('cluster', 'instance')).output, `gridnode-${member.port}\n`);
  assert.deepEqual(await run('cluster', 'license'), done('none\n'));
  assert.deepEqual(await run('cluster', 'log-level'), done('not set\n'));
  assert.deepEqual(await run('cluster', 'log-level', '--json'), done('{"logLevel":null}\n'));
});

test('cluster metrics, openapi and status', async () => {
  for (const flags of [[], ['--json']]) {
    const metrics = await run('cluster', 'metrics', ...flags);
    assert.equal(readMetrics(metrics.output).get('process_max_fds')! > 0, true);
    const { output } = await run('cluster', 'openapi', ...flags);
    assert.equal(JSON.parse(output).openapi, '3.1.0');
  }
  const { output } = await run('cluster', 'status');
  assert.match(output, new RegExp(`^member {7}gridnode-${member.port}  127.0.0.1:`));
  assert.match(output, /^cluster {6}dev {2}ACTIVE {2}1 member$/m);
  assert.match(output, /^health {7}ACTIVE {2}safe$/m);
  const status = JSON.parse((await run('cluster', 'status', '--json')).output);
  assert.equal(status.history.requests.length, 300);
});

test('cluster calls that change', async () => {
  assert.deepEqual(await run('cluster', 'change-state', 'frozen'), done('frozen\n'));
  assert.deepEqual(await run('cluster', 'change-state', 'frozen'), {
    code: 4,
    output: '',
    errors: 'Refused with 409: the state is frozen\n',
  });
  assert.deepEqual(await run('cluster', 'change-state', 'active'), done('active\n'));
  const { output: version } = await run('cluster', 'version');
  assert.deepEqual(await run('cluster', 'change-version', version.trim()), done(version));
  const level = ['cluster', 'change-log-level', 'warning'];
  assert.deepEqual(await run(...level), done('log level is changed\n'));
  assert.deepEqual(await run('cluster', 'log-level'), done('WARNING\n'));
  assert.deepEqual(await run('cluster', 'reset-log-level'), done('log level is reset\n'));
  const license = ['cluster', 'set-license', 'a&b'];
  assert.deepEqual(await run(...license), done('License updated at run time\n'));
  for (const call of ['force-start', 'partial-start', 'backup', 'interrupt-backup']) {
    const { code, errors } = await run('cluster', call);
    assert.equal(code, 4, call);
    assert.match(errors, /^Refused with 409: .*persistence\.enabled/);
  }
});

test('the name of the cluster authenticates, or the user with a password from the environment', async () => {
  const named = await run('cluster', 'state', '--cluster-name', 'other');
  assert.deepEqual(
    [named.code, named.errors],
    [
      4,
      'Refused with 403: unauthenticated: --cluster-name "other" is wrong, ' +
        'or the member requires --user\n',
    ],
  );
  process.env.GRID_PASSWORD = 'any';
  try {
    assert.deepEqual(await run('cluster', 'state', '--user', 'dev'), done('active\n'));
    const other = await run('cluster', 'state', '--user', 'ann');
    assert.equal(other.code, 4);
    assert.match(
      other.errors,
      /: user "ann" or the password is wrong, or the member requires --cluster-name$/m,
    );
  } finally {
    delete process.env.GRID_PASSWORD;
  }
});

test('the exit code is 3 if the server is not a member', async () => {
  const other = createServer((socket) => {
    socket.resume().end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const foreign = await run('health', '--address', `127.0.0.1:${port}`);
  assert.equal(foreign.code, 3);
  assert.match(foreign.errors, /^Cannot read the response of 127\.0\.0\.1:\d+: it is not JSON\n$/);
  other.close();
});

test('every command exits with 3 if no member responds, and with 2 for an extra argument', async () => {
  const port = await freePort();
  for (const words of CLIENT_COMMANDS) {
    const silent = await run(...words, '--address', `127.0.0.1:${port}`);
    assert.deepEqual([silent.code, silent.output], [3, ''], words.join(' '));
    assert.match(silent.errors, /^Cannot reach 127\.0\.0\.1:\d+: connect ECONNREFUSED/);
    const misused = await run(...words, 'more', 'more');
    assert.deepEqual([misused.code, misused.output], [2, ''], words.join(' '));
  }
});

test('every command exits with 4 if the member refuses it', async () => {
  const refusing = await memberWith({ restEnabled: 'false' });
  for (const words of CLIENT_COMMANDS) {
    const refused = await run(...words, '--address', `127.0.0.1:${refusing.port}`);
    assert.deepEqual([refused.code, refused.output], [4, ''], words.join(' '));
    assert.match(refused.errors, /^Refused with 403: Cannot serve this path/, words.join(' '));
  }
  await refusing.drain();
});

test('cluster reload, member-list and change-member-list', async () => {
  const reload = await run('cluster', 'reload');
  assert.deepEqual([reload.code, reload.output], [4, '']);
  assert.match(reload.errors, /^Refused with 400: Cannot read the configuration again/);
  const config = configWith({ tcpIpEnabled: 'true' }, ['CLUSTER_WRITE']);
  const loaded = { config, structured: [], sections: [], findings: [] };
  const joining = await startQuietly(config, createLog('OFF', process.stdout), async () => loaded);
  const on = (...words: string[]) => run(...words, '--address', `127.0.0.1:${joining.port}`);
  const reloaded = await on('cluster', 'reload');
  assert.deepEqual(reloaded, done('Configuration Reload successfully finished.\n'));
  const message = 'The member list of TCP-IP join config is updated at run time.\n';
  assert.deepEqual(await on('cluster', 'change-member-list', 'a:1, b:2'), done(message));
  assert.deepEqual(await on('cluster', 'member-list'), done('a:1\nb:2\n'));
  assert.deepEqual(
    await on('cluster', 'member-list', '--json'),
    done('{"status":"success","member-list":["a:1","b:2"]}\n'),
  );
  await joining.drain();
});

test('cluster shutdown and shutdown-member stop the member', async () => {
  assert.deepEqual(await run('cluster', 'shutdown-member'), done('success\n'));
  assert.match(stopped ?? '', /^POST \/grid\/rest\/management\/cluster\/memberShutdown$/);
  assert.deepEqual(await run('cluster', 'shutdown'), done('success\n'));
});
