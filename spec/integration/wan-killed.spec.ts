/**
 * Sources with persistence, as processes that are killed: their queued changes are sent after a
 * restart.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { freePort } from '../free-port.ts';
import { RawClient, requestBytes } from './client.ts';
import { serve } from './member-process.ts';
import { sendingTo, soon } from './wan-members.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-killed-'));
after(() => rmSync(FOLDER, { recursive: true }));

const GROUPS = ['--enable-group', 'DATA', '--enable-group', 'WAN'];
const EVENTS = 10_000;
/** Number of requests in flight at a time. */
const PIPELINED = 500;

/**
 * Starts a member with its own data directory that sends the map `m` to the port. A second start
 * uses the same directory.
 */
async function source(name: string, port: number, publisher: object = {}) {
  const file = join(FOLDER, `${name}.yaml`);
  const ref = { 'merge-policy-class-name': 'LatestUpdate' };
  writeFileSync(file, JSON.stringify({ grid: sendingTo([port], { ...publisher }, ref) }));
  const directory = join(FOLDER, name);
  const flags = ['--config', file, '--host', '127.0.0.1', '--data-dir', directory, ...GROUPS];
  const member = await serve(...flags);
  const client = new RawClient(member.port);
  return {
    ...member,
    client,
    async publisher() {
      const { body } = await client.request('GET', 'wan/publishers');
      const status = JSON.parse(body.toString()) as { publishers: { queueSize: number }[] };
      return status.publishers[0];
    },
    async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
      client.destroy();
      member.child.kill(signal);
      await member.exited;
    },
  };
}

/** Sends the requests, PIPELINED at a time. Returns the statuses and bodies. */
async function askAll(client: RawClient, requests: readonly Buffer[]): Promise<readonly string[]> {
  const responses: string[] = [];
  for (let at = 0; at < requests.length; at += PIPELINED) {
    const some = requests.slice(at, at + PIPELINED);
    client.send(Buffer.concat(some));
    for (const _ of some) {
      const response = await client.response();
      responses.push(`${response?.status} ${response?.body}`);
    }
  }
  return responses;
}

const keys = (count: number) => Array.from({ length: count }, (_, index) => `maps/m/key${index}`);
const sets = (value: string, paths: readonly string[]) =>
  paths.map((path) => requestBytes('POST', path, Buffer.from(`${value} of ${path}`)));
const gets = (paths: readonly string[]) => paths.map((path) => requestBytes('GET', path));

describe('a source that is killed', () => {
  it(`sends the ${EVENTS} changes that were queued, and those whose responses were never read`, async () => {
    const port = await freePort();
    const first = await source('waiting', port, { 'queue-capacity': 2 * EVENTS });
    const all = keys(EVENTS);
    const responses = await askAll(first.client, sets('first', all));
    assert.deepEqual([...new Set(responses)], ['200 ']);
    assert.equal((await first.publisher())?.queueSize, EVENTS);
    // Some of these are applied, and none of their responses is read.
    const more = sets('second', all.slice(0, 4000));
    first.client.send(Buffer.concat(more));
    first.client.send(requestBytes('DELETE', 'maps/m/key9999'));
    await soon(async () => {
      const { body } = await new RawClient(first.port).request('GET', 'wan/publishers');
      const status = JSON.parse(body.toString()) as { publishers: { queueSize: number }[] };
      return (status.publishers[0]?.queueSize ?? 0) > EVENTS;
    }, true);
    await first.end('SIGKILL');
    const again = await source('waiting', port, { 'queue-capacity': 2 * EVENTS });
    // The queue contains the latest change of each key.
    assert.ok(((await again.publisher())?.queueSize ?? 0) >= EVENTS);
    const target = await serve('--port', String(port), ...GROUPS);
    await soon(async () => (await again.publisher())?.queueSize, 0);
    const reader = new RawClient(port);
    const own = await askAll(again.client, gets(all));
    assert.ok(own.some((response) => response.startsWith('200 second')));
    assert.deepEqual(await askAll(reader, gets(all)), own);
    reader.destroy();
    await again.end('SIGTERM');
    target.child.kill('SIGTERM');
    await target.exited;
  });

  it('keeps a cleared queue empty, and the events of one that was stopped before all were sent', async () => {
    const port = await freePort();
    const first = await source('cleared', port);
    await askAll(first.client, sets('cleared', keys(20)));
    const { status } = await first.client.request(
      'POST',
      'wan/clearWanQueues',
      Buffer.from('dev&&w&p0'),
    );
    assert.equal(status, 200);
    await first.end('SIGKILL');
    const second = await source('cleared', port, { 'initial-publisher-state': 'PAUSED' });
    assert.equal((await second.publisher())?.queueSize, 0);
    await askAll(second.client, sets('kept', keys(3)));
    await second.end('SIGTERM');
    const warnings = second.lines.filter(({ msg }) => msg.includes('3 events were not sent'));
    assert.deepEqual(
      warnings.map(({ msg }) => msg),
      ['WAN publisher: 3 events were not sent: they stay queued'],
    );
    const third = await source('cleared', port);
    assert.equal((await third.publisher())?.queueSize, 3);
    const target = await serve('--port', String(port), ...GROUPS);
    await soon(async () => (await third.publisher())?.queueSize, 0);
    const reader = new RawClient(port);
    const there = await askAll(reader, gets(keys(4)));
    assert.deepEqual(
      there.map((response) => response.slice(0, 8)),
      ['200 kept', '200 kept', '200 kept', '204 '],
    );
    reader.destroy();
    await third.end('SIGTERM');
    target.child.kill('SIGTERM');
    await target.exited;
  });
});
