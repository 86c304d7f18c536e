/** Members of one cluster on one store: joins, heartbeats, leases, states, the shutdown of all. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GridError } from '../../src/base/errors.ts';
import { License } from '../../src/cluster/license.ts';
import { TRANSITION_MS } from '../../src/cluster/state-changes.ts';
import { TcpIpMembers } from '../../src/cluster/tcp-ip-members.ts';
import { ClusterWorld, commonConfig, LEASE_MS, type TestMember } from './cluster-world.ts';

/** Returns a world with a cluster of three members. */
async function three() {
  const world = new ClusterWorld();
  const members = (await world.started(3)) as [TestMember, TestMember, TestMember];
  const [a, b, c] = members;
  return { world, members, a, b, c };
}

/** Returns the code of the error, or undefined once the change has succeeded. */
function codeOf(changing: Promise<void>): Promise<string | undefined> {
  return changing.then(
    () => undefined,
    (error: GridError) => error.code,
  );
}

function statesOf(members: readonly TestMember[]): string[] {
  return members.map(({ cluster }) => cluster.state);
}

const ALL = ['10.0.0.1:5701', '10.0.0.2:5701', '10.0.0.3:5701'];

describe('Members', () => {
  it('are listed in the order of their joins, the same on all members, each marking itself', async () => {
    const world = new ClusterWorld();
    const [first] = (await world.started(1)) as [TestMember];
    const lite = world.add({ isLite: true, aheadMs: 10_000 });
    assert.equal(lite.cluster.nodeState, 'STARTING');
    void lite.start();
    await world.pass(1100);
    for (const { cluster, uuid: own } of [first, lite]) {
      const expected = [first, lite].map(({ address, uuid }) => {
        const fields = { localMember: uuid === own, liteMember: uuid === lite.uuid };
        return { ...fields, address, uuid, memberVersion: '1.2.3' };
      });
      assert.deepEqual(cluster.members, expected);
    }
    const { nodeState, isReady, isSafe, acceptsWrites, version, state } = lite.cluster;
    assert.deepEqual(
      [nodeState, isReady, isSafe, acceptsWrites, version, state],
      ['ACTIVE', true, true, true, '1.2', 'ACTIVE'],
    );
    assert.deepEqual(lite.reported, ['joined 2 of 2']);
  });

  it('have started when the preparation for the record has ended', async () => {
    const { world } = await three();
    const late = world.add();
    let done = (): void => {};
    late.prepare = () =>
      new Promise((resolve) => {
        done = resolve;
      });
    let isStarted = false;
    void late.start().then(() => {
      isStarted = true;
    });
    await world.pass(2000);
    assert.deepEqual([late.cluster.nodeState, late.cluster.isReady], ['STARTING', false]);
    done();
    await world.pass(20);
    assert.deepEqual([isStarted, late.cluster.nodeState], [true, 'ACTIVE']);
  });

  it('that leave are removed at once; those that die, after their lease', async () => {
    const { world, a, b, c } = await three();
    await Promise.all([b.cluster.leave(), world.pass(100)]);
    assert.deepEqual(
      [a.sees, c.sees],
      [
        [ALL[0], ALL[2]],
        [ALL[0], ALL[2]],
      ],
    );
    assert.deepEqual([b.cluster.isReady, b.cluster.acceptsWrites], [false, false]);
    c.kill();
    await world.pass(LEASE_MS - 1100);
    assert.deepEqual(a.sees, [ALL[0], ALL[2]]);
    await world.pass(2200);
    assert.deepEqual(a.sees, [ALL[0]]);
  });

  it('that leave while they wait to join are not members', async () => {
    const { world, members } = await three();
    const late = world.add();
    late.line.delayMs = 600;
    void late.start();
    await world.pass(400);
    await Promise.all([late.cluster.leave(), world.pass(3000)]);
    assert.deepEqual(members[0].sees, ALL);
  });

  it('wait while the store is unreachable, and report it every 10 s', async () => {
    const world = new ClusterWorld();
    world.isStoreAway = true;
    const member = world.enter();
    await world.pass(25_000);
    const waiting = 'waiting: the store does not answer';
    assert.deepEqual(member.reported, [waiting, waiting, waiting]);
    world.isStoreAway = false;
    await world.pass(1100);
    assert.equal(member.cluster.nodeState, 'ACTIVE');
  });

  it('join once if the result of a join was lost', async () => {
    const { world, members } = await three();
    const late = world.add();
    late.line.answersLost = 2;
    void late.start();
    await world.pass(3000);
    assert.deepEqual(members[0].sees, [...ALL, '10.0.0.4:5701']);
    assert.equal(late.cluster.joinNumber, 6);
  });

  it('of another version can start only in a cluster without members', async () => {
    const { world, members } = await three();
    const newer = world.add({ memberVersion: '1.3.0' });
    const starting = newer.start();
    const message = /^Cannot join the cluster: it has version 1\.2, this member has 1\.3\.0;/;
    await Promise.all([
      assert.rejects(starting, { code: 'CLUSTER_VERSION', message }),
      world.pass(100),
    ]);
    await newer.cluster.leave();
    await Promise.all([...members.map(({ cluster }) => cluster.leave()), world.pass(100)]);
    const next = world.enter({ memberVersion: '1.3.0' });
    await world.pass(1100);
    assert.deepEqual([next.cluster.version, next.sees], ['1.3', ['10.0.0.5:5701']]);
    await next.cluster.changeVersion('1.3');
    await assert.rejects(next.cluster.changeVersion('1.2'), { code: 'VERSION_NOT_SUPPORTED' });
  });

  it('with other settings can start only in a cluster without members', async () => {
    const world = new ClusterWorld();
    const a = world.enter({ common: commonConfig('x') });
    await world.pass(100);
    const b = world.enter({ common: commonConfig('x') });
    await world.pass(100);
    const other = world.add({ common: commonConfig('y') });
    const starting = assert.rejects(other.start(), { message: 'x or y' });
    await Promise.all([starting, world.pass(100)]);
    const second = world.add({ common: commonConfig('') });
    const refused = assert.rejects(second.start(), { message: 'x or ' });
    await Promise.all([refused, world.pass(100)]);
    assert.deepEqual(a.sees, [a.address, b.address]);
    b.stop();
    await world.pass(LEASE_MS + 1100);
    await Promise.all([a.cluster.leave(), world.pass(100)]);
    const first = world.enter({ common: commonConfig('z') });
    await world.pass(1100);
    assert.deepEqual(first.sees, [first.address]);
    b.resume();
    await world.pass(1100);
    assert.deepEqual(b.reported.slice(1), ['out', 'waiting: z or x']);
    assert.equal(b.cluster.acceptsWrites, false);
  });
});

