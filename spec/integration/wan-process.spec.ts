/** Covers src/wan. Members as processes that replicate and are stopped. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { freePort } from '../free-port.ts';
import { RawClient } from './client.ts';
import { serve } from './member-process.ts';
import { sendingTo, soon, started, stopAll } from './wan-members.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-process-'));
after(() => rmSync(FOLDER, { recursive: true }));
afterEach(stopAll);

const GROUPS = ['--enable-group', 'DATA', '--enable-group', 'WAN'];

/** Starts a member that sends to the port, in batches with a delay of one minute. */
async function source(name: string, port: number) {
  const file = join(FOLDER, `${name}.yaml`);
  const grid = sendingTo([port], { 'batch-max-delay-millis': 60_000 });
  writeFileSync(file, JSON.stringify({ grid }));
  const member = await serve('--config', file, '--host', '127.0.0.1', ...GROUPS);
  return { ...member, client: new RawClient(member.port) };
}

async function set(client: RawClient, key: string): Promise<void> {
  assert.equal((await client.request('POST', `maps/m/${key}`, Buffer.from('v'))).status, 200);
}

describe('a member that is stopped', () => {
  it('sends its queued changes at once, and exits', async () => {
    const target = await started();
    const { child, exited, lines, client } = await source('sent', target.port);
    for (const key of ['a', 'b', 'c']) await set(client, key);
    client.destroy();
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    assert.ok(!lines.some(({ msg }) => msg.includes('not sent')), JSON.stringify(lines));
    assert.deepEqual(await target.values('a', 'b', 'c'), ['v', 'v', 'v']);
  });

  it('reports the number of changes that a target which is down did not receive', async () => {
    const { child, exited, lines, client } = await source('left', await freePort());
    for (const key of ['a', 'b', 'c']) await set(client, key);
    client.destroy();
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    const warnings = lines.filter(({ level, msg }) => level === 'warn' && msg.includes('not sent'));
    assert.deepEqual(
      warnings.map((line) => ({ ...line }) as Record<string, unknown>).map(({ events }) => events),
      [3],
    );
  });
});

it('replication to a killed target continues once a target runs again', async () => {
  const port = await freePort();
  const target = await serve('--port', String(port), ...GROUPS);
  const source = await started({ grid: sendingTo([port]) });
  await source.set('a', 'v');
  await soon(async () => (await source.publisher()).queueSize, 0);
  target.child.kill('SIGKILL');
  await target.exited;
  await source.set('b', 'v');
  const again = await started({ port });
  await soon(() => again.values('a', 'b'), ['', 'v']);
});
