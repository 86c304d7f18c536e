/**
 * The contract of a MembershipStore, as a suite that every implementation runs. A subject provides
 * a store that was never used, and advances the time for it.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ADMITS_ALL,
  ADMITS_RETURNED,
  type ClusterView,
  GAP_MS,
  HEARTBEAT_MS,
  type Incarnation,
  type Join,
  type Joined,
  type MembershipStore,
  NO_LIMIT,
  type NotJoined,
  type Out,
  PLACES,
  REPLACED_MS,
  type RecordChange,
  type Refused,
  SAME_LIMIT,
} from '../../src/cluster/membership-store.ts';

export interface StoreSubject {
  readonly store: MembershipStore;
  /** Resolves once the store's clock has advanced by this time. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

const LEASE_MS = 2 * GAP_MS;
/** For tests that create many members, which send no heartbeats. */
const LONG = { leaseMs: 600_000 };
const UNKNOWN: Incarnation = { uuid: 'u1', joinNumber: 99 };

/** Returns the join of a member: its uuid and its address contain the number. */
export function joinOf(number: number, more: Partial<Join> = {}): Join {
  return {
    uuid: `u${number}`,
    address: `h:${number}`,
    memberVersion: '1.2.3',
    isLite: false,
    version: '1.2',
    config: 'c',
    leaseMs: LEASE_MS,
    ...more,
  };
}

async function joined(store: MembershipStore, number: number, more?: Partial<Join>) {
  const answer = await store.join(joinOf(number, more));
  assert.ok('view' in answer, JSON.stringify(answer));
  const life = { uuid: `u${number}`, joinNumber: answer.joinNumber };
  return { life, ...answer };
}

function obstacle(answer: Joined | NotJoined): string | undefined {
  return 'obstacle' in answer ? answer.obstacle : undefined;
}

/** Sends a heartbeat of a member that has the record, confirms it and acts on it. */
async function heartbeat(
  store: MembershipStore,
  life: Incarnation,
  known = 0,
  confirmed = known,
  stopsUpTo = 0,
  applied = confirmed,
) {
  const revisions = { known, confirmed, applied };
  return await store.heartbeat({ ...life, stopsUpTo, leaseMs: LEASE_MS, ...revisions });
}

async function leave(store: MembershipStore, life: Incarnation, stopsUpTo = 0): Promise<void> {
  await store.leave({ ...life, stopsUpTo });
}

function seen(answer: ClusterView | Out | Refused): ClusterView {
  assert.ok('members' in answer, JSON.stringify(answer));
  return answer;
}

function numbers({ members }: ClusterView): number[] {
  return members.map(({ joinNumber }) => joinNumber);
}

async function change(
  store: MembershipStore,
  life: Incarnation,
  revision: number,
  more: Partial<RecordChange> = {},
) {
  const whole = { text: 't', admits: ADMITS_ALL, limitMs: SAME_LIMIT, ...more } as const;
  const answer = await store.change({ ...life, revision, ...whole });
  assert.ok('isMade' in answer, JSON.stringify(answer));
  return answer;
}

/** Lets time pass while the members send heartbeats. */
async function passWithHeartbeats(subject: StoreSubject, ms: number, ...lives: Incarnation[]) {
  for (let leftMs = ms; leftMs > 0; leftMs -= HEARTBEAT_MS) {
    await subject.pass(Math.min(leftMs, HEARTBEAT_MS));
    for (const life of lives) await heartbeat(subject.store, life);
  }
}

export function describeMemberStore(name: string, open: () => Promise<StoreSubject>): void {
  const test = (title: string, run: (subject: StoreSubject) => Promise<void>): void => {
    it(title, async () => {
      const subject = await open();
      try {
        await run(subject);
      } finally {
        await subject.close();
      }
    });
  };
  describe(`${name}: joins`, () => describeJoins(test));
  describe(`${name}: replacements and places`, () => describeReplacements(test));
  describe(`${name}: heartbeats`, () => describeHeartbeats(test));
  describe(`${name}: the record`, () => describeRecord(test));
  describe(`${name}: the shutdown of all, and hints`, () => describeStop(test));
}

type Test = (title: string, run: (subject: StoreSubject) => Promise<void>) => void;

