/**
 * WAN replication as a part of the members of a cluster on servers: the calls at one, two and three
 * members, and the configuration that they share. Messages are in server-sections.spec.ts.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { GridError } from '../../src/base/errors.ts';
import { LEASE_MS } from '../cluster/cluster-world.ts';
import { CALL, fileOf, PUBLISHER, type SharedMember, SharedWorld } from './shared-members.ts';

/** Returns a world with members that serve with the file. */
async function served(count: number, text = fileOf('m')) {
  const world = new SharedWorld();
  const members: SharedMember[] = [];
  for (let at = 0; at < count; at++) members.push(await world.serve(text));
  return { world, members, first: members[0]!, last: members.at(-1)! };
}

function publishersOf(members: readonly SharedMember[]): string[][] {
  return members.map(({ publishers }) => publishers);
}

function codeOf(outcome: object | undefined): string | undefined {
  return (outcome as { refusal?: GridError } | undefined)?.refusal?.code;
}

const add = ({ wan }: SharedMember, call: object = CALL) => wan.add(JSON.stringify(call));

describe('A cluster on servers', () => {
  // The modules are loaded in real time.
  before(() => import('../../src/wan/server-replications.ts'));

  it('scans the servers for marks at the start only if a member has had a publisher', async () => {
    const { world, first } = await served(1, '  map: {m: {}}\n');
    assert.equal(world.servers.stepCounts.drop, 0);
    await world.during(first.end());
    const publishing = await world.serve(fileOf('m'));
    publishing.change('m', 20);
    await world.pass(2000);
    assert.equal(world.servers.stepCounts.drop, 0);
    await world.during(publishing.end());
    await world.serve('');
    await world.pass(1000);
    assert.deepEqual([world.servers.stepCounts.drop, world.servers.markCount], [1, 0]);
  });

  for (const count of [1, 2, 3]) {
    describe(`with ${count === 1 ? 'one member' : `${count} members`}`, () => {
      it('marks the changes of every member, and each reports its share', async () => {
        const { world, members, last } = await served(count);
        for (const member of members) member.change('m', 20);
        last.change('other');
        await world.pass(2000);
        assert.equal(world.servers.markCount, 20);
        const shares = members.map(({ wan }) => wan.running!.publishers()[0]!);
        assert.equal(
          shares.reduce((sum, { queueSize }) => sum + queueSize, 0),
          20,
        );
        for (const { queueBytes, queueCapacity } of shares) {
          assert.deepEqual([queueBytes, queueCapacity], [-1, 10_000]);
        }
        await world.during(Promise.all(members.map((member) => member.end())));
      });

      it('pauses, resumes and stops a publisher on the member that is called', async () => {
        const { members, last } = await served(count);
        const others = members.slice(0, -1).map(() => ['r p PAUSED 0']);
        const { wan } = last;
        for (const [call, state] of [
          ['resume', 'REPLICATING'],
          ['stop', 'STOPPED'],
          ['pause', 'PAUSED'],
        ] as const) {
          wan.runningOf('r', 'p').publisherOf('r', '')[call]();
          assert.deepEqual(publishersOf(members), [...others, [`r p ${state} 0`]]);
        }
        for (const [replication, id] of [
          ['x', 'p'],
          ['r', 'x'],
        ] as const) {
          const unknown = () => wan.runningOf(replication, id).publisherOf(replication, id);
          assert.throws(unknown, { code: 'WAN_UNKNOWN' });
        }
        const running = wan.runningOf('r', 'p');
        assert.equal(running.progressOf('none'), undefined);
      });

      it('marks nothing that is changed through a member on which it is stopped', async () => {
        const { world, members, first, last } = await served(count);
        last.wan.runningOf('r', 'p').publisherOf('r', 'p').stop();
        last.change('m', 10);
        assert.equal(world.servers.markCount, 0);
        if (first !== last) first.change('m', 10);
        assert.equal(world.servers.markCount, members.length === 1 ? 0 : 10);
        // The state ends with the member.
        await world.during(last.end());
        const again = await world.serve(fileOf('m'));
        assert.match(again.publishers.join(), /^r p PAUSED \d+$/);
      });

      it('clears what waits in the partitions of the member that is called', async () => {
        const { world, members } = await served(count);
        members[0]!.change('m');
        await world.pass(2000);
        let waiting = world.servers.markCount;
        for (const { wan } of members) {
          await world.during(wan.clear('r', 'p'));
          assert.ok(world.servers.markCount < waiting);
          waiting = world.servers.markCount;
        }
        assert.equal(waiting, 0);
        await assert.rejects(async () => await members[0]!.wan.clear('r', 'x'), {
          code: 'WAN_UNKNOWN',
        });
      });

      it('adds and removes a publisher on every member', async () => {
        const { world, members, first, last } = await served(count);
        const added = await world.during(add(last));
        assert.deepEqual(added, { ...added, addedPublisherIds: ['q'], ignoredPublisherIds: [] });
        const both = ['r p PAUSED 0', 'r q PAUSED 0'];
        assert.deepEqual(
          publishersOf(members),
          members.map(() => both),
        );
        for (const member of members) member.change('m', 7);
        assert.equal(world.servers.markCount, 14);
        assert.equal(await world.during(first.wan.remove('r', 'q')), undefined);
        assert.deepEqual(
          members.map(({ publishers }) => publishers.length),
          members.map(() => 1),
        );
        assert.equal(world.servers.markCount, 7);
        assert.match(first.log.lines.join('\n'), /warn .*dropped 7 keys that waited for removed/);
        assert.equal(codeOf(await world.during(last.wan.remove('r', 'p'))), 'WAN_CONFIGURED');
        assert.throws(() => void last.wan.runningOf('r', 'q').publisherOf('r', 'q'), {
          code: 'WAN_UNKNOWN',
        });
      });

      it('adds a first replication, and references to it', async () => {
        const { world, members, first, last } = await served(count, '');
        assert.equal(last.wan.running, undefined);
        assert.throws(() => last.wan.runningOf('r', 'q'), { code: 'WAN_UNKNOWN' });
        first.change('m', 5);
        const called = await world.during(add(first));
        assert.ok('addedPublisherIds' in called);
        const text = 'grid: {map: {"m*": {wan-replication-ref: {r: }}}}';
        const update = await world.during(last.reloader.add(text));
        assert.ok('added' in update);
        for (const [at, member] of members.entries()) member.change(`m${at}`, 5);
        assert.equal(world.servers.markCount, 5 * count);
        // All members stop, and another one starts.
        await world.during(Promise.all(members.map((member) => member.end())));
        const again = await world.serve('');
        assert.match(again.publishers.join(), /^r q PAUSED \d+$/);
        again.change('m9', 5);
        assert.equal(world.servers.markCount, 5 * count + 5);
      });
    });
  }

  it('keeps an addition that a member does not confirm, which that applies later', async () => {
    const { world, members, first, last } = await served(2);
    let unblock = (): void => {};
    last.blocked = new Promise((resolve) => {
      unblock = resolve;
    });
    const outcome = await world.during(add(first));
    assert.equal(codeOf(outcome), 'CONFIG_UNCONFIRMED');
    assert.deepEqual(
      members.map(({ publishers }) => publishers.length),
      [2, 1],
    );
    unblock();
    await world.pass(100);
    const again = await world.during(add(first));
    assert.ok('ignoredPublisherIds' in again);
    assert.deepEqual(again.ignoredPublisherIds, ['q']);
    assert.deepEqual(
      members.map(({ publishers }) => publishers.length),
      [2, 2],
    );
  });

  it('refuses an addition that cannot be recorded, or is wrong', async () => {
    const { world, first, last } = await served(2);
    world.isStoreRefusing = true;
    assert.equal(codeOf(await world.during(add(last))), 'CONFIG_NOT_KEPT');
    assert.equal(codeOf(await world.during(last.reloader.removeWan('r', 'p'))), 'WAN_CONFIGURED');
    world.isStoreRefusing = false;
    const wrong = await world.during(add(last, { name: 'r', batchPublishers: [{}] }));
    assert.ok('faults' in wrong && wrong.refusal === undefined);
    const many = Array.from({ length: 64 }, (_, at) => ({
      ...CALL.batchPublishers[0],
      publisherId: `${at}`,
    }));
    const outcome = await world.during(add(last, { name: 'r', batchPublishers: many }));
    assert.equal(codeOf(outcome), 'WAN_PUBLISHERS_MAX');
    assert.deepEqual(publishersOf([first, last]), [['r p PAUSED 0'], ['r p PAUSED 0']]);
  });

  it('gives a call its answer once a killed member is removed', async () => {
    const { world, first, last } = await served(2);
    last.node.kill();
    let isOver = false;
    const adding = add(first).finally(() => {
      isOver = true;
    });
    await world.pass(LEASE_MS - 2000);
    assert.equal(isOver, false);
    assert.ok('addedPublisherIds' in (await world.during(adding)));
  });

  it('refuses a member with another file, also after additions', async () => {
    const { world, first, last } = await served(2);
    await world.during(add(first));
    for (const [text, place] of [
      ['', 'map.m.wan-replication-ref is missing in this member and {"r":'],
      [fileOf(''), 'map.m.wan-replication-ref is missing'],
      [fileOf('m', `${PUBLISHER}, batch-size: 7`), 'batch-size is 7 in this member and 500 in'],
    ] as const) {
      const member = await world.join(text);
      const refused = (error: GridError) =>
        error.code === 'WAN_CONFIG_DIFFERS' && error.message.includes(place);
      await world.during(assert.rejects(member.joined, refused));
    }
    const same = await world.serve(fileOf('m'));
    assert.deepEqual(same.publishers, ['r p PAUSED 0', 'r q PAUSED 0']);
    // Other files need a cluster without members.
    for (const member of [first, last, same]) await world.during(member.end());
    const other = await world.serve(fileOf('n'));
    assert.deepEqual(other.publishers, ['r p PAUSED 0', 'r q PAUSED 0']);
  });

  it('drops what waits for a publisher that the next files do not have', async () => {
    const { world, first } = await served(1);
    await world.during(add(first));
    first.change('m', 9);
    await world.during(first.end());
    const text = fileOf('m', PUBLISHER).replace('{p:', '{p2:');
    const next = await world.serve(text);
    await world.pass(100);
    assert.deepEqual(next.publishers, ['r p2 PAUSED 0', 'r q PAUSED 9']);
    assert.equal(world.servers.markCount, 9);
    assert.match(next.log.lines.join('\n'), /dropped 9 keys that waited for removed publishers/);
  });

  it('marks nothing unmarked through a member that was out during an addition', async () => {
    const { world, first, last } = await served(2);
    last.node.stop();
    await world.pass(LEASE_MS + 2000);
    assert.ok('addedPublisherIds' in (await world.during(add(first))));
    const { cluster } = last.node;
    last.node.resume();
    for (let ms = 0; ms < 2000; ms++) {
      await world.pass(1);
      if (cluster.hasLease) assert.equal(last.publishers.length, 2);
    }
    assert.ok(cluster.hasLease);
  });

  it('replaces a publisher that was removed and added with other settings meanwhile', async () => {
    const { world, first, last } = await served(2);
    await world.during(add(first));
    last.node.stop();
    await world.pass(LEASE_MS + 2000);
    await world.during(first.wan.remove('r', 'q'));
    const [publisher] = CALL.batchPublishers;
    const call = { name: 'r', batchPublishers: [{ ...publisher, queueCapacity: 7 }] };
    await world.during(add(first, call));
    last.node.resume();
    await world.pass(2000);
    for (const { wan } of [first, last]) {
      assert.equal(wan.running!.publishers()[1]!.queueCapacity, 7);
    }
  });

  it('keeps the reports of a failed drop', async () => {
    const { world, first } = await served(1);
    await world.during(add(first));
    first.change('m', 3);
    world.servers.fate = () => ({ isDone: false, isKnown: true, delayMs: 1 });
    assert.equal(await world.during(first.wan.remove('r', 'q')), undefined);
    assert.match(first.log.lines.join('\n'), /cannot drop the keys that wait for removed/);
  });
});
