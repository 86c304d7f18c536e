/** Covers src/embedding/member-events.ts and the calls of an embedded member that are not about data. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  type EmbeddedMember,
  ENDPOINT_GROUPS,
  ERRORS,
  type ListeningAt,
  type MemberOptions,
  startMember,
} from '../../src/index.ts';
import { RawClient } from '../integration/client.ts';
import { TEST_MEMORY } from '../integration/member-process.ts';
import { countTimers } from '../timer-count.ts';

const members: EmbeddedMember[] = [];
const directories: string[] = [];

afterEach(async () => {
  for (const member of members.splice(0)) await member.close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

async function started(options: MemberOptions = {}): Promise<EmbeddedMember> {
  const listening = options.listen === false ? {} : { port: 0 };
  const member = await startMember({ ...listening, maxMemory: TEST_MEMORY, ...options });
  members.push(member);
  return member;
}

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'grid-events-'));
  directories.push(directory);
  return directory;
}

const code = (expected: string) => (error: { readonly code?: string }) => error.code === expected;

test('events report the ports before the data is recovered, changes of the state, and the end', async () => {
  const seen: unknown[] = [];
  const listening: ListeningAt[] = [];
  const member = await started({
    groups: ['all'],
    healthPort: 0,
    dataDir: newDirectory(),
    log: logOf((line) => seen.push(line)),
    on: {
      listening(at) {
        seen.push('listening');
        listening.push(at);
      },
      state: (state) => seen.push(state),
      stopping: (request) => seen.push(['stopping', request]),
    },
  });
  const { address, port, healthPort, url } = member;
  assert.deepEqual(listening, [{ address, port, healthPort, url }]);
  assert.ok(seen.indexOf('listening') < seen.indexOf('recovered'), String(seen));
  seen.length = 0;
  const once: string[] = [];
  const removed = () => once.push('removed');
  member.once('state', (state) => once.push(state)).on('state', removed);
  member.off('state', removed);
  await member.changeState('FROZEN');
  const client = new RawClient(member.port);
  await client.request('POST', 'management/cluster/changeState', Buffer.from('dev&&active'));
  await assert.rejects(member.changeState('ACTIVE'), code('STATE_UNCHANGED'));
  await client.request('POST', 'management/cluster/memberShutdown', Buffer.from('dev&'));
  await nextTurn();
  client.destroy();
  await member.close();
  const events = seen.filter((each) => typeof each !== 'string' || /^[A-Z]+$/.test(each));
  const request = 'POST /grid/rest/management/cluster/memberShutdown';
  assert.deepEqual(events, ['FROZEN', 'ACTIVE', ['stopping', request]]);
  assert.deepEqual(once, ['FROZEN']);
});

/** Returns a logger that passes on messages. */
function logOf(onLine: (message: string) => void) {
  const line = (fields: object | string, message?: string) =>
    onLine(typeof fields === 'string' ? fields : `${message}`);
  const [debug, info, warn, error, fatal] = [line, line, line, line, line];
  const level = { level: 'info', isLevelEnabled: () => false };
  return { child: () => ({ ...level, debug, info, warn, error, fatal }) };
}

test('a listener that throws ends neither a change of the state nor a close', async () => {
  const member = await started({ listen: false });
  const thrown: unknown[] = [];
  const previous = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error.message));
  try {
    member.on('state', () => {
      throw new Error('of the listener');
    });
    await member.changeState('PASSIVE');
    await nextTurn();
    assert.equal(member.status().cluster.state, 'PASSIVE');
    member.on('stopping', (request) => {
      throw new Error(`stopping ${request}`);
    });
    await member.close();
    await member.close();
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of previous) process.on('uncaughtException', listener);
  }
  assert.deepEqual(thrown, ['of the listener', 'stopping undefined']);
});

test('a signal gives a start up at any time, and leaves neither listener, timer nor port', async () => {
  const timers = countTimers();
  try {
    for (let turns = 0; turns < 40; turns++) {
      const giveUp = new AbortController();
      const { signal } = giveUp;
      const dataDir = newDirectory();
      const starting = startMember({ port: 0, dataDir, maxMemory: TEST_MEMORY, signal });
      const ended = starting.then(
        (member) => member.close(),
        (error) => assert.equal(error.message, 'enough'),
      );
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      giveUp.abort(new Error('enough'));
      await ended;
      // The directory can be used again once its lock is released.
      for (let isFree = false; !isFree; ) {
        isFree = await startMember({ listen: false, dataDir, maxMemory: TEST_MEMORY }).then(
          (member) => member.close().then(() => true),
          (error) => !code('DATA_DIRECTORY_LOCKED')(error),
        );
      }
    }
    const reason = new Error('before');
    const before = { listen: false, signal: AbortSignal.abort(reason) };
    await assert.rejects(startMember(before), reason);
    assert.equal(await timers.count(), 0);
  } finally {
    timers.end();
  }
});

test('a signal that aborts after the start has no effect', async () => {
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    reason: undefined,
    addEventListener: (_: string, listener: () => void) => listeners.add(listener),
    removeEventListener: (_: string, listener: () => void) => listeners.delete(listener),
  };
  await started({ listen: false, signal });
  assert.equal(listeners.size, 0);
  await assert.rejects(startMember({ config: '/no/such', signal }), code('CONFIG_INVALID'));
  assert.equal(listeners.size, 0);
});

