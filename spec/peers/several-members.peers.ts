/**
 * Several members on one server, each a process: data and state that they share, and their
 * behaviour when the server or one of them fails.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { RawClient, type ReceivedResponse } from '../integration/client.ts';
import { serve, start } from '../integration/member-process.ts';
import { EngineServer } from './engine-server.ts';

const SECRET = 'pa55word';
const EXIT_USAGE = 2;
/** Limit for the wait for a condition, in ms. */
const WAIT_MS_MAX = 60_000;
const GROUPS = ['--enable-group', 'all'];

type Served = Awaited<ReturnType<typeof serve>>;

let server: EngineServer;
let clusterCount = 0;
let running: Pick<Served, 'child' | 'exited'>[] = [];

before(async () => {
  server = await EngineServer.start();
});

afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map(({ exited }) => exited));
  running = [];
});

after(() => server.stop());

function wordsOf(clusterName: string, port = server.port): string[] {
  return [...GROUPS, '--engine', `redis://127.0.0.1:${port}`, '--cluster-name', clusterName];
}

async function members(count: number, clusterName = `c${clusterCount++}`): Promise<Served[]> {
  const made: Served[] = [];
  // One after the other, so that their order is determined.
  for (let number = 0; number < count; number++) {
    made.push(await serve(...wordsOf(clusterName)));
    running.push(made.at(-1)!);
  }
  return made;
}

