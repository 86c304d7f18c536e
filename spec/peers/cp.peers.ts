/**
 * The CP subsystem of several members on one server, each a process: its members, and locks that all of
 * them see. The cases are those of the original's specification.
 */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { serve } from '../integration/member-process.ts';
import { serverForTests } from './engine-server.ts';
import { ask, clusterOf, killAll, running, type Served, wordsOf } from './served-members.ts';
import { until } from './server-process.ts';

const CP = 'cp-subsystem';

const server = serverForTests();
let clusterCount = 0;

afterEach(killAll);

/** Starts members, one after the other, of which the first three are CP members. */
async function startCpMembers(count: number, removalSeconds = 14_400): Promise<Served[]> {
  const clusterName = `cp${clusterCount++}`;
  const started: Served[] = [];
  // The members are started with the variables of this process.
  Object.assign(process.env, {
    GRID_CPSUBSYSTEM_CPMEMBERCOUNT: '3',
    GRID_CPSUBSYSTEM_MISSINGCPMEMBERAUTOREMOVALSECONDS: String(removalSeconds),
    GRID_ENGINE_MAXNOHEARTBEATSECONDS: '5',
  });
  for (let number = 0; number < count; number++) {
    const member = await serve(...wordsOf(clusterName, server.port));
    started.push(member);
    running.push(member);
  }
  return started;
}

async function json(member: Served, method: string, path: string, body?: string) {
  const response = await ask(member, method, path, body);
  const text = response.body.toString();
  assert.ok(response.status === 200 || response.status === 201, `${path}: ${text}`);
  return JSON.parse(text);
}

async function statusOf(member: Served, path: string, body?: string): Promise<number> {
  return (await ask(member, body === undefined ? 'GET' : 'POST', path, body)).status;
}

async function cpMembers(member: Served): Promise<string[]> {
  return (await json(member, 'GET', `${CP}/members`)).map(({ uuid }: { uuid: string }) => uuid);
}

async function uuidOf(member: Served): Promise<string> {
  const { members } = await clusterOf(member);
  return members.find(({ localMember }) => localMember)!.uuid;
}

/** The credentials of an administrative call. */
function credentials(name = `cp${clusterCount - 1}`): string {
  return `${name}&`;
}

async function openSession(member: Served, group: string): Promise<number> {
  return (await json(member, 'POST', `v1/cp/${group}/sessions`, 'name=w')).id;
}

