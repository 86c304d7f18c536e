/** Covers src/embedding/member-locks.ts and grid-lock.ts: locks of a program that embeds a member. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Waiter } from '../../src/cluster/cluster.ts';
import { SingleCpMember } from '../../src/cp/cp-members.ts';
import { Cp } from '../../src/cp/cp-part.ts';
import { CpStore } from '../../src/cp/cp-store.ts';
import { promised } from '../../src/cp/steps.ts';
import { MemberLocks } from '../../src/embedding/member-locks.ts';
import { EmbeddedEngine } from '../../src/engine/embedded/embedded-engine.ts';
import { type EmbeddedMember, GridError, startMember } from '../../src/index.ts';
import { LocalResults } from '../../src/local/local-results.ts';
import { FakeClock } from '../fake-clock.ts';
import { TEST_MEMORY } from '../integration/member-process.ts';

const code = (expected: string) => (error: unknown) =>
  error instanceof GridError && error.code === expected;

/** Locks of a member with a clock that the test sets; sessions have 300 s. */
function locksWith(delay?: ConstructorParameters<typeof LocalResults>[0]) {
  const clock = new FakeClock();
  const engine = new EmbeddedEngine({ partitionCount: 3, clock, queueCapacity: () => 10 });
  const members = new SingleCpMember({ members: [] });
  const store = new CpStore(engine, clock);
  const cp = new Cp({
    ...{ store, clock, members, isShared: false },
    config: { cpSessionSeconds: 300 },
  });
  const waiting = new Set<Waiter>();
  const answers = new LocalResults(delay);
  const check = (_: string, action: string) => assert.equal(action, 'lock');
  const locks = new MemberLocks({ cp, clock, answers, waiting, address: '127.0.0.1', check });
  const sessions = async () => {
    const group = await promised(cp.groups.find('default'));
    return group === undefined ? [] : await cp.state.sessions(group);
  };
  return { clock, cp, locks, waiting, answers, sessions };
}

type Locks = ReturnType<typeof locksWith>;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

async function advance({ clock }: Locks, ms: number): Promise<void> {
  clock.advance(ms);
  await turns();
}

/** Asserts that nothing of released or failed locks is left. */
async function assertNothing({ clock, cp, waiting, sessions }: Locks): Promise<void> {
  assert.deepEqual(await sessions(), []);
  assert.deepEqual([cp.waits.count, waiting.size], [0, 0]);
  // The engine has a timer for expired entries.
  assert.ok(clock.timerCount <= 1);
}

async function closeSessions({ cp, sessions }: Locks): Promise<void> {
  const group = await promised(cp.groups.find('default'));
  for (const { id } of await sessions()) await promised(cp.state.closeSession(group!, id));
}

test('a lock has one holder in a program; the next call gets it in turn, with a later fence', async () => {
  const all = locksWith();
  const { locks } = all;
  const first = await locks.take('l', {});
  const order: number[] = [];
  const others = [1, 2, 3].map(async (number) => {
    const lock = await locks.take('l', {});
    order.push(number);
    await lock.release();
    return lock.fence;
  });
  await turns();
  assert.deepEqual(order, []);
  await first.release();
  await first.release();
  const fences = [first.fence, ...(await Promise.all(others))];
  assert.deepEqual(order, [1, 2, 3]);
  assert.deepEqual(
    fences,
    [...fences].sort((a, b) => a - b),
  );
  assert.equal(new Set(fences).size, 4);
  assert.equal(first.signal.aborted, false, 'a released lock is not lost');
  const [named, other] = [await locks.take('é', {}), await locks.take('é', { group: 'other' })];
  assert.deepEqual([named.name, other.name], ['é', 'é']);
  await named.release();
  await other[Symbol.asyncDispose]();
  await assertNothing(all);
  assert.equal(all.cp.sessionCount, 0);
});

