/**
 * The cluster state of three members, each a process: five concurrent changes, and a member that is
 * paused while the others change to PASSIVE.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawClient, type ReceivedResponse } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { EngineServer } from './engine-server.ts';

/** Silence after which a member is removed, in ms. */
const SILENT_MS_MAX = 10_000;
const WAIT_MS_MAX = 60_000;
const STATE = 'management/cluster/changeState';

type Served = Awaited<ReturnType<typeof serve>>;

let server: EngineServer;
let running: Served[] = [];

before(async () => {
  server = await EngineServer.start();
});

afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ exited }) => exited));
  running = [];
});

after(() => server.stop());

async function three(clusterName: string): Promise<readonly [Served, Served, Served]> {
  const url = `redis://127.0.0.1:${server.port}`;
  const words = ['--enable-group', 'all', '--engine', url, '--cluster-name', clusterName];
  for (let count = 0; count < 3; count++) running.push(await serve(...words));
  const [one, two, last] = running as [Served, Served, Served];
  await until(async () => (await membersOf(one)).length === 3);
  return [one, two, last];
}

async function ask(
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
  const { body } = await ask(member, 'GET', 'cluster');
  const { members } = JSON.parse(body.toString()) as { members: { uuid: string }[] };
  return members.map(({ uuid }) => uuid);
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (!(await condition())) {
    assert.ok(performance.now() < end, 'the condition was not met in time');
    await sleep(20);
  }
}

describe('the cluster state', () => {
  it('is changed by one of five concurrent requests; the others get 409', async () => {
    const members = await three('five');
    for (const state of ['frozen', 'active', 'passive', 'active']) {
      const responses = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          ask(members[index % 3]!, 'POST', STATE, `five&&${state}`),
        ),
      );
      const statuses = responses.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [200, 409, 409, 409, 409]);
      for (const member of members) {
        const { body } = await ask(member, 'POST', 'management/cluster/state', 'five&');
        assert.match(body.toString(), new RegExp(`"state":"${state}"`));
      }
    }
  });

  it('PASSIVE is obeyed by a member that was paused during the change: it applies no change', async () => {
    const [one, two, stopped] = await three('stopped');
    const client = new RawClient(stopped.port);
    assert.equal((await client.request('POST', 'maps/m/k', Buffer.from('v'))).status, 200);
    // These requests wait in the paused member's sockets.
    process.kill(stopped.child.pid!, 'SIGSTOP');
    const sent = Array.from({ length: 8 }, (_, index) =>
      ask(stopped, 'POST', index % 2 === 0 ? `maps/m/late${index}` : 'queues/late', 'w'),
    );
    assert.equal((await ask(one, 'POST', STATE, 'stopped&&passive')).status, 200);
    await sleep(SILENT_MS_MAX);
    process.kill(stopped.child.pid!, 'SIGCONT');
    for (const { status } of await Promise.all(sent)) assert.equal(status, 503);
    const end = performance.now() + 5000;
    while (performance.now() < end) {
      const response = await client.request('POST', 'maps/m/k', Buffer.from('w'));
      assert.equal(response.status, 503);
      await sleep(5);
    }
    client.destroy();
    assert.equal((await ask(two, 'GET', 'maps/m/k')).body.toString(), 'v');
    assert.equal((await ask(two, 'GET', 'maps/m/late0')).status, 204);
    assert.equal((await ask(two, 'GET', 'queues/late/size')).body.toString(), '0');
    assert.equal((await ask(two, 'POST', STATE, 'stopped&&active')).status, 200);
    await until(async () => (await ask(stopped, 'POST', 'maps/m/k', 'w')).status === 200);
  });
});
