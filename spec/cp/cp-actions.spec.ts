/** Sessions and locks of the CP subsystem, and its administration, in both dialects. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { COMPATIBILITIES, type Compatibility } from '../../src/config/compatibility.ts';
import type { ReadResponse } from '../http/response-reader.ts';
import { restMember } from '../surface/rest-member.ts';

const CP = 'rest/cp-subsystem';
const SESSION_MS = 300_000;

type Member = ReturnType<typeof restMember>;

function eachDialect(
  title: string,
  run: (member: Member, compatibility: Compatibility) => Promise<void>,
): void {
  for (const compatibility of COMPATIBILITIES) {
    it(`${title}, compatibility ${compatibility}`, async () => {
      const member = restMember({ compatibility });
      await run(member, compatibility);
      assert.deepEqual(member.failures, []);
    });
  }
}

async function json({ askWhole }: Member, method: string, path: string, body = '') {
  const { status, body: text } = await askWhole(method, path, body);
  assert.ok(status === 200 || status === 201, `${method} ${path}: ${status} ${text}`);
  return JSON.parse(text);
}

async function openSession(member: Member, group = 'g', name = 'worker'): Promise<number> {
  return (await json(member, 'POST', `v1/cp/${group}/sessions`, `name=${name}`)).id;
}

/** Takes the lock, and returns its fence. */
async function lock(member: Member, session: number, wait = 0): Promise<number> {
  return (await json(member, 'POST', 'v1/cp/g/locks/l', `session=${session}&wait=${wait}`)).fence;
}

async function release(member: Member, session: number): Promise<number> {
  return (await member.askWhole('POST', 'v1/cp/g/locks/l/release', `session=${session}`)).status;
}

/** Runs turns until the condition holds. */
async function until({ clock }: Member, isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100 && !isTrue(); turn++) {
    await nextTurn();
    clock.settle();
  }
  assert.ok(isTrue());
}

/** Sends a request for the lock that waits, and lets it begin to wait. */
async function waitingFor(member: Member, session: number, seconds: number) {
  const waiting = member.sent('POST', 'v1/cp/g/locks/l', `session=${session}&wait=${seconds}`);
  for (let turn = 0; turn < 10; turn++) {
    await nextTurn();
    member.clock.settle();
  }
  assert.equal(waiting.read(), undefined);
  return waiting;
}

function assertError({ status, body }: ReadResponse, wanted: number, message: RegExp): void {
  assert.equal(status, wanted, body);
  assert.match(JSON.parse(body).message, message);
}