describe('A member', () => {
  it('that was stopped beyond its lease accepts no changes, and rejoins as the last one', async () => {
    const { world, a, b, c } = await three();
    b.engine.sendDelayMs = 50;
    assert.equal(b.engine.change(), true);
    b.stop();
    await world.pass(LEASE_MS + 1500);
    assert.deepEqual(a.sees, [ALL[0], ALL[2]]);
    assert.deepEqual([b.cluster.acceptsWrites, b.cluster.isCutOff], [false, true]);
    b.resume();
    await world.pass(1);
    assert.equal(b.engine.change(), false);
    await world.pass(1000);
    const order = [ALL[0], ALL[2], ALL[1]];
    assert.deepEqual([a.sees, b.sees, c.sees], [order, order, order]);
    assert.deepEqual([b.engine.madeCount, b.engine.refusedCount], [0, 1]);
    assert.deepEqual(b.reported, ['joined 2 of 2', 'out', 'joined 4 of 3']);
    assert.equal(b.engine.change(), true);
    assert.equal(b.cluster.isCutOff, false);
  });

  it('that was suspended no longer than its lease remains a member', async () => {
    const { world, a, b } = await three();
    b.stop();
    await world.pass(LEASE_MS - 1500);
    b.resume();
    await world.pass(1100);
    assert.deepEqual([a.sees, b.reported], [ALL, ['joined 2 of 2']]);
  });

  it('rejoins after all changes of its earlier life have completed', async () => {
    const { world, a, b } = await three();
    b.engine.answerDelayMs = 7000;
    b.line.isCut = true;
    await world.pass(LEASE_MS - 3000);
    assert.equal(b.engine.change(), true);
    await world.pass(4000);
    b.line.isCut = false;
    await world.pass(1100);
    assert.deepEqual([a.sees, b.cluster.joinNumber], [[ALL[0], ALL[2]], 0]);
    await world.pass(3000);
    assert.equal(b.cluster.joinNumber, 4);
  });

  it('that cannot reach the store is neither ready nor safe, but accepts changes for its lease', async () => {
    const { world, a } = await three();
    a.line.isCut = true;
    await world.pass(1100);
    const { cluster } = a;
    assert.deepEqual(
      [cluster.isReady, cluster.isSafe, cluster.acceptsWrites],
      [false, false, true],
    );
    await world.pass(LEASE_MS);
    assert.deepEqual([cluster.acceptsWrites, cluster.isCutOff], [false, true]);
    a.line.isCut = false;
    await world.pass(2100);
    assert.deepEqual([cluster.isReady, cluster.isSafe, cluster.acceptsWrites], [true, true, true]);
    assert.deepEqual(a.reported, ['joined 1 of 1', 'away', 'out', 'joined 4 of 3']);
  });

  it('whose heartbeat gets no result for long is not ready', async () => {
    const { world, members } = await three();
    members[0].line.delayMs = 20_000;
    await world.pass(3500);
    assert.equal(members[0].cluster.isReady, false);
  });

  it('is not safe while its changes lack copies, and not ready while it drains', async () => {
    const { members } = await three();
    const [{ cluster }] = members;
    members[0].isDataSafe = false;
    assert.deepEqual([cluster.isSafe, cluster.isReady], [false, true]);
    cluster.stop();
    assert.equal(cluster.isReady, false);
  });
});

