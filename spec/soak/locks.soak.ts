/**
 * SOAK_SIZE rounds of CLIENTS clients that take locks of a member with persistence. Holders are killed,
 * sessions are ended, groups are removed and made anew, and the member is killed and started again. No
 * lock ever has two holders whose sessions live, and its fences rise. Then SOAK_SIZE requests wait for
 * one lock: each gets it in turn, and nothing is left over.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../bench/harness.ts';
import { freePort } from '../free-port.ts';
import { RawClient } from '../integration/client.ts';
import { serveWith } from '../integration/member-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const SIZE = Number(process.env.SOAK_SIZE ?? 10_000);
const SEED = Number(process.env.SOAK_SEED ?? Date.now() % 1_000_000);
const CLIENTS = 64;
const GROUPS = ['g', 'h'];
const LOCKS = 6;
const SESSION_SECONDS = 4;
/** Time for which a session lives for certain after a heartbeat, in ms. */
const CERTAIN_MS = SESSION_SECONDS * 1000 - 500;
const WAIT_SECONDS = 2;
const HELD_MS_MAX = 8;
/** Time between two kills of the member, in ms. */
const KILL_MS = 7000;
const RETRY_MS = 50;

const random = new Random(SEED);

interface Session {
  readonly group: string;
  readonly id: number;
  /** Time until which it lives for certain; 0 once it may have been ended. */
  liveUntilMs: number;
}

/** The sessions that know that they hold a lock, and the largest fence, by lock. */
const holders = new Map<string, Set<Session>>();
const fences = new Map<string, number>();
const sessions = new Set<Session>();
let roundCount = 0;
let staleCount = 0;

type Started = Awaited<ReturnType<typeof serveWith>>;
let member: Started;
let isOver = false;
after(() => member.child.kill('SIGKILL'));

async function startMember(port: number, folder: string): Promise<Started> {
  const environment = { GRID_CPSUBSYSTEM_SESSIONTIMETOLIVESECONDS: String(SESSION_SECONDS) };
  const words = ['--port', String(port), '--enable-group', 'all', '--data-dir', folder];
  return await serveWith({ environment }, ...words, '--max-memory', '256m');
}

/** A connection to the member, which is made anew after a failure. */
class Connection {
  readonly #port: number;
  #client: RawClient | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Returns the response; undefined if there was none. */
  async call(method: string, path: string, body = '') {
    this.#client ??= new RawClient(this.#port);
    const response = await this.#client
      .request(method, path, method === 'POST' ? Buffer.from(body) : undefined)
      .catch(() => undefined);
    if (response === undefined) {
      this.end();
      await sleep(RETRY_MS);
      return undefined;
    }
    return { status: response.status, text: response.body.toString() };
  }

  end(): void {
    this.#client?.socket.destroy();
    this.#client = undefined;
  }
}

async function runClient(port: number): Promise<void> {
  const connection = new Connection(port);
  while (roundCount < SIZE) {
    const group = GROUPS[random.below(GROUPS.length)]!;
    const sentMs = Date.now();
    const opened = await connection.call('POST', `v1/cp/${group}/sessions`, 'name=w');
    if (opened?.status !== 201) continue;
    const { id } = JSON.parse(opened.text);
    const session = { group, id, liveUntilMs: sentMs + CERTAIN_MS };
    sessions.add(session);
    for (let count = 0; count < 12; count++) if (!(await useLock(connection, session))) break;
    sessions.delete(session);
  }
  connection.end();
}

/** Takes a lock, holds and releases it. Returns whether the session may still live. */
async function useLock(connection: Connection, session: Session): Promise<boolean> {
  const { group, id } = session;
  const lock = `v1/cp/${group}/locks/l${random.below(LOCKS)}`;
  const wait = random.below(4) === 0 ? 0 : WAIT_SECONDS;
  const taken = await connection.call('POST', lock, `session=${id}&wait=${wait}`);
  if (taken === undefined || taken.status === 409) return await renew(connection, session);
  if (taken.status !== 200) {
    assert.ok([404, 503].includes(taken.status), taken.text);
    return taken.status === 503 && (await renew(connection, session));
  }
  roundCount++;
  const { fence } = JSON.parse(taken.text);
  const isLive = session.liveUntilMs > Date.now();
  const held = holders.get(lock) ?? new Set();
  holders.set(lock, held);
  if (isLive) {
    for (const other of held)
      assert.ok(other.liveUntilMs <= Date.now(), `${lock} has two live holders`);
    assert.ok(fence >= (fences.get(lock) ?? 0), `${lock}: ${fence} after a later fence`);
    fences.set(lock, fence);
  } else staleCount++;
  held.add(session);
  await sleep(random.below(HELD_MS_MAX));
  // A killed holder says nothing more, and its session ends by time.
  const isKilled = random.below(100) === 0;
  held.delete(session);
  if (isKilled) {
    connection.end();
    return false;
  }
  const released = await connection.call('POST', `${lock}/release`, `session=${id}`);
  if (released?.status === 409)
    assert.ok(session.liveUntilMs <= Date.now(), 'a holder can release');
  return await renew(connection, session);
}

