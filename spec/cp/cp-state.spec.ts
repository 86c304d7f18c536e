/**
 * Covers src/cp/cp-state.ts, cp-groups.ts, cp-store.ts and lock-wait.ts: random work of many clients at
 * several members, on a late engine that fails.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CpGroup } from '../../src/cp/cp-groups.ts';
import type { TakenLock } from '../../src/cp/cp-state.ts';
import type { LockWaiter } from '../../src/cp/lock-wait.ts';
import { HELD, NO_SESSION } from '../../src/cp/lock-work.ts';
import { CpWorld, SESSION_SECONDS } from './cp-world.ts';

const GROUPS = ['g', 'h'];
const LOCKS = ['a', 'b', 'c'];
const FAILED = 'failed';
const WAIT_MS_MAX = 8000;
/** Fences of a second are at most this far apart, for the calls of a test. */
const FENCES_MAX = 1_000_000;

type Found = TakenLock | typeof HELD | typeof NO_SESSION | typeof FAILED;
type Member = CpWorld['members'][number];

/** A client's knowledge that its session holds a lock. */
interface Belief {
  readonly group: CpGroup;
  readonly name: string;
  readonly session: number;
  readonly fence: number;
}

class Clients {
  readonly at: CpWorld;
  readonly beliefs = new Set<Belief>();
  readonly fences = new Set<number>();
  grantCount = 0;

  constructor(at: CpWorld) {
    this.at = at;
  }

  /** Runs a client: its sessions, each of which takes locks. */
  async run(sessionCount: number): Promise<void> {
    const { random } = this.at.world;
    for (let count = 0; count < sessionCount; count++) {
      const member = this.#member();
      const opened = await member.groups.open(GROUPS[random.below(GROUPS.length)]!).catch(failed);
      if (opened === FAILED) continue;
      const session = await member.state.openSession(opened, 'here', 'client').catch(failed);
      if (session !== FAILED) await this.#use(opened, session.id);
    }
  }

  async #use(group: CpGroup, session: number): Promise<void> {
    const { random } = this.at.world;
    for (let count = random.below(6); count >= 0; count--) {
      const name = LOCKS[random.below(LOCKS.length)]!;
      const member = this.#member();
      const found = await this.#acquire(member, group, name, session);
      if (found === NO_SESSION) return;
      if (typeof found === 'object') await this.#hold({ group, name, session, fence: found.fence });
      if (random.below(3) > 0) await member.state.heartbeat(group, session).catch(failed);
      if (random.below(20) === 0) await this.#administer(group);
    }
    // Others end by time.
    if (random.below(2) === 0) {
      const member = this.#member();
      const isClosed = await member.state.closeSession(group, session).catch(failed);
      if (isClosed !== FAILED) member.waits.onChange();
    }
  }

  /** As a request for a lock does; sometimes it is repeated as soon as its time is over. */
  async #acquire(member: Member, group: CpGroup, name: string, session: number): Promise<Found> {
    const { waits, state } = member;
    const isFirst = !waits.has(group, name);
    const found = await state.lock(group, name, session, isFirst).catch(failed);
    const waitMs = this.at.world.random.below(WAIT_MS_MAX);
    if (found !== HELD || waitMs < 1000) return found;
    const waited = await new Promise<Found>((resolve) => {
      const end = (value: Found) => {
        waits.remove(group, name, waiter);
        timer.cancel();
        resolve(value);
      };
      const waiter: LockWaiter = {
        session,
        onTaken: end,
        onSessionEnded: () => end(NO_SESSION),
        onFault: () => end(FAILED),
      };
      waits.add(group, name, waiter);
      const timer = this.at.world.clock.after(waitMs, () => end(HELD));
    });
    if (waited === HELD && this.at.world.random.below(2) === 0)
      return await this.#member().state.lock(group, name, session, true).catch(failed);
    return waited;
  }

  /** Checks that the lock is held, uses it for a while, and ends this in one of several ways. */
  async #hold(belief: Belief): Promise<void> {
    const { random } = this.at.world;
    const { group, name, session } = belief;
    this.grantCount++;
    for (const other of this.beliefs) {
      if (other.group.id !== group.id || other.name !== name) continue;
      assert.ok(other.session === session || !this.#isLive(other), 'two sessions hold a lock');
    }
    this.beliefs.add(belief);
    this.#check(belief);
    await this.at.world.sleep(random.below(1500));
    this.#check(belief);
    this.beliefs.delete(belief);
    if (random.below(6) === 0) return;
    const member = this.#member();
    const wasLive = this.#isLive(belief);
    const released = await member.state.release(group, name, session).catch(failed);
    if (this.#isLive(belief) && wasLive) assert.ok(released !== false, 'a holder can release');
    member.waits.onFree(group, name);
  }

  async #administer(group: CpGroup): Promise<void> {
    const member = this.#member();
    if (this.at.world.random.below(2) === 0) await member.groups.remove(group.name).catch(failed);
    await this.sweep(member).catch(failed);
    member.waits.onChange();
  }

  async sweep({ groups, state }: Member): Promise<void> {
    await state.sweep(await groups.removed());
  }

  /** While its session lives, the entry of a lock that a client holds is that of the client. */
  #check(belief: Belief): void {
    const { group, name, session, fence } = belief;
    if (!this.#isLive(belief)) return;
    const text = this.at.textOf(`l${group.id}/${name}`);
    // A group may be removed, and its locks with it, before its sessions.
    if (text !== undefined) assert.equal(text, `${session} ${fence}`);
  }

  #isLive({ group, session }: Belief): boolean {
    return this.at.textOf(`s${group.id}/${session}`) !== undefined;
  }

  #member(): Member {
    const { members, world } = this.at;
    return members[world.random.below(members.length)]!;
  }
}