for (const jumpMs of [-3_600_000, 3_600_000]) {
  it(`A jump of the store's clock by ${jumpMs} ms removes no live member, and dead ones are detected`, async () => {
    const { world, a, b, c } = await three();
    world.skewMs += jumpMs;
    await world.pass(5000);
    assert.deepEqual(a.sees, ALL);
    c.kill();
    await world.pass(LEASE_MS + 2200);
    assert.deepEqual([a.sees, b.sees], [ALL.slice(0, 2), ALL.slice(0, 2)]);
  });
}

describe('A failover that undoes steps', () => {
  it('leaves members that agree, and changes that all members confirm', async () => {
    const { world, members, a, b, c } = await three();
    const before = world.store.copy();
    await Promise.all([new License(b.cluster.record).set(Buffer.from('key')), world.pass(1000)]);
    assert.notEqual(c.cluster.record.values.licenseKeyHash, undefined);
    world.store.become(before);
    world.skewMs -= 5000;
    b.engine.answerDelayMs = 5000;
    b.engine.change();
    await world.pass(1000);
    for (const { cluster } of members) {
      assert.equal(cluster.record.values.licenseKeyHash, undefined);
    }
    const code = codeOf(a.cluster.changeState('PASSIVE'));
    await world.pass(2000);
    assert.deepEqual(statesOf(members), Array(3).fill('IN_TRANSITION'));
    await world.pass(4000);
    assert.deepEqual([await code, ...statesOf(members)], [undefined, ...Array(3).fill('PASSIVE')]);
  });

  it('lets members rejoin whose join it undid, even if another member has the number', async () => {
    const { world, members } = await three();
    const before = world.store.copy();
    const undone = world.enter();
    await world.pass(500);
    world.store.become(before);
    const other = world.enter();
    await world.pass(2000);
    const order = [...ALL, other.address, undone.address];
    for (const { sees } of [...members, undone, other]) assert.deepEqual(sees, order);
    assert.deepEqual(undone.reported, ['joined 4 of 4', 'out', 'joined 5 of 5']);
    assert.equal(other.cluster.joinNumber, 4);
  });
});