async function ask(
  { port }: { readonly port: number },
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

async function contentOf(member: Served, path: string): Promise<string> {
  return (await ask(member, 'GET', path)).body.toString();
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (!(await condition())) {
    assert.ok(performance.now() < end, 'the condition was not met in time');
    await sleep(20);
  }
}

interface ClusterView {
  readonly members: readonly { readonly uuid: string; readonly localMember: boolean }[];
  readonly connectionCount: number;
  readonly allConnectionCount: number;
}

async function clusterOf(member: Served): Promise<ClusterView> {
  return JSON.parse(await contentOf(member, 'cluster')) as ClusterView;
}

async function uuidsOf(member: Served): Promise<string[]> {
  return (await clusterOf(member)).members.map(({ uuid }) => uuid);
}

describe('several members on one server', () => {
  it('have the same maps, queues and members', async () => {
    const three = await members(3);
    for (const [index, writer] of three.entries()) {
      assert.equal((await ask(writer, 'POST', `maps/m/k${index}`, `v${index}`)).status, 200);
      for (const reader of three)
        assert.equal(await contentOf(reader, `maps/m/k${index}`), `v${index}`);
    }
    const waiting = ask(three[0]!, 'DELETE', 'queues/q/30');
    await sleep(100);
    assert.equal((await ask(three[2]!, 'POST', 'queues/q', 'item')).status, 200);
    assert.equal((await waiting).body.toString(), 'item');
    for (const member of three) await until(async () => (await uuidsOf(member)).length === 3);
    const [first, ...others] = await Promise.all(three.map(clusterOf));
    const uuids = first!.members.map(({ uuid }) => uuid);
    assert.ok(first!.members[0]!.localMember, 'the oldest member is first');
    for (const { members: seen } of others) {
      assert.deepEqual(
        seen.map(({ uuid }) => uuid),
        uuids,
      );
    }
    assert.ok(first!.allConnectionCount > first!.connectionCount);
  });

  it('change the cluster state together, and it outlives them', async () => {
    const clusterName = `state${clusterCount++}`;
    const [one, two] = await members(2, clusterName);
    const poll = ask(one!, 'DELETE', 'queues/q/60');
    await until(async () => (await uuidsOf(one!)).length === 2);
    const path = 'management/cluster/changeState';
    const changed = await ask(two!, 'POST', path, `${clusterName}&&passive`);
    assert.equal(changed.status, 200, changed.body.toString());
    assert.equal((await poll).status, 503);
    await until(async () => (await ask(one!, 'POST', 'maps/m/k', 'v')).status === 503);
    assert.equal((await ask(two!, 'POST', 'maps/m/k', 'v')).status, 503);
    assert.equal((await ask(two!, 'POST', path, `${clusterName}&&active`)).status, 200);
    await until(async () => (await ask(one!, 'POST', 'maps/m/k', 'v')).status === 200);
    await ask(one!, 'POST', path, `${clusterName}&&frozen`);
    for (const { child, exited } of running) {
      child.kill('SIGTERM');
      assert.equal((await exited)[0], 0);
    }
    const [three] = await members(1, clusterName);
    assert.equal(await contentOf(three!, '../health/cluster-state').catch(() => ''), '');
    assert.match(
      (await ask(three!, 'POST', 'management/cluster/state', `${clusterName}&`)).body.toString(),
      /"state":"frozen"/,
    );
    assert.equal(await contentOf(three!, 'maps/m/k'), 'v');
  });

  it('leave immediately if they are stopped, and after their lease if they are killed', async () => {
    const [one, two, three] = await members(3);
    await until(async () => (await uuidsOf(one!)).length === 3);
    three!.child.kill('SIGTERM');
    assert.equal((await three!.exited)[0], 0);
    await until(async () => (await uuidsOf(one!)).length === 2);
    two!.child.kill('SIGKILL');
    await until(async () => (await uuidsOf(one!)).length === 1);
    assert.equal((await ask(one!, 'POST', 'maps/m/k', 'v')).status, 200);
  });

  it('refuse a backup, as they store no data', async () => {
    const [one] = await members(1, 'own');
    const response = await ask(one!, 'POST', 'management/cluster/backup', 'own&');
    assert.equal(response.status, 409);
    assert.match(
      response.body.toString(),
      /the data is stored on servers \(engine\.url\), not by this member/,
    );
  });
});

describe('a member on a server', () => {
  it('joins once the server responds, and serves again after the server was paused', async () => {
    const late = await EngineServer.start();
    process.kill(late.pid, 'SIGSTOP');
    const started = start(...wordsOf('late', late.port), '--health-port', '0');
    running.push(started);
    try {
      await until(() => started.lines.some(({ msg }) => /does not answer/.test(msg)));
      const { port } = started.lines.find(({ msg }) => msg === 'joining the cluster')!;
      const early = await ask({ port: port! }, 'GET', 'maps/m/k');
      assert.equal(early.status, 503);
      assert.match(early.body.toString(), /the member is joining its cluster/);
      process.kill(late.pid, 'SIGCONT');
      await until(() => started.lines.some(({ msg }) => msg === 'listening'));
      assert.equal((await ask({ port: port! }, 'POST', 'maps/m/k', 'v')).status, 200);
      process.kill(late.pid, 'SIGSTOP');
      const refused = await ask({ port: port! }, 'POST', 'maps/m/k', 'w');
      assert.equal(refused.status, 503);
      assert.match(refused.fields.get('grid-outcome') ?? '', /^(unknown|not-applied)$/);
      await until(async () => (await ask({ port: port! }, 'GET', 'maps/m/k')).status === 503);
      process.kill(late.pid, 'SIGCONT');
      await until(async () => (await ask({ port: port! }, 'POST', 'maps/m/k', 'x')).status === 200);
      await until(async () => (await ask({ port: port! }, 'GET', 'maps/m/k')).status === 200);
    } finally {
      process.kill(late.pid, 'SIGCONT');
      started.child.kill('SIGKILL');
      await late.stop();
    }
  });

  for (const [fault, words, message] of [
    ['its password is wrong', ['--engine', 'URL', 'password'], /Cannot log in to the server/],
    ['its partition count differs', ['--partition-count', '7'], /it has 271 partitions/],
    ['the server is not a Sentinel', ['--engine', 'URL?sentinel=main'], /is not a Sentinel/],
  ] as const) {
    it(`exits with code 2 at its start if ${fault}`, async () => {
      const url = `redis://127.0.0.1:${server.port}`;
      const clusterName = `wrong${clusterCount++}`;
      const [one] = await members(1, clusterName);
      const replaced = words.map((word) => word.replace('URL', url));
      const isPassword = replaced.includes('password');
      const flags = replaced.filter((word) => word !== 'password');
      const variables = isPassword ? { GRID_ENGINE_PASSWORD: SECRET } : {};
      Object.assign(process.env, variables);
      const started = start(...wordsOf(clusterName), ...flags);
      delete process.env.GRID_ENGINE_PASSWORD;
      running.push(started);
      if (started.child.exitCode === null) await once(started.child, 'exit');
      assert.equal((await started.exited)[0], EXIT_USAGE);
      await until(() => started.lines.some(({ level }) => level === 'fatal'));
      assert.match(started.lines.find(({ level }) => level === 'fatal')!.msg, message);
      assert.ok(!JSON.stringify(started.lines).includes(SECRET));
      assert.equal((await ask(one!, 'GET', 'maps/m/k')).status, 204);
    });
  }
});