function describeJoins(test: Test): void {
  test('a join returns the record and the members, by join number', async ({ store }) => {
    const a = await joined(store, 1);
    const b = await joined(store, 2, { isLite: true, memberVersion: '1.2.4' });
    assert.deepEqual([a.joinNumber, b.joinNumber], [1, 2]);
    const { revision, version, text, limit, stopsUpTo, members } = b.view;
    assert.deepEqual([version, text, limit, stopsUpTo], ['1.2', '', null, 0]);
    assert.ok(revision > 0 && revision === a.view.revision);
    assert.deepEqual(members, [
      {
        uuid: 'u1',
        joinNumber: 1,
        address: 'h:1',
        memberVersion: '1.2.3',
        isLite: false,
        confirmed: revision,
        applied: revision,
      },
      {
        uuid: 'u2',
        joinNumber: 2,
        address: 'h:2',
        memberVersion: '1.2.4',
        isLite: true,
        confirmed: revision,
        applied: revision,
      },
    ]);
  });

  test('a join of the same uuid replaces the former join', async ({ store }) => {
    const former = await joined(store, 1);
    await joined(store, 2);
    const { life, view } = await joined(store, 1);
    assert.deepEqual(numbers(view), [2, 3]);
    assert.ok('out' in (await heartbeat(store, former.life)));
    assert.deepEqual(numbers(seen(await heartbeat(store, life))), [2, 3]);
  });

  test('another version and a used address are refused', async ({ store }) => {
    await joined(store, 1);
    const other = await store.join(joinOf(2, { version: '1.3', address: 'h:1' }));
    assert.deepEqual(other, { obstacle: 'VERSION', version: '1.2', stopsUpTo: 0 });
    assert.equal(obstacle(await store.join(joinOf(2, { address: 'h:1' }))), 'ADDRESS');
  });

  test('a cluster without members adopts the version of the first', async ({ store }) => {
    const a = await joined(store, 1);
    await leave(store, a.life);
    const b = await joined(store, 2, { version: '1.3' });
    assert.equal(b.view.version, '1.3');
    assert.ok(b.view.revision > a.view.revision);
  });

  test('other settings are refused, and adopted by a cluster without members', async ({
    store,
  }) => {
    const a = await joined(store, 1, { config: '' });
    const b = await joined(store, 2, { config: '' });
    const refused = { obstacle: 'CONFIG', version: '1.2', stopsUpTo: 0 };
    const other = { config: 'ä\n"' };
    assert.deepEqual(await store.join(joinOf(3, other)), { ...refused, config: '' });
    await leave(store, a.life);
    assert.equal(obstacle(await store.join(joinOf(3, other))), 'CONFIG');
    await leave(store, b.life);
    const c = await joined(store, 3, other);
    assert.equal(c.view.revision, b.view.revision);
    assert.deepEqual(await store.join(joinOf(4)), { ...refused, ...other });
    await joined(store, 5, other);
    await leave(store, c.life);
    assert.equal(obstacle(await store.join(joinOf(4, { config: '' }))), 'CONFIG');
  });

  test('a closed cluster admits addresses that left since, and any address without members', async ({
    store,
  }) => {
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    const c = await joined(store, 3);
    await leave(store, c.life);
    const closed = await change(store, a.life, a.view.revision, { admits: ADMITS_RETURNED });
    assert.ok(closed.isMade);
    await leave(store, b.life);
    assert.equal(obstacle(await store.join(joinOf(3))), 'STATE');
    const again = await joined(store, 4, { address: 'h:2' });
    assert.deepEqual(numbers(again.view), [1, 4]);
    await leave(store, again.life);
    await leave(store, a.life);
    const first = await joined(store, 5);
    assert.deepEqual(numbers(first.view), [5]);
    assert.equal(obstacle(await store.join(joinOf(3))), 'STATE');
    await joined(store, 6, { address: 'h:1' });
    const { view } = await change(store, first.life, first.view.revision);
    await change(store, first.life, view.revision, { admits: ADMITS_RETURNED });
    assert.equal(obstacle(await store.join(joinOf(2))), 'STATE', 'an address that left earlier');
  });

  test('the address of a removed member counts as one that left', async (subject) => {
    const { store } = subject;
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    await change(store, a.life, a.view.revision, { admits: ADMITS_RETURNED });
    await passWithHeartbeats(subject, LEASE_MS + HEARTBEAT_MS, a.life);
    assert.ok('out' in (await heartbeat(store, b.life)));
    await joined(store, 3, { address: 'h:2' });
  });
}