describe('A change of the state', () => {
  for (const state of ['NO_MIGRATION', 'FROZEN', 'PASSIVE'] as const) {
    it(`to ${state} and back completes when every member is in this state`, async () => {
      const { world, members, a, b, c } = await three();
      await Promise.all([
        a.cluster.changeState(state).then(() => {
          assert.deepEqual(statesOf(members), [state, state, state]);
        }),
        world.pass(2000),
      ]);
      const isPassive = state === 'PASSIVE';
      for (const { cluster, passiveCount } of members) {
        assert.deepEqual(
          [cluster.acceptsWrites, cluster.nodeState, cluster.isReady, passiveCount],
          [!isPassive, isPassive ? 'PASSIVE' : 'ACTIVE', true, isPassive ? 1 : 0],
        );
      }
      await assert.rejects(b.cluster.changeState(state), { code: 'STATE_UNCHANGED' });
      const back = codeOf(c.cluster.changeState('ACTIVE'));
      await world.pass(1000);
      assert.equal(await back, undefined);
      assert.ok(members.every(({ cluster }) => cluster.acceptsWrites));
    });
  }

  it('is seen within one heartbeat even without a hint', async () => {
    const { world, members } = await three();
    for (const { line } of members) line.hasHints = false;
    const code = codeOf(members[1].cluster.changeState('FROZEN'));
    await world.pass(3200);
    assert.equal(await code, undefined);
    assert.deepEqual(statesOf(members), ['FROZEN', 'FROZEN', 'FROZEN']);
  });

  it('waits for pending changes; no new one begins during a change to PASSIVE', async () => {
    const { world, members, a, b, c } = await three();
    b.engine.answerDelayMs = 20_000;
    assert.equal(b.engine.change(), true);
    const code = codeOf(a.cluster.changeState('PASSIVE'));
    await world.pass(1100);
    assert.deepEqual(statesOf(members), Array(3).fill('IN_TRANSITION'));
    assert.deepEqual(
      members.map(({ engine, cluster, passiveCount }) => [
        engine.change(),
        cluster.nodeState,
        passiveCount,
      ]),
      Array(3).fill([false, 'ACTIVE', 1]),
    );
    assert.equal(await codeOf(c.cluster.changeState('FROZEN')), 'STATE_CHANGING');
    await world.pass(20_000);
    assert.equal(await code, undefined);
    assert.deepEqual(statesOf(members), Array(3).fill('PASSIVE'));
  });

  it('to a state other than PASSIVE allows new changes', async () => {
    const { world, a, b } = await three();
    b.engine.answerDelayMs = 5000;
    b.engine.change();
    const code = codeOf(a.cluster.changeState('FROZEN'));
    await world.pass(1100);
    assert.deepEqual([b.cluster.state, b.engine.change()], ['IN_TRANSITION', true]);
    await world.pass(6000);
    assert.deepEqual([await code, b.cluster.state], [undefined, 'FROZEN']);
  });

  it('is 503 if not all members confirm in time, and the old state remains', async () => {
    const { world, members, a, b } = await three();
    b.engine.answerDelayMs = 2 * TRANSITION_MS;
    b.engine.change();
    const changing = a.cluster.changeState('PASSIVE');
    const message =
      'Cannot change to PASSIVE: not every member completed its earlier changes within 60 s';
    const [error] = await Promise.all([
      changing.then(
        () => assert.fail(),
        (reason: GridError) => reason,
      ),
      world.pass(TRANSITION_MS + 1500),
    ]);
    assert.deepEqual([error.code, error.message], ['STATE_NOT_REACHED', message]);
    assert.deepEqual([error.status, error.isOutcomeUnknown], [503, false]);
    assert.deepEqual(statesOf(members), Array(3).fill('ACTIVE'));
    assert.ok(members.every(({ cluster }) => cluster.acceptsWrites));
    const again = codeOf(b.cluster.changeState('FROZEN'));
    await world.pass(TRANSITION_MS);
    assert.equal(await again, undefined);
  });

  it('succeeds once if five are requested at once', async () => {
    const world = new ClusterWorld();
    const members = await world.started(5);
    const wanted = ['FROZEN', 'PASSIVE', 'NO_MIGRATION', 'FROZEN', 'PASSIVE'] as const;
    const asked = members.map(({ cluster }, at) =>
      codeOf(cluster.changeState(wanted[at] ?? 'FROZEN')),
    );
    await world.pass(3000);
    const codes = await Promise.all(asked);
    assert.equal(codes.filter((code) => code === undefined).length, 1, codes.join());
    assert.equal(codes.filter((code) => code === 'STATE_CHANGING').length, 4, codes.join());
    const winner = codes.indexOf(undefined);
    assert.deepEqual(statesOf(members), Array(5).fill(wanted[winner]));
  });

  it('twice on one member at a time is refused the second time', async () => {
    const { world, members } = await three();
    const [{ cluster }] = members;
    const codes = [cluster.changeState('FROZEN'), cluster.changeState('FROZEN')].map(codeOf);
    await world.pass(2000);
    assert.deepEqual(await Promise.all(codes), [undefined, 'STATE_CHANGING']);
  });

  it('does not wait for a member that is not in the cluster', async () => {
    const { world, a, b, c } = await three();
    c.kill();
    const code = codeOf(a.cluster.changeState('PASSIVE'));
    await world.pass(LEASE_MS - 1500);
    assert.deepEqual(statesOf([a, b]), ['IN_TRANSITION', 'IN_TRANSITION']);
    await world.pass(3000);
    assert.deepEqual([await code, ...statesOf([a, b])], [undefined, 'PASSIVE', 'PASSIVE']);
  });

  for (const isAnswered of [true, false]) {
    const end = isAnswered ? 'reached by the others' : 'given up by the others in time';
    it(`whose initiator dies is ${end}`, async () => {
      const { world, a, b, c } = await three();
      if (!isAnswered) b.engine.answerDelayMs = 2 * TRANSITION_MS;
      b.engine.change();
      void a.cluster.changeState('PASSIVE').catch(() => assert.fail());
      await world.pass(6);
      a.kill();
      await world.pass(isAnswered ? LEASE_MS + 3000 : TRANSITION_MS + 3000);
      const state = isAnswered ? 'PASSIVE' : 'ACTIVE';
      assert.deepEqual(statesOf([b, c]), [state, state]);
      assert.deepEqual(b.sees, [ALL[1], ALL[2]]);
    });
  }

  it('is confirmed by a member that was removed meanwhile and has rejoined', async () => {
    const { world, members, a, b, c } = await three();
    c.engine.answerDelayMs = 40_000;
    c.engine.change();
    const code = codeOf(a.cluster.changeState('PASSIVE'));
    await world.pass(100);
    b.stop();
    await world.pass(LEASE_MS + 2000);
    b.resume();
    await world.pass(30_000);
    assert.deepEqual([await code, ...statesOf(members)], [undefined, ...Array(3).fill('PASSIVE')]);
    assert.equal(b.sees.at(-1), b.address);
  });

  it('during which all members died has ended for the next member', async () => {
    const { world, members } = await three();
    members[1].engine.answerDelayMs = 1e6;
    members[1].engine.change();
    void members[0].cluster.changeState('PASSIVE').catch(() => assert.fail());
    await world.pass(100);
    for (const member of members) member.kill();
    const next = world.enter();
    await world.pass(LEASE_MS + 3000);
    assert.deepEqual([next.cluster.state, next.cluster.acceptsWrites], ['ACTIVE', true]);
  });

  it('is 503 if the store does not respond, or this member is not in the cluster', async () => {
    const { world, members } = await three();
    const [{ cluster, line }] = members;
    line.isCut = true;
    const reason = 'Cannot change to FROZEN: the store does not answer';
    const fails = assert.rejects(cluster.changeState('FROZEN'), { message: reason });
    await Promise.all([fails, world.pass(100)]);
    line.isCut = false;
    members[0].stop();
    await world.pass(LEASE_MS + 2000);
    line.delayMs = 100;
    members[0].resume();
    await world.pass(120);
    line.isCut = true;
    await world.pass(1000);
    const out = 'Cannot change to FROZEN: this member is currently not in the cluster';
    await assert.rejects(cluster.changeState('FROZEN'), { message: out });
  });

  it('reports an unknown outcome', async () => {
    const { world, members, a, b } = await three();
    a.line.answersLost = 1;
    const first = assert.rejects(
      a.cluster.changeState('FROZEN'),
      (error: GridError) => error.code === 'STATE_NOT_REACHED' && error.isOutcomeUnknown,
    );
    await Promise.all([first, world.pass(3000)]);
    assert.deepEqual(statesOf(members), Array(3).fill('FROZEN'));
    const second = assert.rejects(
      a.cluster.changeState('ACTIVE'),
      (error: GridError) => error.code === 'STATE_NOT_REACHED' && error.isOutcomeUnknown,
    );
    await world.pass(4);
    a.line.isCut = true;
    await Promise.all([second, world.pass(TRANSITION_MS + 16_000)]);
    assert.equal(b.cluster.state, 'ACTIVE');
  });

  it('is rejected by a member that is shutting down', async () => {
    const { world, members, a, b } = await three();
    b.engine.answerDelayMs = 5000;
    b.engine.change();
    const ends = assert.rejects(a.cluster.changeState('PASSIVE'), {
      message: 'Cannot change to PASSIVE: this member is shutting down',
    });
    await world.pass(100);
    await Promise.all([ends, a.cluster.leave(), world.pass(7000)]);
    assert.deepEqual(statesOf(members.slice(1)), ['PASSIVE', 'PASSIVE']);
  });

  it('allows no changes to a member that was stopped meanwhile', async () => {
    const { world, members, a, b } = await three();
    b.engine.sendDelayMs = 100;
    assert.equal(b.engine.change(), true);
    b.stop();
    const code = codeOf(a.cluster.changeState('PASSIVE'));
    await world.pass(LEASE_MS + 3000);
    assert.equal(await code, undefined);
    b.line.delayMs = 1000;
    b.resume();
    assert.equal(b.engine.change(), false);
    for (let at = 0; at < 60; at++) {
      await world.pass(100);
      assert.equal(b.engine.change(), false);
    }
    assert.deepEqual([b.engine.madeCount, b.engine.refusedCount], [0, 1]);
    assert.deepEqual(statesOf(members), Array(3).fill('PASSIVE'));
    assert.equal(b.sees.at(-1), b.address);
  });
});