describe('Locks of the CP subsystem', () => {
  eachDialect('have one holder, whose fence is later than all before', async (member) => {
    const [one, two] = [await openSession(member), await openSession(member)];
    assert.ok(two > one);
    const first = await lock(member, one);
    assert.equal(await lock(member, one), first, 'a repeated request gets the same fence');
    const path = 'v1/cp/g/locks/l';
    assert.deepEqual(await json(member, 'GET', path), { fence: first, session: one });
    const held = await member.askWhole('POST', path, `session=${two}`);
    assertError(held, 409, /Cannot take lock "l": another session holds it/);
    assert.equal(await release(member, two), 409);
    assert.equal(await release(member, one), 204);
    assert.equal(await release(member, one), 409);
    assertError(await member.askWhole('GET', path), 404, /nobody holds it/);
    const second = await lock(member, two);
    assert.ok(second > first);
    assert.equal(await release(member, two), 204);
    assert.ok((await lock(member, two)) > second, 'a lock taken anew has a new fence');
  });

  eachDialect('are free once their session has been closed or has ended', async (member) => {
    const one = await openSession(member);
    const first = await lock(member, one);
    const two = await openSession(member);
    assert.equal((await member.askWhole('POST', `v1/cp/g/sessions/${one}/close`)).status, 204);
    const second = await lock(member, two);
    assert.ok(second > first);
    member.clock.advance(SESSION_MS - 1);
    const three = await openSession(member);
    assert.equal((await member.askWhole('POST', `v1/cp/g/sessions/${two}/heartbeat`)).status, 204);
    member.clock.advance(SESSION_MS - 1);
    assert.equal(await lock(member, two), second, 'a heartbeat keeps session and lock');
    assert.equal(
      (await member.askWhole('POST', `v1/cp/g/sessions/${three}/heartbeat`)).status,
      204,
    );
    member.clock.advance(2);
    const ended = await member.askWhole('POST', 'v1/cp/g/locks/l', `session=${two}`);
    assertError(ended, 404, /session \d+: it does not exist, or has ended/);
    assert.ok((await lock(member, three)) > second);
    for (const end of ['heartbeat', 'close']) {
      assert.equal((await member.askWhole('POST', `v1/cp/g/sessions/${two}/${end}`)).status, 404);
    }
  });

  eachDialect('are given to waiting requests in turn', async (member) => {
    const holder = await openSession(member);
    const fence = await lock(member, holder);
    const sessions: number[] = [];
    for (let count = 0; count < 5; count++) sessions.push(await openSession(member));
    const waiting: Awaited<ReturnType<typeof waitingFor>>[] = [];
    for (const session of sessions) waiting.push(await waitingFor(member, session, 60));
    const skipping = await member.askWhole('POST', 'v1/cp/g/locks/l', `session=${holder}`);
    assert.equal(JSON.parse(skipping.body).fence, fence);
    let last = fence;
    let current = holder;
    for (const [index, session] of sessions.entries()) {
      assert.equal(waiting[index]!.read(), undefined);
      assert.equal(await release(member, current), 204);
      await until(member, () => waiting[index]!.read() !== undefined);
      const { fence: next } = JSON.parse(waiting[index]!.read()?.body ?? '');
      assert.ok(next > last);
      last = next;
      current = session;
    }
    assert.equal(await release(member, current), 204);
  });

  eachDialect('end a wait with its time, its session, PASSIVE or its client', async (member) => {
    const holder = await openSession(member);
    await lock(member, holder);
    const one = await openSession(member);
    const late = await waitingFor(member, one, 2);
    member.clock.advance(2000);
    await until(member, () => late.read() !== undefined);
    assertError(late.read()!, 409, /another session holds it/);

    const ended = await waitingFor(member, one, 20);
    const { status } = await member.askWhole('POST', `v1/cp/g/sessions/${one}/close`);
    assert.equal(status, 204);
    await until(member, () => ended.read() !== undefined);
    assert.equal(ended.read()?.status, 404);

    const two = await openSession(member);
    const left = await waitingFor(member, two, 20);
    left.socket.receiveEnd();
    await until(member, () => left.read() !== undefined);
    assert.equal(left.read()?.status, 409);

    const passive = await waitingFor(member, two, 20);
    await member.cluster.changeState('PASSIVE');
    await until(member, () => passive.read() !== undefined);
    assert.equal(passive.read()?.status, 503);
    await member.cluster.changeState('ACTIVE');
    assert.equal(await release(member, holder), 204);
    assert.ok((await lock(member, two)) > 0);
  });

  eachDialect('refuse missing and invalid parameters by name and value', async (member) => {
    const session = await openSession(member);
    const long = 'x'.repeat(256);
    for (const [path, form, message] of [
      ['g/sessions', '', /without the parameter "name"/],
      ['g/sessions', `name=${long}`, /a name of 256 bytes/],
      ['g/sessions', 'x=1', /"x": known are name/],
      ['METADATA/sessions', 'name=a', /group METADATA/],
      [`${long}/sessions`, 'name=a', /a group of 256 bytes/],
      ['g/locks/l', '', /without the parameter "session"/],
      ['g/locks/l', 'session=x', /session=x: not the id of a session/],
      ['g/locks/l', `session=${session}&wait=-1`, /wait=-1: not an integer from 0/],
      ['g/locks/l', `session=${session}&wait=2147484`, /wait=2147484: not/],
      [`g/locks/${long}`, `session=${session}`, /a lock of 256 bytes/],
      ['g/locks/l/release', '', /without the parameter "session"/],
    ] as const) {
      assertError(await member.askWhole('POST', `v1/cp/${path}`, form), 400, message);
    }
    const query = await member.askWhole('POST', `v1/cp/g/locks/l?session=${session}`);
    assertError(query, 400, /"session": known are none/);
    for (const path of ['g/locks/l', 'none/locks/l']) {
      assert.equal((await member.askWhole('POST', `v1/cp/${path}`, 'session=1')).status, 404);
    }
  });
});

