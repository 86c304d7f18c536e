/** Covers src/cp/cp-members.ts: members that join, leave, are gone and are removed, on a late engine. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MemberInfo } from '../../src/cluster/cluster.ts';
import { SharedCpMembers } from '../../src/cp/cp-members.ts';
import { CpWorld } from './cp-world.ts';

const REVIEW_MS = 5000;
const REMOVAL_SECONDS = 60;

/** A cluster whose members share a store. */
async function clusterOf(cpMemberCount: number, cpRemovalSeconds = REMOVAL_SECONDS) {
  const at = await CpWorld.open(1, 0);
  const { world } = at;
  let uuids: string[] = [];
  const alive = new Map<string, SharedCpMembers>();
  const infoOf = (uuid: string, own: string): MemberInfo => {
    const localMember = uuid === own;
    return { uuid, address: `${uuid}:5701`, localMember, liteMember: false, memberVersion: '1.2' };
  };
  /** Adds a member to the cluster, which joins the subsystem. */
  const join = async (uuid: string): Promise<SharedCpMembers> => {
    uuids = [...uuids, uuid];
    const cluster = {
      get members() {
        return uuids.map((each) => infoOf(each, uuid));
      },
    };
    const config = { cpMemberCount, cpRemovalSeconds };
    const members = new SharedCpMembers({ store: at.store(), cluster, clock: world.clock, config });
    alive.set(uuid, members);
    await world.during(members.join());
    return members;
  };
  const leave = async (uuid: string) => {
    await world.during(alive.get(uuid)!.leave());
    uuids = uuids.filter((each) => each !== uuid);
  };
  /** Removes a member from the view of the others; its own timers continue. */
  const lose = (uuid: string) => {
    uuids = uuids.filter((each) => each !== uuid);
  };
  const listed = async () => {
    const [one] = alive.values();
    return (await world.during(one!.all())).map(({ uuid }) => uuid);
  };
  return { at, world, join, leave, lose, listed, restore: (uuid: string) => uuids.push(uuid) };
}

describe('SharedCpMembers', () => {
  it('are the first members to join, and those that are added', async () => {
    const { world, join, leave, listed } = await clusterOf(3);
    for (const uuid of ['a', 'b', 'c']) await join(uuid);
    const fourth = await join('d');
    assert.deepEqual(await listed(), ['a', 'b', 'c']);
    assert.deepEqual(await world.during(fourth.all()), [
      { uuid: 'a', address: 'a:5701' },
      { uuid: 'b', address: 'b:5701' },
      { uuid: 'c', address: 'c:5701' },
    ]);
    await world.during(fourth.addOwn());
    await world.during(fourth.addOwn());
    assert.deepEqual(await listed(), ['a', 'b', 'c', 'd']);
    await leave('b');
    await world.pass(10 * REVIEW_MS);
    assert.deepEqual(await listed(), ['a', 'c', 'd'], 'a member that leaves is not listed');
    await join('e');
    assert.deepEqual(await listed(), ['a', 'c', 'd']);
    await leave('c');
    await join('f');
    assert.deepEqual(await listed(), ['a', 'd', 'f'], 'a member that joins takes a free place');
  });

  it('are all members if their number is 0', async () => {
    const { world, join, lose, restore, listed } = await clusterOf(0, 30);
    for (const uuid of ['a', 'b', 'c', 'd']) await join(uuid);
    assert.deepEqual(await listed(), ['a', 'b', 'c', 'd']);
    lose('c');
    await world.pass(30_000 + 2 * REVIEW_MS);
    assert.deepEqual(await listed(), ['a', 'b', 'd']);
    restore('c');
    await world.pass(REVIEW_MS);
    assert.deepEqual(await listed(), ['a', 'b', 'd', 'c']);
  });

  it('that are gone are listed for the time of the setting', async () => {
    const { world, join, lose, restore, listed } = await clusterOf(2);
    for (const uuid of ['a', 'b', 'c']) await join(uuid);
    lose('b');
    await world.pass(REMOVAL_SECONDS * 1000 - 1);
    assert.deepEqual(await listed(), ['a', 'b']);
    restore('b');
    await world.pass(2 * REVIEW_MS);
    lose('b');
    await world.pass(REMOVAL_SECONDS * 1000 - 1);
    assert.deepEqual(await listed(), ['a', 'b'], 'the time begins anew');
    await world.pass(2 * REVIEW_MS);
    assert.deepEqual(await listed(), ['a']);
  });

  it('that are gone remain listed if the time is 0', async () => {
    const { world, join, lose, listed } = await clusterOf(2, 0);
    for (const uuid of ['a', 'b']) await join(uuid);
    lose('b');
    await world.pass(86_400_000);
    assert.deepEqual(await listed(), ['a', 'b']);
  });

  it('can be removed by any member once they are gone', async () => {
    const { world, join, lose, listed } = await clusterOf(3);
    await join('a');
    const second = await join('b');
    await join('c');
    await assert.rejects(world.during(second.remove('c')), { code: 'CP_MEMBER_ALIVE' });
    await assert.rejects(world.during(second.remove('b')), { code: 'CP_MEMBER_ALIVE' });
    lose('c');
    assert.equal(await world.during(second.remove('x')), false);
    assert.equal(second.isMaster(), false);
    assert.equal(await world.during(second.remove('c')), true);
    assert.equal(await world.during(second.remove('c')), false);
    assert.deepEqual(await listed(), ['a', 'b']);
  });

  it('join later if the engine fails, and never when they have left', async () => {
    const { at, world, join, leave, listed } = await clusterOf(3);
    const first = await join('a');
    assert.equal(first.isMaster(), true);
    at.onOperation = () => true;
    await join('b');
    at.onOperation = () => false;
    assert.deepEqual(await listed(), ['a']);
    await world.pass(REVIEW_MS);
    assert.deepEqual(await listed(), ['a', 'b']);
    at.onOperation = () => true;
    await leave('b');
    await join('c');
    await leave('c');
    at.onOperation = () => false;
    await world.pass(2 * REVIEW_MS);
    assert.deepEqual(await listed(), ['a', 'b'], 'one that could not be removed is gone');
    await leave('a');
    assert.equal(world.clock.timerCount, 0);
  });

  it('join and leave at once without loss', async () => {
    const { world, join, leave, listed } = await clusterOf(0);
    const names = Array.from({ length: 10 }, (_, index) => `m${index}`);
    await world.during(Promise.all(names.map((name) => join(name))));
    assert.deepEqual((await listed()).sort(), names);
    await world.during(Promise.all(names.map((name) => leave(name))));
    assert.deepEqual(await listed(), []);
    assert.equal(world.clock.timerCount, 0);
  });
});