function describeReplacements(test: Test): void {
  test('a member that has missed three heartbeats is replaced by a join from its address', async (subject) => {
    const { store } = subject;
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    await passWithHeartbeats(subject, REPLACED_MS - HEARTBEAT_MS, a.life);
    const again = joinOf(3, { address: 'h:2' });
    assert.equal(obstacle(await store.join(again)), 'ADDRESS');
    await passWithHeartbeats(subject, HEARTBEAT_MS + 100, a.life);
    const { view, life } = await joined(store, 3, { address: 'h:2' });
    assert.deepEqual([numbers(view), view.replacedCount], [[1, 3], 1]);
    assert.ok('out' in (await heartbeat(store, b.life)));
    // By its own clock it may act until its lease ends.
    assert.equal(seen(await heartbeat(store, a.life)).replacedCount, 1);
    await passWithHeartbeats(subject, LEASE_MS - REPLACED_MS, a.life, life);
    assert.equal(seen(await heartbeat(store, a.life)).replacedCount, 0);
  });

  test('time without any heartbeat does not prevent the replacement of a member', async (subject) => {
    const { store } = subject;
    await joined(store, 1);
    await subject.pass(REPLACED_MS + 100);
    const { view } = await joined(store, 2, { address: 'h:1' });
    assert.deepEqual([numbers(view), view.replacedCount], [[2], 1]);
  });

  test('a closed cluster admits a member that replaces one', async (subject) => {
    const { store } = subject;
    const a = await joined(store, 1);
    await joined(store, 2);
    await change(store, a.life, a.view.revision, { admits: ADMITS_RETURNED });
    await passWithHeartbeats(subject, REPLACED_MS + 100, a.life);
    assert.equal(obstacle(await store.join(joinOf(3))), 'STATE');
    await joined(store, 4, { address: 'h:2' });
  });

  test('each member has a separate place, which is not reused soon', async (subject) => {
    const { store } = subject;
    const places = new Set<number>();
    const last = await joined(store, 1, LONG);
    places.add(last.place);
    for (let number = 2; number <= 4; number++) {
      const { place, life } = await joined(store, number, LONG);
      assert.ok(place >= 0 && place < PLACES && !places.has(place));
      places.add(place);
      await leave(store, life);
    }
    for (let count = 1; count < PLACES; count++) {
      const { place } = await joined(store, 10 + count, LONG);
      assert.ok(place !== last.place);
    }
    assert.equal(obstacle(await store.join(joinOf(300))), 'FULL');
    await leave(store, last.life);
    assert.equal((await joined(store, 301)).place, last.place);
  });
}

function describeHeartbeats(test: Test): void {
  test('the result of a heartbeat contains the text only if the caller lacks the revision', async ({
    store,
  }) => {
    const { life, view } = await joined(store, 1);
    await change(store, life, view.revision, { text: 'new' });
    const unknown = seen(await heartbeat(store, life, view.revision));
    assert.equal(unknown.text, 'new');
    assert.equal(seen(await heartbeat(store, life, unknown.revision)).text, null);
  });

  test('reported revisions count if the caller has the current one', async ({ store }) => {
    const { life, view } = await joined(store, 1);
    const { revision } = (await change(store, life, view.revision)).view;
    const reported = async (known: number, confirmedRevision: number, appliedRevision: number) => {
      const heard = await heartbeat(store, life, known, confirmedRevision, 0, appliedRevision);
      const [member] = seen(heard).members;
      return [member?.confirmed, member?.applied];
    };
    const before = view.revision;
    assert.deepEqual(await reported(before, 7, 7), [before, before]);
    assert.deepEqual(await reported(revision, before, before), [before, before]);
    assert.deepEqual(await reported(revision, revision, before), [revision, before]);
    assert.deepEqual(await reported(revision, revision, revision), [revision, revision]);
  });

  test('a member silent for its lease is removed; one that sends heartbeats is not', async (subject) => {
    const { store } = subject;
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    const c = await joined(store, 3);
    await passWithHeartbeats(subject, LEASE_MS - HEARTBEAT_MS, a.life, c.life);
    assert.deepEqual(numbers(seen(await heartbeat(store, a.life))), [1, 2, 3]);
    await passWithHeartbeats(subject, 2 * HEARTBEAT_MS, a.life, c.life);
    assert.deepEqual(numbers(seen(await heartbeat(store, a.life))), [1, 3]);
    assert.deepEqual(await heartbeat(store, b.life), { out: true, stopsUpTo: 0 });
  });

  test('time without any heartbeat expires neither members nor a limit', async (subject) => {
    const { store } = subject;
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    const { view } = await change(store, a.life, a.view.revision, { limitMs: LEASE_MS });
    await subject.pass(2 * LEASE_MS);
    const later = seen(await heartbeat(store, a.life));
    assert.deepEqual(numbers(later), [1, 2]);
    assert.equal(later.limit?.begun, view.revision);
    assert.ok(later.limit.leftMs > LEASE_MS - GAP_MS && later.limit.leftMs <= LEASE_MS);
    await passWithHeartbeats(subject, LEASE_MS, a.life);
    assert.ok('out' in (await heartbeat(store, b.life)));
  });

  test('a member that leaves is removed at once; a leave or heartbeat of a non-member has no effect', async ({
    store,
  }) => {
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    await leave(store, UNKNOWN);
    await leave(store, { uuid: 'u2', joinNumber: a.joinNumber });
    await leave(store, b.life);
    await leave(store, b.life);
    assert.deepEqual(numbers(seen(await heartbeat(store, a.life))), [1]);
    assert.deepEqual(await heartbeat(store, UNKNOWN), { out: true, stopsUpTo: 0 });
  });
}

