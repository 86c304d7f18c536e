/**
 * Covers src/security. Wrong and right passwords at a member in a separate process. Each kind of
 * client has its own address in 127.0.0.x, because failures are counted by address.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Audit } from '../../src/telemetry/audit.ts';
import { cheapHash } from '../security/cheap-hash.ts';
import { RawClient, type ReceivedResponse, requestBytes } from './client.ts';
import { serve } from './member-process.ts';

const PASSWORD = 'a&b+c%e ü';
const ON = { enabled: true };

let folder = '';
let file = '';
let member: Awaited<ReturnType<typeof serve>>;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'security-'));
  file = join(folder, 'grid.yaml');
  configure({ username: 'ann', password: cheapHash(PASSWORD) });
  member = await serve('--config', file, '--host', '127.0.0.1', '--enable-group', 'CLUSTER_READ');
});

after(async () => {
  member.child.kill('SIGTERM');
  await member.exited;
  rmSync(folder, { recursive: true });
});

/** Writes the configuration of a member with these users. */
function configure(...users: readonly { username: string; password: string }[]): void {
  const security = {
    enabled: true,
    realms: [{ name: 'staff', authentication: { simple: { users } } }],
    'member-authentication': { realm: 'staff' },
  };
  const groups = { DATA: ON, CLUSTER_WRITE: ON };
  const network = { 'rest-api': { authentication: 'basic', 'endpoint-groups': groups } };
  writeFileSync(file, JSON.stringify({ grid: { network, security } }));
}

function clientFrom(localAddress: string): RawClient {
  return new RawClient(connect({ host: '127.0.0.1', port: member.port, localAddress }));
}

function administration(password: string): Buffer {
  const words = `ann&${encodeURIComponent(password)}`;
  return requestBytes('POST', 'management/cluster/state', Buffer.from(words));
}

/** Returns a request for an absent entry. */
function reading(password: string): Buffer {
  const login = Buffer.from(`ann:${password}`).toString('base64');
  const [line, rest] = requestBytes('GET', 'maps/m/k').toString().split('\r\n', 2);
  return Buffer.from(`${line}\r\n${rest}\r\nAuthorization: Basic ${login}\r\n\r\n`);
}

async function responseOf(client: RawClient): Promise<ReceivedResponse> {
  const response = await client.response();
  return response ?? assert.fail('the connection ended');
}

/** Counts the responses by status. A 429 must contain Retry-After. */
async function tally(responses: readonly Promise<ReceivedResponse>[]) {
  const counts: Record<number, number> = {};
  for (const { status, fields } of await Promise.all(responses)) {
    counts[status] = (counts[status] ?? 0) + 1;
    if (status === 429) assert.match(fields.get('retry-after') ?? '', /^([1-9]|10)$/);
  }
  return counts;
}

/** Counts the attempts from this address in the audit log, by status. */
function audited(address: string): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const line of member.lines as unknown as (Parameters<Audit['write']>[0] & {
    level: string;
  })[]) {
    if (line.level !== 'audit' || line.address !== address) continue;
    assert.equal(line.user, 'ann');
    counts[line.status] = (counts[line.status] ?? 0) + (line.count ?? 1);
  }
  return counts;
}

const KINDS = [
  { name: 'the body', requestOf: administration, refused: 403, right: 200, host: 10 },
  { name: 'a header field', requestOf: reading, refused: 401, right: 204, host: 20 },
] as const;

/** Throttled attempts, which are merged into lines of the audit log. */
const throttled: { address: string; refused: number; count: number }[] = [];

for (const { name, requestOf, refused, right, host } of KINDS) {
  describe(`passwords in ${name}`, () => {
    const addressOf = (index: number) => `127.0.0.${host + index}`;

    it('that are wrong on 20 connections at once are checked five times, others are served', async () => {
      const clients = Array.from({ length: 20 }, () => clientFrom(addressOf(2)));
      const others = [1, 3].map((index) => clientFrom(addressOf(index)));
      await Promise.all([...clients, ...others].map(({ socket }) => connected(socket)));
      for (const [index, client] of clients.entries()) client.send(requestOf(`secret ${index}`));
      for (const client of others) client.send(requestOf(PASSWORD));
      assert.deepEqual(await tally(others.map(responseOf)), { [right]: 2 });
      assert.deepEqual(await tally(clients.map(responseOf)), { [refused]: 5, 429: 15 });
      for (const client of [...clients, ...others]) client.destroy();
      throttled.push({ address: addressOf(2), refused, count: 15 });
    });
  });
}

it('changed users also apply to open connections, in both kinds of requests', async () => {
  const client = clientFrom('127.0.0.30');
  const ask = (request: Buffer): Promise<ReceivedResponse> => {
    client.send(request);
    return responseOf(client);
  };
  assert.equal((await ask(reading(PASSWORD))).status, 204);
  configure({ username: 'ann', password: 'another secret' });
  const from = member.lines.length;
  member.child.kill('SIGHUP');
  for (let index = from; (await member.line(index)).msg !== 'reloaded'; index++);
  assert.equal((await ask(reading(PASSWORD))).status, 401);
  assert.equal((await ask(reading('another secret'))).status, 204);
  assert.equal((await ask(administration(PASSWORD))).status, 403);
  client.destroy();
});

it('the audit log contains the number of throttled attempts, written when the member ends', async () => {
  assert.equal(throttled.length, 2);
  for (const { address } of throttled) assert.ok((audited(address)[429] ?? 0) > 0, address);
  member.child.kill('SIGTERM');
  await once(member.child, 'close');
  for (const { address, refused, count } of throttled) {
    assert.deepEqual(audited(address), { [refused]: 5, 429: count });
  }
});

it('the audit log contains no password', () => {
  const text = JSON.stringify(member.lines);
  for (const password of ['secret', PASSWORD, encodeURIComponent(PASSWORD)]) {
    assert.ok(!text.includes(password), password);
  }
});

function connected(socket: RawClient['socket']): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!socket.connecting) return resolve();
    socket.once('connect', resolve).once('error', reject);
  });
}
