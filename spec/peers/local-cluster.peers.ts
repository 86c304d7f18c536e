/** `make cluster`: members on a Cluster of servers, all processes, and the commands it prints. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { temporaryFolder } from '../temporary-folder.ts';
import { ROOT } from './tools.ts';

const folder = join(temporaryFolder(), 'cluster');
// Servers of a Cluster also listen on their port plus 10,000. Both ports are below 32,768, where
// the ports of outgoing connections begin.
const SERVER_PORT = 12_000 + (process.pid % 1000) * 10;
const env = {
  ...process.env,
  CLUSTER_FOLDER: folder,
  SERVER_PORT: String(SERVER_PORT),
  MEMBER_PORT: String(SERVER_PORT + 6),
};
/** Limit for the replacement of a primary, in ms: more than the node timeout and an election. */
const FAILOVER_MS_MAX = 60_000;

const start = promisify(execFile);

async function script(word: string): Promise<string> {
  const { stdout } = await start(join(ROOT, 'bin/cluster.sh'), [word], { env });
  return stdout;
}

async function shell(command: string): Promise<string> {
  const { stdout } = await start('bash', ['-c', `${command} 2>/dev/null`], { cwd: ROOT, env });
  return stdout.trim();
}

after(() => script('stop'));

/** Repeats the command until its output matches: servers and members need time to react. */
async function until(command: string, pattern: RegExp): Promise<string> {
  const end = performance.now() + FAILOVER_MS_MAX;
  for (;;) {
    const output = await shell(command);
    if (pattern.test(output)) return output;
    assert.ok(performance.now() < end, `${command}: ${output}`);
    await sleep(200);
  }
}

test('make cluster prints commands that work, also while a server is down', async () => {
  const commands = (await script('start'))
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim());
  assert.equal(commands.length, 14, commands.join('\n'));
  const next = (): string => commands.shift() ?? '';
  assert.equal(await shell(next()), '');
  assert.equal(await shell(next()), 'Ada Lovelace');
  assert.equal(await shell(next()), '');
  assert.equal(await shell(next()), 'first');
  assert.equal((await shell(next())).match(/"address"/g)?.length, 3);
  await shell(next());
  await until(next(), /^Ada Lovelace$/);
  const [setAgain, stopAll] = [next(), next()];
  const refused = /^HTTP\/1\.1 503 .*Grid-Outcome: not-applied.*too few replicas/s;
  await until(setAgain, refused);
  assert.match(await shell(stopAll), /^HTTP\/1\.1 503 .*Cannot stop the cluster: .*NOREPLICAS/s);
  assert.equal(await shell(next()), '');
  await shell(next());
  await until(next(), /^$/);
  assert.equal(await shell(next()), '{"status":"success"}');
  const list = await until(next(), /^(?:(?!"address").)*(?:"address"(?:(?!"address").)*){2}$/);
  assert.ok(!list.includes(`:${SERVER_PORT + 8}"`), list);
});

test('make cluster-stop ends members and servers, and removes their files', async () => {
  await script('stop');
  assert.equal(existsSync(folder), false);
  const ports = Array.from({ length: 9 }, (_, each) => SERVER_PORT + each);
  for (const port of ports) {
    assert.equal(await shell(`(exec 3<>/dev/tcp/127.0.0.1/${port}) && echo open || true`), '');
  }
  assert.equal(await script('stop'), '');
});
