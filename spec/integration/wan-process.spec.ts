/** Members as processes that replicate and are stopped. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { freePort } from '../free-port.ts';
import { RawClient } from './client.ts';
import { serve } from './member-process.ts';
import { sendingTo, soon } from './wan-members.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-process-'));
after(() => rmSync(FOLDER, { recursive: true }));

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
    const target = await serve(...GROUPS);
    const { child, exited, lines, client } = await source('sent', target.port);
    for (const key of ['a', 'b', 'c']) await set(client, key);
    client.destroy();
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    assert.ok(!lines.some(({ msg }) => msg.includes('not sent')), JSON.stringify(lines));
    const reader = new RawClient(target.port);
    const read = async (key: string) => (await reader.request('GET', `maps/m/${key}`)).status;
    assert.deepEqual([await read('a'), await read('b'), await read('c')], [200, 200, 200]);
    reader.destroy();
    target.child.kill('SIGTERM');
    await target.exited;
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

it('replication to a killed target continues once the target runs again', async () => {
  const port = await freePort();
  const target = await serve('--port', String(port), ...GROUPS);
  const file = join(FOLDER, 'killed.yaml');
  writeFileSync(file, JSON.stringify({ grid: sendingTo([port]) }));
  const member = await serve('--config', file, '--host', '127.0.0.1', ...GROUPS);
  const client = new RawClient(member.port);
  await set(client, 'a');
  const queued = async () => {
    const { body } = await client.request('GET', 'wan/publishers');
    return (JSON.parse(body.toString()) as { publishers: { queueSize: number }[] }).publishers[0];
  };
  await soon(async () => (await queued())?.queueSize, 0);
  target.child.kill('SIGKILL');
  await target.exited;
  await set(client, 'b');
  const again = await serve('--port', String(port), ...GROUPS);
  await soon(async () => (await queued())?.queueSize, 0);
  const reader = new RawClient(port);
  assert.equal((await reader.request('GET', 'maps/m/b')).status, 200);
  for (const each of [client, reader]) each.destroy();
  for (const each of [member, again]) each.child.kill('SIGTERM');
  await Promise.all([member.exited, again.exited]);
});
