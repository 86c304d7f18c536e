/** Members whose server refuses writes or has another layout: what they serve and report. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { GAP_MS } from '../../src/cluster/membership-store.ts';
import {
  ABSENT,
  APPLIED,
  DATA_LAYOUT,
  FOUND,
  MEMORY_FULL,
  UNREACHABLE,
} from '../../src/engine/engine.ts';
import { Layout } from '../../src/engine/redis/layout.ts';
import { EngineServer } from './engine-server.ts';
import { type JoinedMember, joinedMember, joiningMember } from './joined-member.ts';
import { serverCommand } from './server-command.ts';
import { sendCommand } from './server-group.ts';
import { until } from './server-process.ts';
import { PARTITION_COUNT } from './store-engines.ts';

const LEASE_MS = 3 * GAP_MS;
const MEMBER = { uuid: 'a', leaseMs: LEASE_MS };
const FULL_BYTES = 4 * 1024 * 1024;

let server: EngineServer;
let members: JoinedMember[] = [];

beforeEach(async () => {
  server = await EngineServer.start();
});

afterEach(async () => {
  await Promise.all(members.map((member) => member.end()));
  members = [];
  await server.stop();
});

function ask(...words: readonly string[]): Promise<string> {
  return serverCommand(server.port, ...words);
}

describe('a member', () => {
  it('joins while its server has no memory left, and serves reads and deletes', async () => {
    const { port } = server;
    const first = await joinedMember({ port }, MEMBER);
    await first.asker.set('m', 'k', 'v');
    await first.asker.set('m', 'other', 'v');
    await first.end();
    await ask('SET', 'filler', 'x'.repeat(FULL_BYTES));
    await ask('CONFIG', 'SET', 'maxmemory', `${FULL_BYTES / 2}`);
    const refused: string[] = [];
    const onRefused = (_: unknown, command: () => string, text: string) =>
      refused.push(`${command()}: ${text}`);
    for (const clusterName of ['grid', 'another']) {
      const member = await joinedMember({ port, clusterName, onRefused }, MEMBER);
      members.push(member);
      await sleep(LEASE_MS / 2);
      assert.ok(member.cluster.isReady);
      assert.equal((await member.asker.set('m', 'new', 'v')).outcome, MEMORY_FULL);
    }
    assert.deepEqual([...new Set(refused.map((line) => line.split(' ')[0]))], ['HSET:']);
    const [{ asker }] = members as [JoinedMember];
    assert.equal((await asker.get('m', 'k')).outcome, FOUND);
    assert.equal((await asker.delete('m', 'k')).outcome, APPLIED);
    assert.equal((await asker.get('m', 'k')).outcome, ABSENT);
    const other = await joiningMember({ port, partitionCount: 300 }, { ...MEMBER, uuid: 'b' });
    await assert.rejects(
      other.joined,
      /it has 271 partitions, but this member is configured for 300/,
    );
    await other.member.end();
  });

  it('refuses to join while its server may evict data, unless a setting allows it', async () => {
    const { port } = server;
    await ask('CONFIG', 'SET', 'maxmemory', '64mb');
    await ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random');
    await assert.rejects(joinedMember({ port }, MEMBER), /maxmemory-policy is allkeys-random/);
    const warnings: string[] = [];
    const onWarning = (text: string) => warnings.push(text);
    members.push(await joinedMember({ port, onWarning, allowsEviction: true }, MEMBER));
    assert.match(warnings.join('\n'), /maxmemory-policy is allkeys-random/);
  });

  it('serves no data of another layout, reports it, and serves again once it is gone', async () => {
    const { port } = server;
    const warnings: string[] = [];
    const onWarning = (text: string) => warnings.push(text);
    const member = await joinedMember({ port, onWarning }, MEMBER);
    members.push(member);
    const record = new Layout('grid', PARTITION_COUNT).clusterKey('record').toString();
    await ask('FLUSHALL');
    await ask('HSET', record, 'layout', '{"format":1,"partitionCount":300}');
    await until(async () => (await member.asker.get('m', 'k')).reason === DATA_LAYOUT);
    assert.equal((await member.asker.set('m', 'k', 'v')).outcome, UNREACHABLE);
    assert.equal((await member.asker.offer('q', 'v')).outcome, UNREACHABLE);
    await until(async () => member.reports.some((text) => /it has 300 partitions/.test(text)));
    await ask('FLUSHALL');
    await until(async () => (await member.asker.set('m', 'k', 'v')).outcome === APPLIED);
    assert.match(warnings.join('\n'), /have lost the record of the members/);
  });

  const refusing: Readonly<Record<string, readonly [() => Promise<void>, () => Promise<unknown>]>> =
    {
      NOREPLICAS: [
        async () => {
          await ask('CONFIG', 'SET', 'min-replicas-to-write', '1');
        },
        () => ask('CONFIG', 'SET', 'min-replicas-to-write', '0'),
      ],
      MISCONF: [
        async () => {
          const reply = await sendCommand(server.port, 'CONFIG', 'GET', 'dir');
          assert.ok(Array.isArray(reply));
          rmSync(`${reply[1]}`, { recursive: true });
          await ask('SET', 'changed', '1');
          await ask('CONFIG', 'SET', 'save', '1 1');
          await until(async () =>
            (await ask('INFO', 'persistence')).includes('rdb_last_bgsave_status:err'),
          );
        },
        () => ask('CONFIG', 'SET', 'stop-writes-on-bgsave-error', 'no'),
      ],
    };
  for (const [error, [begin, end]] of Object.entries(refusing)) {
    it(`waits and reports while its server replies ${error}, then joins; once joined it keeps its lease`, async () => {
      const { port } = server;
      await begin();
      const { member, joined } = await joiningMember({ port }, MEMBER);
      members.push(member);
      await until(async () => member.reports.length > 0);
      assert.match(member.reports[0]!, new RegExp(`the server 127\\.0\\.0\\.1:${port} .*${error}`));
      assert.equal(member.cluster.nodeState, 'STARTING');
      await end();
      await joined;
      assert.equal((await member.asker.set('m', 'k', 'v')).outcome, APPLIED);
      if (error !== 'NOREPLICAS') return;
      await begin();
      for (let ms = 0; ms < 2 * LEASE_MS; ms += 500) {
        await sleep(500);
        assert.ok(member.cluster.acceptsWrites && member.cluster.isReady, member.reports.join());
      }
      await end();
      await until(async () => (await member.asker.set('m', 'k', 'v')).outcome === APPLIED);
      assert.equal(member.reports.filter((line) => line === 'away').length, 0);
    });
  }
});