describe('A cluster that is FROZEN or PASSIVE', () => {
  for (const state of ['FROZEN', 'PASSIVE'] as const) {
    it(`admits only addresses that left while it was ${state}`, async () => {
      const { world, a, b, c } = await three();
      await Promise.all([c.cluster.leave(), world.pass(100)]);
      await Promise.all([a.cluster.changeState(state), world.pass(1000)]);
      await Promise.all([b.cluster.leave(), world.pass(100)]);
      const returned = world.enter({ address: b.address });
      const stranger = world.enter({ address: c.address });
      await world.pass(2000);
      assert.deepEqual(a.sees, [a.address, b.address]);
      assert.deepEqual(
        [returned.cluster.nodeState, stranger.cluster.nodeState],
        [state === 'PASSIVE' ? 'PASSIVE' : 'ACTIVE', 'STARTING'],
      );
      assert.deepEqual(stranger.reported, [
        'waiting: its state admits only members that left, and no member with the address 10.0.0.3:5701 did',
      ]);
      await Promise.all([a.cluster.changeState('ACTIVE'), world.pass(1000)]);
      await world.pass(1000);
      assert.deepEqual(a.sees, [a.address, b.address, c.address]);
    });
  }

  it('keeps its state while no member runs, and then admits any member', async () => {
    const { world, a, b, c } = await three();
    await Promise.all([a.cluster.changeState('PASSIVE'), world.pass(1000)]);
    await Promise.all([a.cluster.leave(), b.cluster.leave(), world.pass(100)]);
    c.kill();
    await world.pass(LEASE_MS + 60_000);
    const stranger = world.enter();
    await world.pass(LEASE_MS + 3000);
    assert.deepEqual(stranger.sees, [stranger.address]);
    assert.deepEqual(
      [stranger.cluster.state, stranger.cluster.acceptsWrites, stranger.passiveCount],
      ['PASSIVE', false, 1],
    );
    const code = codeOf(stranger.cluster.changeState('ACTIVE'));
    await world.pass(1000);
    assert.equal(await code, undefined);
  });
});

