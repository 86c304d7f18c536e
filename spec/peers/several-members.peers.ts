/**
 * Several members on one server, each a process: data and state that they share, and their
 * behaviour when the server or one of them fails.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from '../integration/member-process.ts';
import { EngineServer, serverForTests } from './engine-server.ts';
import {
  ask,
  clusterOf,
  killAll,
  running,
  type Served,
  startMembers,
  uuidsOf,
  wordsOf,
} from './served-members.ts';
import { until } from './server-process.ts';

const SECRET = 'pa55word';
const EXIT_USAGE = 2;

const server = serverForTests();
let clusterCount = 0;

afterEach(killAll);

function members(count: number, clusterName = `c${clusterCount++}`): Promise<Served[]> {
  return startMembers(count, clusterName, server.port);
}

async function contentOf(member: Served, path: string): Promise<string> {
  return (await ask(member, 'GET', path)).body.toString();
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
      await until(async () => started.lines.some(({ msg }) => /does not answer/.test(msg)));
      const { port } = started.lines.find(({ msg }) => msg === 'joining the cluster')!;
      const early = await ask({ port: port! }, 'GET', 'maps/m/k');
      assert.equal(early.status, 503);
      assert.match(early.body.toString(), /the member is joining its cluster/);
      process.kill(late.pid, 'SIGCONT');
      await until(async () => started.lines.some(({ msg }) => msg === 'listening'));
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
      const started = start(...wordsOf(clusterName, server.port), ...flags);
      delete process.env.GRID_ENGINE_PASSWORD;
      running.push(started);
      if (started.child.exitCode === null) await once(started.child, 'exit');
      assert.equal((await started.exited)[0], EXIT_USAGE);
      await until(async () => started.lines.some(({ level }) => level === 'fatal'));
      assert.match(started.lines.find(({ level }) => level === 'fatal')!.msg, message);
      assert.ok(!JSON.stringify(started.lines).includes(SECRET));
      assert.equal((await ask(one!, 'GET', 'maps/m/k')).status, 204);
    });
  }
});
