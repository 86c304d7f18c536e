/**
 * Covers src/member/member.ts and src/surface. A complete member with `--compatibility hazelcast`: its
 * configuration, and gridnode's client against it.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ENDPOINT_GROUP_NAMES } from '../../src/config/endpoint-group.ts';
import type { Member } from '../../src/member/member.ts';
import { run } from '../cli/run-command.ts';
import { memberWith } from './member-on.ts';
import { TEST_MEMORY } from './member-process.ts';

const members: Member[] = [];

async function start(settings: { readonly pathSegment?: string } = {}): Promise<Member> {
  const fixed = { compatibility: 'hazelcast', maxMemory: TEST_MEMORY };
  const member = await memberWith({ ...fixed, ...settings }, ENDPOINT_GROUP_NAMES);
  members.push(member);
  return member;
}

after(() => Promise.all(members.map((member) => member.drain())));

test('a member with the flag reports version 5.7.0 below /hazelcast', async () => {
  const { port } = await start();
  const response = await fetch(`http://127.0.0.1:${port}/hazelcast/rest/cluster`);
  const { members: listed } = (await response.json()) as { members: Record<string, unknown>[] };
  assert.equal(listed[0]?.address, `[127.0.0.1]:${port}`);
  assert.equal(listed[0]?.memberVersion, '5.7.0');
  const version = await fetch(`http://127.0.0.1:${port}/hazelcast/rest/management/cluster/version`);
  assert.deepEqual(await version.json(), { status: 'success', version: '5.7' });
  assert.equal((await fetch(`http://127.0.0.1:${port}/grid/health`)).status, 404);
});

test('a path segment that is set takes precedence over that of the flag', async () => {
  const { port } = await start({ pathSegment: 'own' });
  const base = `http://127.0.0.1:${port}/own`;
  assert.equal((await fetch(`${base}/health`)).status, 200);
  const backup = await fetch(`${base}/rest/management/cluster/hotBackup`, {
    method: 'POST',
    body: 'dev&',
  });
  assert.match(backup.headers.get('warning') ?? '', / \/own\/rest\/management\/cluster\/backup /);
});

test('the client exits with 4 if the member reports a failure with status 200', async () => {
  const { port } = await start();
  const words = ['cluster', 'change-state', 'active', '--path-segment', 'hazelcast'];
  assert.equal((await run(...words, '--address', `127.0.0.1:${port}`)).code, 4);
});
