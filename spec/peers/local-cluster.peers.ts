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

test('make cluster prints commands that work, even after a primary was killed', async () => {
  const commands = (await script('start'))
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim());
  assert.equal(commands.length, 7, commands.join('\n'));
  const [set, get, offer, poll, cluster, kill, getAgain] = commands as [string, ...string[]];
  assert.equal(await shell(set), '');
  assert.equal(await shell(get ?? ''), 'Ada Lovelace');
  assert.equal(await shell(offer ?? ''), '');
  assert.equal(await shell(poll ?? ''), 'first');
  assert.equal((await shell(cluster ?? '')).match(/"address"/g)?.length, 3);
  await shell(kill ?? '');
  const end = performance.now() + FAILOVER_MS_MAX;
  while ((await shell(getAgain ?? '')) !== 'Ada Lovelace') {
    assert.ok(performance.now() < end, 'the primary has not been replaced');
    await sleep(200);
  }
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