test('a member that does not listen has its data, and leaves no resources', async () => {
  const before = process.getActiveResourcesInfo();
  const timers = countTimers();
  const dataDir = newDirectory();
  try {
    const member = await startMember({ listen: false, dataDir, maxMemory: TEST_MEMORY });
    const { address, port, url, healthPort } = member;
    assert.deepEqual([address, port, url, healthPort], ['', 0, undefined, undefined]);
    await member.map('m').set('k', 'v');
    await member.queue('q').offer('i');
    const lock = await member.lock('l');
    assert.equal(lock.signal.aborted, false);
    assert.deepEqual(process.getActiveResourcesInfo().filter(isServer), before.filter(isServer));
    await member.reload();
    assert.equal(member.status().http.connections, 0);
    await member.close();
    assert.equal(await timers.count(), 0);
    const again = await started({ listen: false, dataDir });
    assert.equal((await again.map('m').get('k'))?.text(), 'v');
    again.abort();
  } finally {
    timers.end();
  }
});

function isServer(resource: string): boolean {
  return resource.startsWith('TCP');
}

test('url is the one at which a client reaches the member', async () => {
  const member = await started({ groups: ['DATA'], host: '0.0.0.0' });
  await member.map('m').set('k', 'v');
  assert.match(`${member.url}`, /^http:\/\/localhost:\d+\/grid$/);
  const response = await fetch(`${member.url}/v1/maps/m/entries/k`);
  assert.equal(await response.text(), 'v');
  const other = await started({ pathSegment: 's', host: '127.0.0.1' });
  assert.equal(other.url, `http://127.0.0.1:${other.port}/s`);
});

test('a configuration object keeps the address 127.0.0.1 and REST on', async () => {
  const config = { grid: { map: { m: { 'time-to-live-seconds': 5 } } } };
  const member = await started({ config, maps: { m: { maxIdleSeconds: 7 }, 'n*': NINE } });
  assert.equal(member.address, '127.0.0.1');
  assert.equal((await fetch(`${member.url}/v1/status`)).status, 200);
  const [map, other] = [member.map('m'), member.map('nn')];
  await map.set('k', 'v');
  await other.set('k', 'v');
  const { timeToLiveSeconds, maxIdleSeconds } = (await map.getEntry('k'))!;
  assert.deepEqual([timeToLiveSeconds, maxIdleSeconds], [5, 7]);
  assert.equal((await other.getEntry('k'))?.timeToLiveSeconds, 9);
});

const NINE = { timeToLiveSeconds: 9 };

test('status is the one that HTTP clients get', async () => {
  const member = await started();
  const { history: _, memory, ...own } = member.status();
  assert.ok(memory.residentBytes > 0);
  const response = await fetch(`${member.url}/v1/status`);
  const status = (await response.json()) as typeof own & { history: object; memory: object };
  const { history, memory: bytes, http, ...others } = status;
  assert.deepEqual(Object.keys(history), Object.keys(member.status().history));
  assert.deepEqual(Object.keys(bytes), Object.keys(memory));
  assert.equal(http.connections, 1);
  assert.deepEqual({ ...others, http: { connections: 0, inFlightBytes: 0 } }, own);
});

test('backup creates one, or rejects with the code of the reason', async () => {
  const [dataDir, backupDir] = [newDirectory(), newDirectory()];
  const member = await started({ listen: false, dataDir, backupDir, sync: 'always' });
  await member.map('m').set('k', 'v');
  const making = member.backup();
  await assert.rejects(member.backup(), code('BACKUP_UNDER_WAY'));
  const { path, bytes, seconds } = await making;
  assert.ok(readdirSync(path).length > 0);
  assert.ok(bytes > 0 && seconds >= 0);
  assert.equal(member.status().persistence?.sync, 'always');
  const other = await started({ listen: false, dataDir: newDirectory() });
  await assert.rejects(other.backup(), code('BACKUP_NOWHERE'));
});

test('inspect shows address, port, state and counts, and classes have their names', async () => {
  const member = await started({ groups: ['DATA'], maxMemory: '64m' });
  await member.map('m').set('k', 'v');
  await member.map('m').set('l', 'v');
  await member.queue('q').offer('i');
  const { address, port } = member;
  const counts = { connections: 0, maps: 1, entries: 2, queues: 1, items: 1 };
  const shown = { address, port, healthPort: undefined, state: 'ACTIVE', ...counts };
  assert.equal(inspect(member), `EmbeddedMember ${inspect(shown)}`);
  assert.equal(inspect({ a: { b: { member } } }), '{ a: { b: { member: [EmbeddedMember] } } }');
  assert.equal(inspect(member.map('m')), "GridMap { name: 'm' }");
  assert.equal(inspect(member.queue('q')), "GridQueue { name: 'q' }");
  const value = await member.map('m').get('k');
  assert.match(inspect(value), /^StoredValue \{ value: <Buffer 76>, contentType: undefined \}$/);
  await member.close();
  assert.match(inspect(member), /state: 'STOPPING'/);
});

test('close, drain and the end of a block are one', async () => {
  let outside: EmbeddedMember;
  {
    await using member = await startMember({ listen: false, maxMemory: TEST_MEMORY });
    outside = member;
    await member.map('m').set('k', 'v');
  }
  assert.equal(outside.close(), outside.drain());
  await assert.rejects(outside.map('m').get('k'), code('ENGINE_CLOSED'));
});

test('a taken port is a GridError, and tables of codes and groups are values', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const error = await startMember({ port }).catch((fault) => fault);
  server.close();
  const { name, code: found, status, message, cause } = error;
  assert.deepEqual(
    [name, found, status],
    ['GridError', 'ADDRESS_IN_USE', ERRORS.ADDRESS_IN_USE.status],
  );
  assert.equal(message, `Cannot listen on 127.0.0.1:${port}: already in use`);
  assert.equal(cause.code, 'EADDRINUSE');
  assert.equal(ENDPOINT_GROUPS.DATA, false);
  const away = await startMember({ host: 'no-such-host.invalid' }).catch((fault) => fault);
  assert.deepEqual([away.name, away.code], ['GridError', 'ADDRESS_UNUSABLE']);
});