function failed(): typeof FAILED {
  return FAILED;
}

async function simulate(seed: number, faultShare: number): Promise<number> {
  const at = await CpWorld.open(seed, 3);
  const { world, members } = at;
  at.faultShare = faultShare;
  const clients = new Clients(at);
  const running = Array.from({ length: 8 }, () => clients.run(4));
  await world.during(Promise.all(running));
  assert.deepEqual(
    members.map(({ waits }) => waits.count),
    [0, 0, 0],
  );
  at.faultShare = 0;
  await world.pass((SESSION_SECONDS + 30) * 1000);
  assert.equal(world.clock.timerCount, 0, 'no timer is left');
  const [member] = members;
  await world.during(clients.sweep(member!));
  const groups = await world.during(member!.groups.all());
  for (const group of groups) {
    assert.deepEqual(await world.during(member!.state.sessions(group)), []);
    for (const lock of LOCKS) assert.equal(at.textOf(`l${group.id}/${lock}`), undefined);
  }
  await world.during(at.engine.close());
  return clients.grantCount;
}

describe('CpState', () => {
  it('never has two live holders of a lock, and fences rise, on a late engine', async () => {
    const first = Number(process.env.SEED ?? 1);
    const count = Number(process.env.SOAK_SIZE ?? 4);
    let grantCount = 0;
    for (let seed = first; seed < first + count; seed++) {
      await simulate(seed, 0).then(
        (grants) => {
          grantCount += grants;
        },
        (error) => assert.fail(`seed ${seed}: ${(error as Error).stack}`),
      );
    }
    assert.ok(grantCount > 10 * count);
  });

  it('never has two live holders of a lock on an engine that fails', async () => {
    const first = Number(process.env.SEED ?? 1);
    const count = Number(process.env.SOAK_SIZE ?? 4);
    for (let seed = first; seed < first + count; seed++) {
      const share = [10, 30, 100][seed % 3]!;
      await simulate(seed, share).catch((error) =>
        assert.fail(`seed ${seed}: ${(error as Error).stack}`),
      );
    }
  });

  it('numbers sessions that are opened at once one after the other', async () => {
    const at = await CpWorld.open(1, 4);
    const opening = Array.from({ length: 64 }, async (_, index) => {
      const { state, groups } = at.members[index % 4]!;
      return (await state.openSession(await groups.open('g'), 'here', 'one')).id;
    });
    const ids = await at.world.during(Promise.all(opening));
    assert.equal(new Set(ids).size, 64);
    assert.ok(Math.max(...ids) - Math.min(...ids) < FENCES_MAX);
    assert.equal((await at.world.during(at.members[0]!.groups.all())).length, 2);
  });

  it('frees a lock whose taking was broken off, without a fence', async () => {
    const at = await CpWorld.open(1, 1);
    const { state, groups } = at.members[0]!;
    const { world } = at;
    const group = await world.during(groups.open('g'));
    const open = async () => (await world.during(state.openSession(group, 'here', 'one'))).id;
    const [one, two] = [await open(), await open()];
    let count = 0;
    at.onOperation = () => ++count === 4;
    await assert.rejects(world.during(state.lock(group, 'a', one, true)));
    at.onOperation = () => false;
    assert.equal(at.textOf(`l${group.id}/a`), `${one} 0`);
    assert.equal(await world.during(state.holder(group, 'a')), undefined);
    assert.equal(await world.during(state.lock(group, 'a', two, true)), HELD);
    await world.pass(10_000);
    const taken = await world.during(state.lock(group, 'a', two, true));
    assert.ok(taken !== HELD && taken !== NO_SESSION && taken.isNew);
  });

  it('does not give back a lock that its session has asked for again', async () => {
    const at = await CpWorld.open(1, 2);
    const { world } = at;
    const [{ state, groups }, other] = at.members as [Member, Member];
    const group = await world.during(groups.open('g'));
    const { id } = await world.during(state.openSession(group, 'here', 'one'));
    const taken = await world.during(state.lock(group, 'a', id, true));
    assert.ok(taken !== HELD && taken !== NO_SESSION);
    const again = await world.during(other.state.lock(group, 'a', id, true));
    assert.ok(again !== HELD && again !== NO_SESSION);
    assert.deepEqual([again.fence, again.isNew], [taken.fence, false]);
    await world.during(state.giveBack(group, 'a', taken));
    assert.equal((await world.during(state.holder(group, 'a')))?.fence, taken.fence);
    await world.during(other.state.giveBack(group, 'a', again));
    assert.equal(await world.during(state.holder(group, 'a')), undefined);
  });

  it('keeps the sessions of a group that is created during a sweep', async () => {
    const at = await CpWorld.open(1, 1);
    const { world } = at;
    const { state, groups } = at.members[0]!;
    await world.during(groups.open('g'));
    const isRemoved = await world.during(groups.removed());
    const made = await world.during(groups.open('h'));
    const { id } = await world.during(state.openSession(made, 'here', 'one'));
    await world.during(state.lock(made, 'a', id, true));
    await world.during(state.sweep(isRemoved));
    assert.equal(await world.during(state.hasSession(made, id)), true);
    await world.during(groups.remove('h'));
    await world.during(state.sweep(await world.during(groups.removed())));
    assert.equal(await world.during(state.hasSession(made, id)), false);
  });
});

