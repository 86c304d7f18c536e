/**
 * 64 connections from 16 addresses guess passwords for SOAK_SECONDS, in administration and in map
 * requests, while a registered user reads. No guess succeeds, and every request of the user is
 * served. Prints the response times; the guessing clients share the machine with the member.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { median } from '../../bench/harness.ts';
import { hashPassword } from '../../src/security/password.ts';
import { RawClient, requestBytes } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 60);
const ADDRESSES = 16;
const CONNECTIONS = 64;

function readRequest(user: string, password: string): Buffer {
  const login = Buffer.from(`${user}:${password}`).toString('base64');
  const bare = String(requestBytes('GET', 'maps/m/k'));
  return Buffer.from(bare.replace('\r\n\r\n', `\r\nAuthorization: Basic ${login}\r\n\r\n`));
}

function stateRequest(user: string, password: string): Buffer {
  return requestBytes('POST', 'management/cluster/state', Buffer.from(`${user}&${password}`));
}

test('A registered user is served while passwords are guessed', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'logins-'));
  const file = join(folder, 'grid.yaml');
  const password = await hashPassword(Buffer.from('right'));
  const users = [{ username: 'ann', password }];
  const realms = [{ name: 'staff', authentication: { simple: { users } } }];
  const security = { enabled: true, realms, 'member-authentication': { realm: 'staff' } };
  const rest = {
    enabled: true,
    authentication: 'basic',
    'endpoint-groups': { DATA: { enabled: true } },
  };
  writeFileSync(file, JSON.stringify({ grid: { network: { 'rest-api': rest }, security } }));
  const { child, exited, port } = await serve('--config', file, '--host', '127.0.0.1');
  context.after(() => child.kill('SIGKILL'));
  const clientOf = (index: number) => {
    return new RawClient(connect({ host: '127.0.0.1', port, localAddress: `127.0.1.${index}` }));
  };
  let isOver = false;
  const counts: Record<string, number> = {};
  const guessing = Array.from({ length: CONNECTIONS }, async (_, index) => {
    const client = clientOf(1 + (index % ADDRESSES));
    const requestOf = index % 2 === 0 ? readRequest : stateRequest;
    for (let guess = 0; !isOver; guess++) {
      client.send(requestOf(guess % 3 === 0 ? 'ann' : `user${guess}`, `guess${index} ${guess}`));
      const status = (await client.response())?.status ?? 0;
      counts[status] = (counts[status] ?? 0) + 1;
    }
    client.destroy();
  });
  const reader = clientOf(100);
  const waitsMs: number[] = [];
  const endMs = performance.now() + SECONDS * 1000;
  while (performance.now() < endMs) {
    const startMs = performance.now();
    reader.send(readRequest('ann', 'right'));
    assert.equal((await reader.response())?.status, 204);
    waitsMs.push(performance.now() - startMs);
  }
  isOver = true;
  await Promise.all(guessing);
  assert.deepEqual(
    Object.keys(counts).filter((status) => !['401', '403', '429'].includes(status)),
    [],
  );
  const longest = Math.max(...waitsMs.slice(1)).toFixed(1);
  console.log(
    `${waitsMs.length} reads, median ${median(waitsMs).toFixed(2)} ms, longest ${longest} ms;`,
    `guesses by status ${JSON.stringify(counts)}`,
  );
  reader.destroy();
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  rmSync(folder, { recursive: true });
});