test('heartbeats keep a lock beyond the time of its session, and its wait', async () => {
  const all = locksWith();
  const lock = await all.locks.take('l', {});
  const next = all.locks.take('l', {});
  await turns();
  for (let times = 0; times < 10; times++) await advance(all, 100_000);
  assert.equal(lock.signal.aborted, false);
  const sessions = await all.sessions();
  assert.deepEqual(
    sessions.map(({ version }) => version),
    [10, 10],
  );
  await lock.release();
  await (await next).release();
  await assertNothing(all);
});

test('the signal of a lock aborts once its session has ended; a wait rejects', async () => {
  const all = locksWith();
  const lock = await all.locks.take('l', {});
  const next = all.locks.take('l', {});
  const rejected = assert.rejects(next, code('CP_SESSION_UNKNOWN'));
  await turns();
  await closeSessions(all);
  await advance(all, 100_000);
  assert.equal(lock.signal.aborted, true);
  assert.ok(code('CP_SESSION_UNKNOWN')((lock.signal as AbortSignal).reason));
  await rejected;
  await lock.release();
  await assertNothing(all);
});

test('the signal of a lock aborts 5 s before its session ends if no heartbeat gets through', async () => {
  const all = locksWith();
  const lock = await all.locks.take('l', {});
  // biome-ignore lint/correctness/useYield: it fails before its first step
  all.cp.state.heartbeat = function* () {
    throw new GridError('ENGINE_CLOSED', { name: 'test' });
  };
  await advance(all, 294_999);
  assert.equal(lock.signal.aborted, false);
  await advance(all, 1);
  assert.equal(lock.signal.aborted, true);
  assert.equal((await all.sessions()).length, 1);
  await lock.release();
  await assertNothing(all);
});

test('a wait ends with its time, its signal and PASSIVE, and leaves nothing', async () => {
  const all = locksWith();
  const { locks, waiting } = all;
  const lock = await locks.take('l', {});
  await assert.rejects(locks.take('l', { waitSeconds: 0 }), code('CP_LOCK_HELD'));
  const late = assert.rejects(locks.take('l', { waitSeconds: 2.5 }), code('CP_LOCK_HELD'));
  await turns();
  await advance(all, 2499);
  assert.equal(waiting.size, 1);
  await advance(all, 1);
  await late;
  const stop = new AbortController();
  const aborted = locks.take('l', { signal: stop.signal });
  await turns();
  stop.abort(new Error('enough'));
  await assert.rejects(aborted, /enough/);
  await assert.rejects(locks.take('l', { signal: stop.signal }), /enough/);
  const passive = locks.take('l', {});
  await turns();
  for (const wait of waiting) wait.endWait();
  await assert.rejects(passive, code('CLUSTER_PASSIVE'));
  assert.equal((await all.sessions()).length, 1);
  await lock.release();
  await assertNothing(all);
});

test('a signal that aborts while the lock is taken leaves it free', async () => {
  const all = locksWith();
  const stop = new AbortController();
  const taking = all.locks.take('l', { signal: stop.signal });
  stop.abort(new Error('enough'));
  await assert.rejects(taking, /enough/);
  await assertNothing(all);
  await (await all.locks.take('l', { waitSeconds: 0 })).release();
});

test('close ends waits and locks; no lock is taken afterwards', async () => {
  const all = locksWith();
  const lock = await all.locks.take('l', {});
  const waiting = assert.rejects(all.locks.take('l', {}), code('ENGINE_CLOSED'));
  const opening = assert.rejects(all.locks.take('other', {}), code('ENGINE_CLOSED'));
  await all.locks.close();
  assert.ok(code('ENGINE_CLOSED')((lock.signal as AbortSignal).reason));
  await waiting;
  await opening;
  await assert.rejects(all.locks.take('l', {}), code('ENGINE_CLOSED'));
  await assertNothing(all);
});