describe('LockWaits', () => {
  /** Lets this many sessions wait for a lock that another session holds. */
  async function waiting(count: number) {
    const at = await CpWorld.open(1, 1);
    const { world } = at;
    const { state, groups, waits } = at.members[0]!;
    const group = await world.during(groups.open('g'));
    const holder = await world.during(state.openSession(group, 'here', 'one'));
    await world.during(state.lock(group, 'a', holder.id, true));
    const timerCount = world.clock.timerCount;
    const order: number[] = [];
    const ends: string[] = [];
    for (let index = 0; index < count; index++) {
      const { id } = await world.during(state.openSession(group, 'here', 'one'));
      waits.add(group, 'a', {
        session: id,
        onTaken() {
          order.push(index);
          void state.release(group, 'a', id).then(() => waits.onFree(group, 'a'));
        },
        onSessionEnded: () => ends.push('session'),
        onFault: (error) => ends.push(String((error as { code?: string }).code)),
      });
    }
    const release = () => state.release(group, 'a', holder.id).then(() => waits.onFree(group, 'a'));
    return { at, waits, timerCount, order, ends, release };
  }

  it('gives a lock to all requests in turn, without their waiting for a timer', async () => {
    const { at, waits, timerCount, order, release } = await waiting(100);
    await at.world.during(release());
    await at.world.settled();
    assert.deepEqual(order, [...order.keys()]);
    assert.deepEqual([order.length, waits.count, at.world.clock.timerCount], [100, 0, timerCount]);
  });

  it('ends all waits if the engine is closed', async () => {
    const { at, waits, ends } = await waiting(50);
    waits.onChange();
    await at.world.during(at.engine.close());
    await at.world.pass(1000);
    assert.deepEqual(ends, Array(50).fill('ENGINE_CLOSED'));
    assert.deepEqual([waits.count, at.world.clock.timerCount], [0, 0]);
  });

  it('ends the waits of sessions that have ended', async () => {
    const { at, waits, ends } = await waiting(120);
    await at.world.pass((SESSION_SECONDS + 1) * 1000);
    assert.deepEqual(ends, Array(120).fill('session'));
    assert.deepEqual([waits.count, at.world.clock.timerCount], [0, 0]);
  });
});