describe('A revision of the shared record', () => {
  /** Returns a cluster of three, and a change of the record with the result of allApplied. */
  async function changing(...applying: (() => Promise<boolean>)[]) {
    const { world, members, a, b, c } = await three();
    for (const [at, apply] of applying.entries()) members[at]!.cluster.record.onChange(apply);
    const results: boolean[] = [];
    const change = async ({ cluster: { record } }: TestMember) => {
      await record.compareAndSet(record.revision, { tcpIpMembers: [`${results.length}`] });
      results.push(await record.allApplied());
    };
    return { world, a, b, c, results, change };
  }
  const at = (promise: Promise<boolean>) => () => promise;

  it('is in force once every member acts on it', async () => {
    let apply = (_: boolean): void => {};
    const applied = new Promise<boolean>((resolve) => {
      apply = resolve;
    });
    const { world, a, results, change } = await changing(async () => true, at(applied));
    void change(a);
    await world.pass(5000);
    assert.deepEqual(results, []);
    apply(true);
    await world.pass(20);
    assert.deepEqual(results, [true]);
  });

  it('is not in force if a member cannot act on it, until that acts on a later one', async () => {
    let isApplied = false;
    const { world, a, b, c, results, change } = await changing(
      ...[async () => true, async () => true, async () => isApplied],
    );
    void change(a);
    await world.pass(LEASE_MS + 1900);
    assert.deepEqual(results, []);
    await world.pass(200);
    assert.deepEqual([results, c.cluster.acceptsWrites], [[false], true]);
    assert.deepEqual(a.cluster.record.unapplied, [c.address]);
    assert.equal(await a.cluster.record.allConfirmed(), true);
    const changed = codeOf(b.cluster.changeState('FROZEN'));
    await world.pass(20);
    assert.deepEqual([await changed, c.cluster.state], [undefined, 'FROZEN']);
    isApplied = true;
    void change(a);
    await world.pass(20);
    assert.deepEqual(results, [false, true]);
  });

  it('is in force once a killed member is removed, and its lease has ended', async () => {
    const { world, a, b, c, results, change } = await changing();
    b.kill();
    void change(a);
    await world.pass(LEASE_MS - 1100);
    assert.deepEqual(results, []);
    await world.pass(2200);
    assert.deepEqual(results, [true]);
    c.kill();
    await world.pass(4000);
    const again = world.enter({ address: c.address });
    await world.pass(1100);
    assert.equal(again.cluster.joinNumber, 4);
    void change(a);
    await world.pass(1500);
    assert.deepEqual(results, [true]);
    await world.pass(LEASE_MS);
    assert.deepEqual(results, [true, true]);
  });

  it('is not known to be in force if this member is cut off, or leaves', async () => {
    const { world, a, b, c, results, change } = await changing();
    b.stop();
    void change(a);
    await world.pass(20);
    a.line.isCut = true;
    await world.pass(LEASE_MS + 2000);
    assert.deepEqual(results, [false]);
    a.line.isCut = false;
    await world.pass(1100);
    c.stop();
    void change(a);
    await world.pass(20);
    await Promise.all([a.cluster.leave(), world.pass(100)]);
    assert.deepEqual(results, [false, false]);
  });

  it('that was made while a member was out is in force before that accepts changes', async () => {
    let isApplied = false;
    const { world, a, b, results, change } = await changing(
      async () => true,
      async () => isApplied,
    );
    b.stop();
    await world.pass(LEASE_MS + 1100);
    void change(a);
    await world.pass(20);
    assert.deepEqual(results, [true]);
    b.resume();
    await world.pass(3000);
    const { cluster } = b;
    assert.deepEqual([a.sees.length, cluster.joinNumber], [3, 4]);
    assert.deepEqual(
      [cluster.acceptsWrites, cluster.hasLease, cluster.isCutOff, cluster.isReady],
      [false, false, true, false],
    );
    isApplied = true;
    void change(a);
    await world.pass(20);
    assert.deepEqual(results, [true, true]);
    assert.deepEqual(
      [cluster.acceptsWrites, cluster.hasLease, cluster.isCutOff, cluster.isReady],
      [true, true, false, true],
    );
  });
});