test('a wait that has ended before it begins leaves no listener', async () => {
  const all = locksWith();
  const lock = await all.locks.take('l', {});
  const { signal } = new AbortController();
  const listeners: unknown[] = [];
  const { aborted, reason } = signal;
  const counted = {
    ...{ aborted, reason },
    addEventListener: (_: 'abort', listener: () => void) => void listeners.push(listener),
    removeEventListener: (_: 'abort', listener: () => void) => {
      listeners.splice(listeners.indexOf(listener), 1);
    },
  };
  const wait = assert.rejects(all.locks.take('l', { signal: counted }), code('ENGINE_CLOSED'));
  await all.locks.close();
  await wait;
  assert.equal(lock.signal.aborted, true);
  assert.deepEqual(listeners, []);
  await assertNothing(all);
});

test('a lock is delivered when a crash can no longer undo it', async () => {
  let delaysAll = true;
  const delay = {
    get delaysAll() {
      return delaysAll;
    },
    delays: () => false,
    sequences: () => new Float64Array(3),
  };
  const all = locksWith(delay);
  let isTaken = false;
  const taking = all.locks.take('l', {}).then((lock) => {
    isTaken = true;
    return lock;
  });
  await turns();
  assert.deepEqual([isTaken, all.answers.delayedCount], [false, 1]);
  delaysAll = false;
  all.answers.release();
  const lock = await taking;
  delaysAll = true;
  const failing = assert.rejects(all.locks.take('other', {}), code('OUTCOME_UNKNOWN'));
  await turns();
  all.answers.failDelayed();
  await failing;
  delaysAll = false;
  await lock.release();
  await assertNothing(all);
});

test('names, groups and times that cannot be used are refused', async () => {
  const { locks } = locksWith();
  await assert.rejects(locks.take('', {}), TypeError);
  await assert.rejects(locks.take('l', { group: '' }), TypeError);
  await assert.rejects(locks.take('l', { group: 'METADATA' }), /METADATA: it has no locks/);
  await assert.rejects(locks.take('l'.repeat(256), {}), RangeError);
  await assert.rejects(locks.take('\ud800', {}), /not Unicode text/);
  for (const waitSeconds of [-1, Number.NaN, 2_147_484]) {
    await assert.rejects(
      locks.take('l', { waitSeconds }),
      /seconds: not 0 to 2147483, or Infinity/,
    );
  }
});

async function started(): Promise<EmbeddedMember> {
  return await startMember({ port: 0, groups: ['CP'], maxMemory: TEST_MEMORY });
}

async function sendLock({ port }: EmbeddedMember, method: string, path: string, body?: string) {
  const url = `http://127.0.0.1:${port}/grid/v1/cp/default/${path}`;
  const response = await fetch(url, { method, ...(body === undefined ? {} : { body }) });
  const value = response.status < 204 ? await response.json() : {};
  return { status: response.status, value: value as { id: number; fence: number } };
}

test('a program and HTTP clients share the locks of a member', async () => {
  const member = await started();
  const lock = await member.lock('l');
  const held = await sendLock(member, 'GET', 'locks/l');
  assert.equal(held.value.fence, lock.fence);
  const { value: opened } = await sendLock(member, 'POST', 'sessions', 'name=client');
  const waiting = sendLock(member, 'POST', 'locks/l', `session=${opened.id}&wait=60`);
  await lock.release();
  const { status, value } = await waiting;
  assert.equal(status, 200);
  assert.ok(value.fence > lock.fence);
  const next = member.lock('l');
  await sendLock(member, 'POST', `sessions/${opened.id}/close`);
  assert.ok((await next).fence > value.fence);
  await member.drain();
  await assert.rejects(member.lock('l'), code('ENGINE_CLOSED'));
});

test('await using releases a lock at the end of the block', async () => {
  const all = locksWith();
  {
    await using lock = await all.locks.take('l', {});
    assert.ok(lock.fence > 0);
    await assert.rejects(all.locks.take('l', { waitSeconds: 0 }), code('CP_LOCK_HELD'));
  }
  await assertNothing(all);
});

test('drain ends the locks of the program', async () => {
  const member = await started();
  const lock = await member.lock('l');
  const waiting = assert.rejects(member.lock('l'), code('ENGINE_CLOSED'));
  await member.drain();
  assert.equal(lock.signal.aborted, true);
  await waiting;
  await lock.release();
});