describe('the CP subsystem of several members on one server', () => {
  it('has the first members to join, and those that are added', async () => {
    const four = await startCpMembers(4);
    const uuids = await Promise.all(four.map(uuidOf));
    const fourth = four[3]!;
    for (const member of four) assert.deepEqual(await cpMembers(member), uuids.slice(0, 3));
    for (const [index, member] of four.entries()) {
      if (index < 3) {
        assert.equal((await json(member, 'GET', `${CP}/members/local`)).uuid, uuids[index]);
      } else assert.equal(await statusOf(member, `${CP}/members/local`), 404);
    }
    assert.equal(await statusOf(fourth, `${CP}/members`, credentials('x')), 403);
    assert.deepEqual(await cpMembers(fourth), uuids.slice(0, 3));
    assert.equal(await statusOf(four[0]!, `${CP}/members`, credentials()), 200);
    assert.deepEqual(await cpMembers(fourth), uuids.slice(0, 3));
    assert.equal(await statusOf(fourth, `${CP}/members`, credentials()), 200);
    assert.deepEqual(await cpMembers(four[1]!), uuids);
    const [, second] = four;
    second!.child.kill('SIGTERM');
    await running[1]!.exited;
    assert.deepEqual(await cpMembers(fourth), [uuids[0], uuids[2], uuids[3]]);
  });

  it('lists members that were killed until they are removed', async () => {
    const three = await startCpMembers(3);
    const uuids = await Promise.all(three.map(uuidOf));
    const [, second, third] = three;
    const gone = uuids[2]!;
    const path = `${CP}/members/${gone}/remove`;
    // A member hears of another one that has joined within a heartbeat.
    await until(async () => (await clusterOf(second!)).members.length === 3);
    assert.equal(await statusOf(second!, path, credentials()), 409);
    third!.child.kill('SIGKILL');
    await running[2]!.exited;
    await until(async () => (await clusterOf(second!)).members.length === 2);
    assert.deepEqual(await cpMembers(second!), uuids);
    const unknown = `${CP}/members/0123abcd-0123-0123-0123-0123456789ab/remove`;
    assert.equal(await statusOf(second!, unknown, credentials()), 400);
    assert.equal(await statusOf(second!, path, credentials('x')), 403);
    assert.equal(await statusOf(second!, path, credentials()), 200);
    assert.equal(await statusOf(second!, path, credentials()), 400);
    assert.deepEqual(await cpMembers(three[0]!), uuids.slice(0, 2));
  });

  it('removes members that are gone after the time of the setting', async () => {
    const three = await startCpMembers(3, 3);
    const uuids = await Promise.all(three.map(uuidOf));
    three[0]!.child.kill('SIGKILL');
    await running[0]!.exited;
    await until(async () => (await cpMembers(three[1]!)).length === 2);
    assert.deepEqual(await cpMembers(three[2]!), uuids.slice(1));
  });

  it('has groups, sessions and locks that all members see', async () => {
    const three = await startCpMembers(3);
    const [first, second, third] = three as [Served, Served, Served];
    const uuids = await Promise.all(three.map(uuidOf));
    const sessions: number[] = [];
    for (const member of three) sessions.push(await openSession(member, 'default'));
    await openSession(second, 'custom');
    const names = (await json(third, 'GET', `${CP}/groups`)).map(
      (each: { name: string }) => each.name,
    );
    assert.deepEqual(names, ['METADATA', 'default', 'custom']);
    for (const name of names) {
      const group = await json(first, 'GET', `${CP}/groups/${name}`);
      assert.deepEqual([group.id.name, group.status], [name, 'ACTIVE']);
      assert.deepEqual(
        group.members.map((each: { uuid: string }) => each.uuid),
        uuids,
      );
    }
    assert.equal(await statusOf(first, `${CP}/groups/none`), 404);
    const listed = await json(second, 'GET', `${CP}/groups/default/sessions`);
    assert.deepEqual(
      listed.map((each: { id: number }) => each.id),
      sessions,
    );

    const lock = 'v1/cp/default/locks/l';
    const { fence } = await json(first, 'POST', lock, `session=${sessions[0]}`);
    assert.equal(await statusOf(second, lock, `session=${sessions[1]}`), 409);
    const waiting = json(second, 'POST', lock, `session=${sessions[1]}&wait=30`);
    const other = json(third, 'POST', lock, `session=${sessions[2]}&wait=30`);
    assert.equal(await statusOf(third, `${lock}/release`, `session=${sessions[0]}`), 204);
    const one = await Promise.race([waiting, other]);
    assert.ok(one.fence > fence);
    const { session } = await json(first, 'GET', lock);
    const close = `${CP}/groups/default/sessions/${session}/remove`;
    assert.equal(await statusOf(first, close, credentials('x')), 403);
    assert.equal(await statusOf(first, close, credentials()), 200);
    assert.equal(await statusOf(first, close, credentials()), 400);
    const both = await Promise.all([waiting, other]);
    assert.ok(both.every((each) => each.fence > fence) && both[0].fence !== both[1].fence);
    assert.equal(await statusOf(first, `${CP}/groups/other/sessions/1/remove`, credentials()), 400);
  });

  it('removes groups, and all of them at the oldest member', async () => {
    const three = await startCpMembers(3);
    const [first, second] = three as [Served, Served];
    const session = await openSession(second, 'default');
    const lock = 'v1/cp/default/locks/l';
    const { fence } = await json(second, 'POST', lock, `session=${session}`);
    const remove = `${CP}/groups/default/remove`;
    assert.equal(await statusOf(second, remove, credentials('x')), 403);
    assert.equal(await statusOf(second, `${CP}/groups/METADATA/remove`, credentials()), 400);
    assert.equal(await statusOf(second, `${CP}/groups/custom/remove`, credentials()), 400);
    assert.equal(await statusOf(second, remove, credentials()), 200);
    assert.equal(await statusOf(first, lock, `session=${session}`), 404);
    const next = await openSession(first, 'default');
    const { id } = (await json(first, 'GET', `${CP}/groups/default`)).id;
    assert.ok((await json(first, 'POST', lock, `session=${next}`)).fence > fence);
    for (const member of three)
      assert.equal(await statusOf(member, `${CP}/reset`, credentials('x')), 403);
    assert.equal(await statusOf(second, `${CP}/reset`, credentials()), 409);
    assert.equal(await statusOf(first, `${CP}/reset`, credentials()), 200);
    assert.equal((await json(second, 'GET', `${CP}/groups`)).length, 1);
    await openSession(second, 'default');
    assert.ok((await json(first, 'GET', `${CP}/groups/default`)).id.id > id);
  });
});