describe('The shared record', () => {
  it('contains license, list and configuration for all members, including later ones', async () => {
    const { world, members, a, b, c } = await three();
    const counts: number[] = [];
    c.cluster.record.onChange(({ addedConfigs }) => {
      counts.push(addedConfigs.length);
    });
    const license = (member: TestMember) => new License(member.cluster.record);
    const list = (member: TestMember) => new TcpIpMembers(member.cluster.record, ['x:1']);
    const add = async ({ cluster: { record } }: TestMember, text: string) => {
      while (
        !(await record.compareAndSet(record.revision, {
          addedConfigs: [...record.values.addedConfigs, { text, isReloaded: false }],
        }))
      );
    };
    await Promise.all([
      license(a).set(Buffer.from('key')),
      list(b).replace(['y:1', 'z:1']),
      add(a, 'one'),
      add(b, 'two'),
      add(c, 'three'),
      world.pass(1500),
    ]);
    const late = world.enter();
    await world.pass(1000);
    for (const member of [...members, late]) {
      assert.equal(license(member).keyHash, license(a).keyHash);
      assert.deepEqual(list(member).list, ['y:1', 'z:1']);
      const texts = member.cluster.record.values.addedConfigs.map(({ text }) => text);
      assert.deepEqual(texts.sort(), ['one', 'three', 'two']);
    }
    assert.match(String(license(a).keyHash), /^[0-9a-f]{64}$/);
    assert.equal(counts.at(-1), 3);
  });

  it('contains data set and epoch for WAN replication, whichever member sets them', async () => {
    const { world, members } = await three();
    const values = { dataSetId: '0b5c1ef2-8a1f-4f0f-9d55-5a1d3a3e7c10', wanEpoch: 2 ** 52 + 1 };
    for (const [at, { cluster }] of members.entries()) {
      const { record } = cluster;
      const change = { ...values, wanEpoch: values.wanEpoch + at };
      const making = record.compareAndSet(record.revision, change);
      await world.pass(1500);
      assert.equal(await making, true);
      for (const each of members) {
        const { dataSetId, wanEpoch } = each.cluster.record.values;
        assert.deepEqual({ dataSetId, wanEpoch }, change);
      }
    }
  });

  it('can be changed during a change of the state, without affecting it', async () => {
    const { world, members, a, b } = await three();
    b.engine.answerDelayMs = 3000;
    b.engine.change();
    const code = codeOf(a.cluster.changeState('PASSIVE'));
    await world.pass(500);
    await Promise.all([new License(b.cluster.record).set(Buffer.from('key')), world.pass(100)]);
    await world.pass(5000);
    assert.deepEqual([await code, ...statesOf(members)], [undefined, ...Array(3).fill('PASSIVE')]);
    assert.notEqual(a.cluster.record.values.licenseKeyHash, undefined);
  });

  it('is refused beyond its maximum length, and while the member is not in the cluster', async () => {
    const { world, a } = await three();
    const list = new TcpIpMembers(a.cluster.record, []);
    await assert.rejects(list.replace(['x'.repeat(2 ** 23)]), {
      message: /^Cannot change the member list: the shared record would have more than 8388608 /,
    });
    a.stop();
    await world.pass(LEASE_MS + 2000);
    a.resume();
    const message = 'Cannot change the member list: this member is currently not in the cluster';
    await Promise.all([assert.rejects(list.replace(['x:1']), { message }), world.pass(500)]);
  });

  it('that this version cannot read prevents members from joining', async () => {
    for (const [text, reason] of [
      ['{', 'waiting: '],
      ['{"state":"ASLEEP"}', 'waiting: the shared record has an unknown state: "ASLEEP"'],
    ] as const) {
      const world = new ClusterWorld();
      world.store.text = text;
      const member = world.enter();
      await world.pass(2000);
      assert.equal(member.cluster.nodeState, 'STARTING');
      assert.ok(member.reported[0]?.startsWith(reason), member.reported.join());
    }
  });
});

describe('The shutdown of all', () => {
  it('reaches each member, and joins wait until all members have stopped', async () => {
    const { world, members, a, b, c } = await three();
    await Promise.all([a.cluster.stopAll('POST /x'), world.pass(1100)]);
    const others = 'the shutdown of the cluster, requested by a client of another member';
    assert.deepEqual(
      members.map(({ stops }) => stops),
      [['POST /x'], [others], [others]],
    );
    const late = world.enter();
    await Promise.all([a.cluster.leave(), b.cluster.leave(), world.pass(2000)]);
    assert.deepEqual(late.reported, [
      'waiting: its members are shutting down, and some have not stopped yet',
    ]);
    await Promise.all([c.cluster.leave(), world.pass(1100)]);
    assert.deepEqual([late.sees, late.stops], [[late.address], []]);
  });

  it('fails if the store cannot record it, and then no member stops', async () => {
    const { world, a, b } = await three();
    world.isStoreAway = true;
    const failing = assert.rejects(
      a.cluster.stopAll('POST /x'),
      (error: GridError) => error.code === 'STOP_NOT_RECORDED' && !error.isOutcomeUnknown,
    );
    await Promise.all([failing, world.pass(5000)]);
    world.isStoreAway = false;
    await world.pass(2000);
    assert.deepEqual([a.stops, b.stops], [[], []]);
    a.line.answersLost = 1;
    const unknown = assert.rejects(
      a.cluster.stopAll('POST /x'),
      (error: GridError) => error.isOutcomeUnknown,
    );
    await Promise.all([unknown, world.pass(1100)]);
    assert.equal(b.stops.length, 1);
  });

  it('reaches each member even if a failover undoes it', async () => {
    const { world, a, b, c } = await three();
    const replica = world.store.copy();
    b.line.isCut = c.line.isCut = true;
    await Promise.all([a.cluster.stopAll('POST /x'), world.pass(100)]);
    world.store.become(replica);
    b.line.isCut = c.line.isCut = false;
    await Promise.all([a.cluster.leave(), world.pass(2000)]);
    assert.deepEqual([b.stops.length, c.stops.length], [1, 1]);
  });

  for (const isGone of [false, true]) {
    it(`stops a member that was silent, ${isGone ? 'when' : 'before'} the others have stopped`, async () => {
      const { world, a, b, c } = await three();
      b.stop();
      await Promise.all([a.cluster.stopAll('POST /x'), world.pass(LEASE_MS + 2000)]);
      if (isGone) await Promise.all([a.cluster.leave(), c.cluster.leave(), world.pass(100)]);
      b.resume();
      await world.pass(1000);
      assert.deepEqual([b.stops.length, b.cluster.joinNumber], [1, 0]);
    });
  }
});