describe('Administration of the CP subsystem', () => {
  eachDialect('lists groups, sessions and members', async (member, compatibility) => {
    assert.deepEqual(await json(member, 'GET', `${CP}/groups`), [{ name: 'METADATA', id: 0 }]);
    assert.equal((await member.askWhole('GET', `${CP}/groups/g`)).status, 404);
    assert.equal((await member.askWhole('GET', `${CP}/groups/g/sessions`)).status, 404);
    const id = await openSession(member, 'g', 'a%20b');
    await openSession(member, '%FF');
    const groups = await json(member, 'GET', `${CP}/groups`);
    assert.deepEqual(groups.slice(1), [
      { name: 'g', id: 1 },
      { nameBase64: '/w==', id: 2 },
    ]);
    const members = await json(member, 'GET', `${CP}/members`);
    const [{ address }] = members;
    assert.equal(address, compatibility === 'none' ? '127.0.0.1:5701' : '[127.0.0.1]:5701');
    assert.deepEqual(await json(member, 'GET', `${CP}/members/local`), members[0]);
    for (const name of ['METADATA', 'g']) {
      const group = await json(member, 'GET', `${CP}/groups/${name}`);
      assert.deepEqual(group, { id: { name, id: group.id.id }, status: 'ACTIVE', members });
    }
    const [session, ...others] = await json(member, 'GET', `${CP}/groups/g/sessions`);
    assert.deepEqual(others, []);
    assert.equal(session.expirationTime - session.creationTime, SESSION_MS);
    assert.deepEqual([session.id, session.version, session.endpointType], [id, 0, 'CLIENT']);
    assert.equal(session.endpointName, 'a b');
    assert.deepEqual(await json(member, 'GET', `${CP}/groups/METADATA/sessions`), []);
  });

  eachDialect('removes groups, sessions and members', async (member, compatibility) => {
    const call = async (path: string, body = 'dev&') => {
      return (await member.askWhole('POST', `${CP}/${path}`, body)).status;
    };
    const bad = compatibility === 'none' ? 400 : 500;
    const session = await openSession(member);
    const fence = await lock(member, session);
    assert.equal(await call('groups/METADATA/remove'), 400);
    assert.equal(await call('groups/none/remove'), 400);
    assert.equal(await call('groups/g/sessions/1/remove'), 400);
    assert.equal(await call('groups/none/sessions/1/remove'), 400);
    assert.equal(await call('groups/g/sessions/x/remove'), bad);
    assert.equal(await call(`groups/g/sessions/${session}/remove`), 200);
    const next = await openSession(member);
    assert.ok((await lock(member, next)) > fence);
    assert.equal(await call('groups/g/remove', 'dev&&'), 200);
    assert.equal(await call('groups/g/remove'), 400);
    const made = await openSession(member);
    assert.equal((await json(member, 'GET', `${CP}/groups`))[1].id, 2);
    assert.equal((await json(member, 'GET', `${CP}/groups/g/sessions`)).length, 1);
    assert.ok((await lock(member, made)) > fence);
    assert.equal(await call('reset'), 200);
    assert.equal((await json(member, 'GET', `${CP}/groups`)).length, 1);
    await openSession(member);
    assert.equal((await json(member, 'GET', `${CP}/groups`))[1].id, 3);

    const [{ uuid }] = await json(member, 'GET', `${CP}/members`);
    assert.equal(await call('members'), 200);
    assert.equal(await call(`members/${uuid}/remove`), compatibility === 'none' ? 409 : 500);
    assert.equal(await call('members/0123abcd-0123-0123-0123-0123456789ab/remove'), 400);
    assert.equal(await call('members/x/remove'), bad);
    for (const path of ['members', 'reset', 'groups/g/remove', 'groups/g/sessions/1/remove']) {
      assert.equal(await call(path, 'wrong&'), 403);
      assert.equal(await call(path, 'dev'), 400);
    }
  });

  it('has at most 1,000 groups', async () => {
    const member = restMember();
    for (let count = 0; count < 1000; count++) await openSession(member, `g${count}`);
    const full = await member.askWhole('POST', 'v1/cp/more/sessions', 'name=a');
    assertError(full, 503, /Cannot create a CP group: there are 1000/);
    await openSession(member, 'g7');
  });
});
