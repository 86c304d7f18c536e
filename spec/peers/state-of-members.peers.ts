/**
 * The state of three members, each a process: five changes of it at once; a member that is stopped while the
 * others turn PASSIVE.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawClient, type ReceivedResponse } from '../integration/client.ts';
import { serve } from '../integration/member-process.ts';
import { EngineServer } from './engine-server.ts';

/** A member that was silent for so long is out. */
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

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (!(await isSo())) {
    assert.ok(performance.now() < end, 'it does not come about');
    await sleep(20);
  }
}

describe('The state of three members', () => {
  it('is changed by one of five that ask for it at once', async () => {
    const members = await three('five');
    for (const state of ['frozen', 'active', 'passive', 'active']) {
      const answers = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          ask(members[index % 3]!, 'POST', STATE, `five&&${state}`),
        ),
      );
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [200, 409, 409, 409, 409]);
      for (const member of members) {
        const { body } = await ask(member, 'POST', 'management/cluster/state', 'five&');
        assert.match(body.toString(), new RegExp(`"state":"${state}"`));
      }
    }
  });

  it('PASSIVE is kept by a member that was stopped meanwhile: it changes nothing any more', async () => {
    const [one, two, stopped] = await three('stopped');
    const client = new RawClient(stopped.port);
    assert.equal((await client.request('POST', 'maps/m/k', Buffer.from('v'))).status, 200);
    // What is sent meanwhile waits in the sockets of the member.
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
      const answer = await client.request('POST', 'maps/m/k', Buffer.from('w'));
      assert.equal(answer.status, 503);
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