function describeRecord(test: Test): void {
  test('of two changes of one revision the first succeeds; the other gets the text', async ({
    store,
  }) => {
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    const { revision } = b.view;
    const [first, second] = await Promise.all([
      change(store, a.life, revision, { text: '{"ä":[]}\n' }),
      change(store, b.life, revision, { text: 'second' }),
    ]);
    assert.deepEqual([first.isMade, first.view.text], [true, null]);
    assert.deepEqual([second.isMade, second.view.text], [false, '{"ä":[]}\n']);
    assert.ok(first.view.revision > revision);
    assert.equal(second.view.revision, first.view.revision);
  });

  test('revisions increase, and are times', async ({ store }) => {
    const { life, view } = await joined(store, 1);
    let { revision } = view;
    for (let at = 0; at < 5; at++) {
      const { view: next } = await change(store, life, revision);
      assert.ok(next.revision > revision && next.revision >= next.nowMs - GAP_MS);
      revision = next.revision;
    }
  });

  test('a limit begins, continues, expires, and ends', async (subject) => {
    const { store } = subject;
    const { life, view } = await joined(store, 1);
    const limitMs = 2 * HEARTBEAT_MS;
    const begun = (await change(store, life, view.revision, { limitMs })).view;
    assert.deepEqual(begun.limit?.begun, begun.revision);
    const same = (await change(store, life, begun.revision)).view;
    assert.equal(same.limit?.begun, begun.revision);
    await passWithHeartbeats(subject, 3 * HEARTBEAT_MS, life);
    const over = seen(await heartbeat(store, life));
    assert.ok(over.limit !== null && over.limit.leftMs <= 0);
    const ended = await change(store, life, same.revision, { limitMs: NO_LIMIT });
    assert.equal(ended.view.limit, null);
  });

  test('a limit ends when no member is left', async ({ store }) => {
    const { life, view } = await joined(store, 1);
    await change(store, life, view.revision, { limitMs: LEASE_MS, text: 'kept' });
    await leave(store, life);
    const next = await joined(store, 2);
    assert.deepEqual([next.view.limit, next.view.text], [null, 'kept']);
  });

  test('only members can change it', async ({ store }) => {
    const { view } = await joined(store, 1);
    const changes = { text: 't', admits: ADMITS_ALL, limitMs: NO_LIMIT } as const;
    const answer = await store.change({ ...UNKNOWN, revision: view.revision, ...changes });
    assert.deepEqual(answer, { out: true, stopsUpTo: 0 });
  });
}

function describeStop(test: Test): void {
  test('members must stop, and none joins before they have', async ({ store }) => {
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    const result = seen(await store.stopAll(a.life));
    assert.deepEqual([result.stopsUpTo, result.text], [2, null]);
    assert.equal(seen(await heartbeat(store, b.life)).stopsUpTo, 2);
    const stopping = { obstacle: 'STOPPING', version: '1.2', stopsUpTo: 2 };
    assert.deepEqual(await store.join(joinOf(3)), stopping);
    await leave(store, a.life);
    assert.deepEqual(await store.join(joinOf(3)), stopping);
    await leave(store, b.life);
    const { joinNumber } = await joined(store, 3);
    assert.equal(joinNumber, 3);
    assert.deepEqual(await store.stopAll(b.life), { out: true, stopsUpTo: 2 });
  });

  test('members report again which of them must stop', async ({ store }) => {
    const a = await joined(store, 1);
    const b = await joined(store, 2);
    assert.equal(seen(await heartbeat(store, a.life, 0, 0, 2)).stopsUpTo, 2);
    await leave(store, b.life, 5);
    assert.equal(seen(await heartbeat(store, a.life, 0, 0, 1)).stopsUpTo, 5);
    await leave(store, a.life);
    const { joinNumber } = await joined(store, 3);
    assert.equal(joinNumber, 6);
    assert.deepEqual(await heartbeat(store, UNKNOWN, 0, 0, 7), { out: true, stopsUpTo: 7 });
    assert.equal(obstacle(await store.join(joinOf(4))), 'STOPPING');
  });

  test('hints report the changes of every member', async ({ store, pass }) => {
    const { life, view } = await joined(store, 1);
    let hints = 0;
    store.onHint(() => hints++);
    const steps: (() => Promise<unknown>)[] = [
      () => joined(store, 2),
      () => change(store, life, view.revision),
      () => store.stopAll(life),
      () => leave(store, { uuid: 'u2', joinNumber: 2 }),
    ];
    for (const step of steps) {
      const before = hints;
      await step();
      for (let at = 0; at < 100 && hints === before; at++) await pass(10);
      assert.ok(hints > before, String(step));
    }
  });
}
