/**
 * 30 s without the server of three members: after the deadline they respond at once, refused
 * changes are not applied, and the memory of the members does not grow. After the return of the
 * server they serve again soon, and no member has been removed.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, percentile } from '../../bench/harness.ts';
import { residentMibOf } from '../../bench/load/process-figures.ts';
import { RawClient } from '../integration/client.ts';
import { EngineServer } from '../peers/engine-server.ts';
import { ask, killAll, type Served, startMembers, uuidsOf } from '../peers/served-members.ts';
import { until } from '../peers/server-process.ts';

const OUTAGE_MS = 30_000;
/** Time that a member waits for the server before it refuses requests at once, in ms. */
const DEADLINE_MS = 5000;
const RESPONSE_MS_MAX = 50;
const RECOVERY_MS_MAX = 2000;
const GROWTH_MIB_MAX = 20;

let server: EngineServer;

before(async () => {
  server = await EngineServer.start();
});

after(async () => {
  await killAll();
  await server.stop();
});

const residentOf = ({ child }: Served): number => residentMibOf(child.pid) ?? Number.NaN;

test('Members survive 30 s without the server', async (context) => {
  const members = await startMembers(3, 'away', server.port);
  const [first, second] = members as [Served, Served];
  await until(async () => (await uuidsOf(first)).length === 3);
  const uuids = await uuidsOf(first);
  assert.equal((await ask(first, 'POST', 'maps/m/k', 'v')).status, 200);
  process.kill(server.pid, 'SIGSTOP');
  const stoppedAt = performance.now();
  const requests = [
    ['GET', 'maps/m/k', undefined],
    ['POST', 'maps/m/other', 'w'],
    ['POST', 'queues/q', 'item'],
    ['DELETE', 'queues/q/0', undefined],
  ] as const;
  const early = members.map((member) => ask(member, 'GET', 'maps/m/k'));
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
    await until(async () => (await ask(member, 'GET', 'maps/m/k')).body.toString() === 'v');
    await until(async () => (await ask(member, 'POST', 'maps/m/back', 'x')).status === 200);
    return performance.now() - backAt;
  });
  const back = Math.max(...(await Promise.all(backs)));
  for (const client of clients) client.destroy();
  context.diagnostic(
    `${times.length} responses: ${describe(times)}; responses that need no server: ${describe(others)}; ` +
      `growth by ${growth.map((each) => each.toFixed(1)).join(', ')} MiB; recovered in ${back.toFixed(0)} ms`,
  );
  assert.ok(median(times) < RESPONSE_MS_MAX, describe(times));
  assert.ok(Math.max(...growth) < GROWTH_MIB_MAX, `${growth} MiB`);
  assert.ok(back < RECOVERY_MS_MAX, `${back} ms`);
  for (const member of members) assert.deepEqual(await uuidsOf(member), uuids);
  assert.equal((await ask(second, 'GET', 'maps/m/other')).status, 204);
  assert.equal((await ask(second, 'DELETE', 'queues/q/0')).status, 204);
});

function describe(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const parts = [0.5, 0.99, 1].map((part) => percentile(sorted, part).toFixed(1));
  return `median ${parts[0]} ms, 99 % ${parts[1]} ms, longest ${parts[2]} ms`;
}
