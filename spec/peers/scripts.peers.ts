/**
 * The requests of the original system's administration scripts, sent by curl to a member with
 * `--compatibility hazelcast`: arguments without encoding. The scripts read the first
 * `"status":"…"` with sed, or only the status code.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ServerProcess } from '../../bench/load/server-process.ts';

const ROOT = join(import.meta.dirname, '../..');

const member = new ServerProcess('member', [
  join(ROOT, 'dist/bin/gridnode.js'),
  ...['serve', '--port', '0', '--compatibility', 'hazelcast', '--enable-group', 'all'],
]);

before(async () => {
  try {
    execFileSync('curl', ['--version']);
  } catch (cause) {
    throw new Error('Cannot send the requests without curl: apt-get install curl', {
      cause,
    });
  }
  await member.serving();
});

after(() => member.stop());

/** Runs the line in a shell, with the member's URL in `$base`; returns the output. */
function run(line: string): string {
  const base = `http://127.0.0.1:${member.port}/hazelcast`;
  return execFileSync('bash', ['-c', line], { encoding: 'utf8', env: { ...process.env, base } });
}

/** Posts words joined by ampersands; returns the first value of that name in the response. */
function manage(operation: string, words: string, name = 'status'): string {
  const url = `"$base/rest/management/cluster/${operation}"`;
  const first = `sed -n 's/.*"${name}":"\\([^"]*\\)".*/\\1/p'`;
  return run(`curl -sS --data '${words}' ${url} | ${first}`).trim();
}

/** Sends a request; returns the lines of the response's content, then its status. */
function ask(path: string, data = ''): string[] {
  const posting = data === '' ? '' : `--data '${data}'`;
  return run(`curl --silent -w '\\n%{http_code}' ${posting} "$base/${path}"`).split('\n');
}

test('scripts read and change the state and the version', () => {
  assert.equal(manage('state', 'dev&dev-pass', 'state'), 'active');
  assert.equal(manage('changeState', 'dev&dev-pass&frozen'), 'success');
  assert.equal(manage('state', 'dev&dev-pass', 'state'), 'frozen');
  assert.equal(manage('changeState', 'dev&dev-pass&frozen'), 'fail');
  assert.equal(manage('changeState', 'dev&dev-pass&frozen', 'state'), 'frozen');
  assert.equal(manage('changeState', 'dev&dev-pass&active'), 'success');
  const read = `curl -sS "$base/rest/management/cluster/version"`;
  assert.equal(run(read), '{"status":"success","version":"5.7"}');
  assert.equal(manage('version', 'dev&dev-pass&5.7'), 'success');
  assert.equal(manage('version', 'dev&dev-pass&4.2'), 'fail');
});

test('forceStart and partialStart fail while no member waits, and a wrong cluster name fails', () => {
  assert.equal(manage('forceStart', 'dev&dev-pass'), 'fail');
  assert.equal(manage('partialStart', 'dev&dev-pass'), 'fail');
  assert.equal(manage('state', 'other&dev-pass'), 'fail');
});

test('CP calls return their outcome as a status code', () => {
  assert.equal(ask('rest/cp-subsystem/reset', 'other&pass').at(-1), '403');
  assert.equal(ask('rest/cp-subsystem/reset', 'dev').at(-1), '400');
  assert.equal(ask('rest/cp-subsystem/groups/default/sessions/1/remove', 'x&y').at(-1), '403');
  assert.equal(ask('rest/cp-subsystem/nothing').at(-1), '404');
  const [members, status] = ask('rest/cluster');
  assert.equal(status, '200');
  assert.match(members ?? '', /"address":"\[127\.0\.0\.1\]:\d+"/);
});

test('health returns its content, its status and the header fields', () => {
  const printed = run(`curl --silent --write-out 'HTTPSTATUS:%{http_code}' "$base/health"`);
  assert.match(printed, /^\{"nodeState":"ACTIVE",.*"clusterSize":1\}HTTPSTATUS:200$/);
  const head = run(`curl -sS --head "$base/health"`);
  assert.match(head, /^Hazelcast-ClusterState: ACTIVE\r$/m);
});

test('calls accept parameters that are encoded one by one', () => {
  const post = (words: readonly string[], path: string) => {
    const data = words.map((word) => `--data-urlencode '${word}'`).join(' ');
    return run(`curl -sS -X POST -H 'Content-Type: text/plain' ${data} "$base/rest/${path}"`);
  };
  const changed = '{"status":"success","message":"log level is changed"}';
  assert.equal(post(['dev', 'a&b+c%ü', 'FINE'], 'log-level'), changed);
  assert.equal(run('curl -sS "$base/rest/log-level"'), '{"logLevel":"FINE"}');
  const reset = '{"status":"success","message":"log level is reset"}';
  assert.equal(post(['dev', ''], 'log-level/reset'), reset);
});

test('a queue accepts an item in the URL, and returns it to a GET', () => {
  assert.equal(run(`curl -sS -X POST "$base/rest/queues/q/first%20item"`), '');
  assert.equal(run(`curl -sS "$base/rest/queues/q/1"`), 'first item');
  const poll = `curl -sS -o /dev/null -w '%{http_code}' "$base/rest/queues/q/0"`;
  assert.equal(run(poll), '204');
});

test('clusterShutdown returns success, and the member closes its connections', async () => {
  const socket = connect(member.port, '127.0.0.1').resume();
  await once(socket, 'connect');
  assert.equal(manage('clusterShutdown', 'dev&dev-pass'), 'success');
  await once(socket, 'close');
});