describe('Leases', () => {
  it('continue while the store refuses all steps, and no member is removed meanwhile', async () => {
    const { world, members, a, b } = await three();
    world.isStoreRefusing = true;
    for (let seconds = 0; seconds < 60; seconds++) {
      await world.pass(1000);
      for (const { cluster } of members) assert.ok(cluster.acceptsWrites && cluster.isReady);
    }
    assert.ok(b.reported.every((line) => line !== 'away'));
    b.kill();
    world.isStoreRefusing = false;
    await world.pass(1100);
    assert.equal(a.sees.length, 3);
    await world.pass(LEASE_MS);
    assert.equal(a.sees.length, 2);
  });

  it('are regained from a store that refuses all steps, unless it has removed the member', async () => {
    const { world, a, b, c } = await three();
    c.stop();
    await world.pass(LEASE_MS - 2000);
    b.stop();
    await world.pass(3000);
    world.isStoreRefusing = true;
    await world.pass(LEASE_MS);
    for (const stopped of [b, c]) stopped.resume();
    const accept = () => [a, b, c].map(({ cluster }) => cluster.acceptsWrites);
    assert.deepEqual(accept(), [true, false, false]);
    await world.pass(3000);
    assert.deepEqual(accept(), [true, true, false]);
    assert.equal(c.cluster.joinNumber, 0);
    world.isStoreRefusing = false;
    await world.pass(1100);
    assert.deepEqual(accept(), [true, true, true]);
  });

  it('continue at another server that refuses all steps, for as long as it would find them', async () => {
    const { world, members, a, b } = await three();
    b.line.isCut = true;
    world.isStoreRefusing = true;
    world.store.move();
    assert.ok(!a.cluster.acceptsWrites);
    await world.pass(1100);
    for (let seconds = 0; seconds < 60; seconds++) {
      for (const { cluster } of members) assert.equal(cluster.acceptsWrites, cluster !== b.cluster);
      await world.pass(1000);
    }
    world.isStoreRefusing = false;
    await world.pass(LEASE_MS - 1000);
    assert.equal(a.sees.length, 3);
    await world.pass(2000);
    assert.equal(a.sees.length, 2);
  });

  it('end when the store moves to another server, until a heartbeat succeeds there', async () => {
    const { world, a, b } = await three();
    b.line.isCut = true;
    world.store.move();
    assert.deepEqual([a.cluster.acceptsWrites, b.cluster.acceptsWrites], [false, false]);
    await world.pass(100);
    assert.deepEqual([a.cluster.acceptsWrites, b.cluster.acceptsWrites], [true, false]);
    b.line.isCut = false;
    await world.pass(1100);
    assert.ok(b.cluster.acceptsWrites);
  });

  it('end later at another server, which may lack the last heartbeats', async () => {
    const { world, a, b } = await three();
    b.kill();
    await world.pass(LEASE_MS - 2000);
    world.store.move();
    await world.pass(LEASE_MS - 1000);
    assert.equal(a.sees.length, 3);
    await world.pass(2000);
    assert.equal(a.sees.length, 2);
  });
});

describe('A member that is replaced', () => {
  it('is removed at once; a change of the state waits for the end of its lease', async () => {
    const { world, a, b } = await three();
    b.line.isCut = true;
    await world.pass(3100);
    const again = world.enter({ address: b.address });
    await world.pass(1100);
    assert.deepEqual(again.reported, ['joined 4 of 3']);
    assert.ok(b.cluster.acceptsWrites);
    let isReached = false;
    void a.cluster.changeState('PASSIVE').then(() => {
      isReached = true;
    });
    for (let ms = 0; ms < LEASE_MS; ms += 100) {
      b.engine.change();
      assert.ok(!isReached || !b.cluster.acceptsWrites);
      await world.pass(100);
    }
    await world.pass(1100);
    assert.ok(isReached);
    b.line.isCut = false;
    await world.pass(2000);
    assert.ok(b.reported.includes('out') && again.cluster.joinNumber === 4, b.reported.join());
    assert.match(b.reported.at(-1)!, /another member has the address/);
  });

  it('or that leaves while the store is unreachable retries until its lease has ended', async () => {
    const { world, a, b } = await three();
    b.line.isCut = true;
    const leaving = b.cluster.leave();
    await world.pass(3000);
    b.line.isCut = false;
    await Promise.all([leaving, world.pass(1100)]);
    assert.equal(a.sees.length, 2);
    a.line.isCut = true;
    await Promise.all([a.cluster.leave(), world.pass(LEASE_MS)]);
    const { timerCount } = world.time;
    await world.pass(5000);
    assert.ok(world.time.timerCount <= timerCount);
  });
});

describe('Changes of former members', () => {
  it('are ended before a transition ends, with retries until they are', async () => {
    const { world, a, b, c } = await three();
    b.kill();
    await world.pass(LEASE_MS + 1000);
    for (const { engine } of [a, c]) engine.cannotEnd = true;
    let isReached = false;
    void a.cluster.changeState('PASSIVE').then(() => {
      isReached = true;
    });
    await world.pass(3000);
    assert.deepEqual([isReached, a.cluster.state], [false, 'IN_TRANSITION']);
    for (const { engine } of [a, c]) engine.cannotEnd = false;
    await world.pass(2200);
    assert.deepEqual([isReached, a.cluster.state], [true, 'PASSIVE']);
    const ended = [...a.engine.ended, ...c.engine.ended];
    assert.ok(ended.length > 2);
    for (const uuids of ended) assert.deepEqual(uuids, [a.uuid, c.uuid]);
  });
});