async function renew(connection: Connection, session: Session): Promise<boolean> {
  const sentMs = Date.now();
  const path = `v1/cp/${session.group}/sessions/${session.id}/heartbeat`;
  const renewed = await connection.call('POST', path);
  if (renewed?.status === 204 && session.liveUntilMs > 0) session.liveUntilMs = sentMs + CERTAIN_MS;
  return renewed?.status !== 404;
}

/** Ends sessions and removes groups from time to time. */
async function administer(port: number): Promise<void> {
  const connection = new Connection(port);
  while (!isOver) {
    await sleep(100);
    const all = [...sessions];
    const chosen = all[random.below(all.length)];
    if (chosen !== undefined) {
      chosen.liveUntilMs = 0;
      const path = `cp-subsystem/groups/${chosen.group}/sessions/${chosen.id}/remove`;
      await connection.call('POST', path, 'dev&');
    }
    if (random.below(20) > 0) continue;
    const group = GROUPS[random.below(GROUPS.length)]!;
    for (const session of sessions) if (session.group === group) session.liveUntilMs = 0;
    await connection.call('POST', `cp-subsystem/groups/${group}/remove`, 'dev&');
    for (const session of sessions) if (session.group === group) session.liveUntilMs = 0;
  }
  connection.end();
}

async function killRepeatedly(port: number, folder: string): Promise<number> {
  let count = 0;
  for (let passedMs = 0; !isOver; passedMs += RETRY_MS) {
    await sleep(RETRY_MS);
    if (passedMs < KILL_MS) continue;
    member.child.kill('SIGKILL');
    await member.exited;
    member = await startMember(port, folder);
    passedMs = 0;
    count++;
  }
  return count;
}

async function metricOf(port: number, name: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/grid/metrics`);
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(await response.text())?.[1]);
}

test(`${SIZE} rounds of ${CLIENTS} clients, seed ${SEED}`, async (context) => {
  const port = await freePort();
  const folder = temporaryFolder();
  member = await startMember(port, folder);
  const others = [administer(port), killRepeatedly(port, folder)] as const;
  await Promise.all(Array.from({ length: CLIENTS }, () => runClient(port)));
  isOver = true;
  const [, killCount] = await Promise.all(others);
  context.diagnostic(`${killCount} kills, ${staleCount} locks for sessions that had ended`);
  assert.equal(await metricOf(port, 'gridnode_cp_waiting_locks'), 0);
  await sleep(SESSION_SECONDS * 1000 + 500);
  for (const group of GROUPS) {
    const connection = new Connection(port);
    const listed = await connection.call('GET', `cp-subsystem/groups/${group}/sessions`);
    if (listed?.status === 200) assert.equal(listed.text, '[]');
    connection.end();
  }
  member.child.kill('SIGTERM');
  await member.exited;
});

test(`${SIZE} requests that wait for a lock get it in turn`, async (context) => {
  const port = await freePort();
  // Each request that waits has a connection of its own; two others ask and release.
  const flags = ['--port', String(port), '--connections-max', String(SIZE + 10)];
  member = await serveWith({}, '--enable-group', 'all', ...flags);
  const admin = new RawClient(port);
  const call = async (path: string, body: string) => {
    const response = await admin.request('POST', `v1/cp/g/${path}`, Buffer.from(body));
    assert.ok(response.status < 300, response.body.toString());
    return response.status === 204 ? undefined : JSON.parse(response.body.toString());
  };
  const holder = await call('sessions', 'name=holder');
  await call('locks/l', `session=${holder.id}`);
  const order: number[] = [];
  let lastFence = 0;
  const clients: RawClient[] = [];
  const granted: Promise<void>[] = [];
  for (let index = 0; index < SIZE; index++) {
    const { id } = await call('sessions', 'name=waiting');
    const client = new RawClient(port);
    clients.push(client);
    await once(client.socket, 'connect');
    const body = Buffer.from(`session=${id}&wait=600`);
    const waiting = client.request('POST', 'v1/cp/g/locks/l', body).then(async (response) => {
      const { fence } = JSON.parse(response.body.toString());
      assert.ok(fence > lastFence);
      lastFence = fence;
      order.push(index);
      const path = 'v1/cp/g/locks/l/release';
      const released = await client.request('POST', path, Buffer.from(`session=${id}`));
      assert.equal(released.status, 204);
    });
    granted.push(waiting);
    if (index % 100 === 0)
      while ((await metricOf(port, 'gridnode_cp_waiting_locks')) <= index) await sleep(1);
  }
  while ((await metricOf(port, 'gridnode_cp_waiting_locks')) < SIZE) await sleep(10);
  const beganMs = performance.now();
  await call('locks/l/release', `session=${holder.id}`);
  await Promise.all(granted);
  context.diagnostic(`all woken in ${Math.round(performance.now() - beganMs)} ms`);
  const wrong = order.filter((value, place) => value !== place).length;
  context.diagnostic(`${wrong} not in the order in which they were sent`);
  assert.ok(wrong < SIZE / 100, 'requests of several connections may arrive in another order');
  assert.equal(await metricOf(port, 'gridnode_cp_waiting_locks'), 0);
  for (const client of clients) client.socket.destroy();
  admin.socket.destroy();
  member.child.kill('SIGTERM');
  assert.equal((await member.exited)[0], 0);
});
