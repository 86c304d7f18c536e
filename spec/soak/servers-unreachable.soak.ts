/**
 * 30 s without the server of three members: after the deadline they respond at once, refused
 * changes are not applied, and the memory of the members does not grow. After the return of the
 * server they serve again soon, and no member has been removed.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawClient, type ReceivedResponse } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { EngineServer } from '../peers/engine-server.ts';

const OUTAGE_MS = 30_000;
/** Time that a member waits for the server before it refuses requests at once, in ms. */
const DEADLINE_MS = 5000;
const RESPONSE_MS_MAX = 50;
const RECOVERY_MS_MAX = 2000;
const GROWTH_MIB_MAX = 20;
const WAIT_MS_MAX = 60_000;

type Served = Awaited<ReturnType<typeof serve>>;

let server: EngineServer;
const running: Served[] = [];

before(async () => {
  server = await EngineServer.start();
});

after(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ exited }) => exited));
  await server.stop();
});

async function three(clusterName: string): Promise<readonly [Served, Served, Served]> {
  const url = `redis://127.0.0.1:${server.port}`;
  const words = ['--enable-group', 'all', '--engine', url, '--cluster-name', clusterName];
  for (let count = 0; count < 3; count++) running.push(await serve(...words));
  const [one, two, last] = running as [Served, Served, Served];
  await until(async () => (await membersOf(one)).length === 3);
  return [one, two, last];
}

async function request(
  { port }: Served,
  method: string,
  path: string,
  body?: string,
): Promise<ReceivedResponse> {
  const client = new RawClient(port);
  try {
    return await client.request(method, path, body === undefined ? undefined : Buffer.from(body));
  } finally {
    client.destroy();
  }
}

async function membersOf(member: Served): Promise<string[]> {
  const { body } = await request(member, 'GET', 'cluster');
  const { members } = JSON.parse(body.toString()) as { members: { uuid: string }[] };
  return members.map(({ uuid }) => uuid);
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (!(await isTrue())) {
    assert.ok(performance.now() < end, 'the condition was not met in time');
    await sleep(20);
  }
}

/** Returns the resident memory, in MiB. */
function residentOf({ child }: Served): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

test('Members survive 30 s without the server', async (context) => {
  const members = await three('away');
  const uuids = await membersOf(members[0]);
  assert.equal((await request(members[0], 'POST', 'maps/m/k', 'v')).status, 200);
  process.kill(server.pid, 'SIGSTOP');
  const stoppedAt = performance.now();
  const requests = [
    ['GET', 'maps/m/k', undefined],
    ['POST', 'maps/m/other', 'w'],
    ['POST', 'queues/q', 'item'],
    ['DELETE', 'queues/q/0', undefined],
  ] as const;
  const early = members.map((member) => request(member, 'GET', 'maps/m/k'));
  assert.deepEqual([...new Set((await Promise.all(early)).map(({ status }) => status))], [503]);
  while (performance.now() - stoppedAt < 2 * DEADLINE_MS) await sleep(100);
  const before = members.map(residentOf);
  const clients = members.map(({ port }) => new RawClient(port));
  const times: number[] = [];
  const others: number[] = [];
  while (performance.now() - stoppedAt < OUTAGE_MS) {
    for (const client of clients) {
      for (const [method, path, body] of requests) {
        const from = performance.now();
        const response = await client.request(method, path, body && Buffer.from(body));
        times.push(performance.now() - from);
        assert.equal(response.status, 503, `${method} ${path}`);
        assert.equal(response.fields.get('grid-outcome'), 'not-applied', `${method} ${path}`);
      }
      const from = performance.now();
      assert.equal((await client.request('GET', 'cluster')).status, 200);
      others.push(performance.now() - from);
    }
    await sleep(10);
  }
  const growth = members.map((member, index) => residentOf(member) - before[index]!);
  process.kill(server.pid, 'SIGCONT');
  const backAt = performance.now();
  const backs = members.map(async (member) => {
    await until(async () => (await request(member, 'GET', 'maps/m/k')).body.toString() === 'v');
    await until(async () => (await request(member, 'POST', 'maps/m/back', 'x')).status === 200);
    return performance.now() - backAt;
  });
  const back = Math.max(...(await Promise.all(backs)));
  for (const client of clients) client.destroy();
  context.diagnostic(
    `${times.length} responses: ${describe(times)}; responses that need no server: ${describe(others)}; ` +
      `growth by ${growth.map((each) => each.toFixed(1)).join(', ')} MiB; recovered in ${back.toFixed(0)} ms`,
  );
  assert.ok(quantileOf(times, 0.5) < RESPONSE_MS_MAX, describe(times));
  assert.ok(Math.max(...growth) < GROWTH_MIB_MAX, `${growth} MiB`);
  assert.ok(back < RECOVERY_MS_MAX, `${back} ms`);
  for (const member of members) assert.deepEqual(await membersOf(member), uuids);
  assert.equal((await request(members[1], 'GET', 'maps/m/other')).status, 204);
  assert.equal((await request(members[1], 'DELETE', 'queues/q/0')).status, 204);
});

/** Returns the quantile `part` of the times. */
function quantileOf(times: readonly number[], part: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

function describe(times: readonly number[]): string {
  const parts = [0.5, 0.99, 1].map((part) => quantileOf(times, part).toFixed(1));
  return `median ${parts[0]} ms, 99 % ${parts[1]} ms, longest ${parts[2]} ms`;
}
