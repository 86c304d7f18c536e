/**
 * Covers src/wan and src/persistence. Sources with persistence, as processes that are killed: their
 * queued changes are sent after a restart.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { freePort } from '../free-port.ts';
import { RawClient, requestBytes } from './client.ts';
import { serve, TEST_PARTITIONS } from './member-process.ts';
import { sendingTo, soon, started, stopAll, stopped } from './wan-members.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'wan-killed-'));
after(() => rmSync(FOLDER, { recursive: true }));
afterEach(stopAll);

const FLAGS = [
  ...['--host', '127.0.0.1', '--partition-count', String(TEST_PARTITIONS)],
  ...['--enable-group', 'DATA', '--enable-group', 'WAN'],
];
const EVENTS = 1000;
/** Number of requests in flight at a time. */
const PIPELINED = 500;

const LATEST = { 'merge-policy-class-name': 'LatestUpdate' };

/**
 * Starts a process with its own data directory that sends the map `m` to the port. A member in this
 * process continues with its data.
 */
async function killable(dataDirectory: string, grid: object) {
  const file = `${dataDirectory}.yaml`;
  writeFileSync(file, JSON.stringify({ grid }));
  const member = await serve('--config', file, '--data-dir', dataDirectory, ...FLAGS);
  const client = new RawClient(member.port);
  return {
    client,
    port: member.port,
    async kill(): Promise<void> {
      client.destroy();
      member.child.kill('SIGKILL');
      await member.exited;
    },
  };
}

async function queueSize(client: RawClient): Promise<number> {
  const { body } = await client.request('GET', 'wan/publishers');
  const status = JSON.parse(body.toString()) as { publishers: { queueSize: number }[] };
  return status.publishers[0]?.queueSize ?? 0;
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
    const dataDirectory = join(FOLDER, 'waiting');
    const grid = sendingTo([port], { 'queue-capacity': 2 * EVENTS }, LATEST);
    const first = await killable(dataDirectory, grid);
    const all = keys(EVENTS);
    const responses = await askAll(first.client, sets('first', all));
    assert.deepEqual([...new Set(responses)], ['200 ']);
    assert.equal(await queueSize(first.client), EVENTS);
    // Some of these are applied, and none of their responses is read.
    first.client.send(Buffer.concat(sets('second', all.slice(0, EVENTS / 2))));
    first.client.send(requestBytes('DELETE', `maps/m/key${EVENTS - 1}`));
    const watching = new RawClient(first.port);
    await soon(async () => (await queueSize(watching)) > EVENTS, true);
    watching.destroy();
    await first.kill();
    const again = await started({ dataDirectory, grid });
    // The queue contains the latest change of each key.
    assert.ok((await queueSize(again.client)) >= EVENTS);
    const target = await started({ port });
    await soon(() => queueSize(again.client), 0);
    const own = await askAll(again.client, gets(all));
    assert.ok(own.some((response) => response.startsWith('200 second')));
    assert.deepEqual(await askAll(target.client, gets(all)), own);
  });

  it('keeps a cleared queue empty, and the events of one that was stopped before all were sent', async () => {
    const port = await freePort();
    const dataDirectory = join(FOLDER, 'cleared');
    const grid = sendingTo([port], {}, LATEST);
    const first = await killable(dataDirectory, grid);
    await askAll(first.client, sets('cleared', keys(20)));
    const clear = Buffer.from('dev&&w&p0');
    const { status } = await first.client.request('POST', 'wan/clearWanQueues', clear);
    assert.equal(status, 200);
    await first.kill();
    const paused = sendingTo([port], { 'initial-publisher-state': 'PAUSED' }, LATEST);
    const second = await started({ dataDirectory, grid: paused });
    assert.equal(await queueSize(second.client), 0);
    await askAll(second.client, sets('kept', keys(3)));
    await stopped(second);
    assert.deepEqual(
      second.lines.map(({ msg }) => msg).filter((msg) => msg.includes('3 events were not sent')),
      ['WAN publisher: 3 events were not sent; the queue is kept'],
    );
    const third = await started({ dataDirectory, grid });
    assert.equal(await queueSize(third.client), 3);
    const target = await started({ port });
    await soon(() => queueSize(third.client), 0);
    const there = await askAll(target.client, gets(keys(4)));
    assert.deepEqual(
      there.map((response) => response.slice(0, 8)),
      ['200 kept', '200 kept', '200 kept', '204 '],
    );
  });
});
