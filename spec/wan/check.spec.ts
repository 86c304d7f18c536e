/**
 * Covers src/wan/wan-task*.ts and src/wan/tree-*.ts. Checks of maps between members, and later
 * synchronisations, which send only the entries that differ.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DELETE, SET } from '../../src/engine/mutation.ts';
import { BATCH } from '../../src/wan/message-format.ts';
import type { TaskStatus } from '../../src/wan/wan-status.ts';
import { durableMember, pairOf } from './members.ts';

const PARTITIONS = 7;
const LEAVES = PARTITIONS * 512;

/** Returns a source `a` and its target `b`; both have 500 entries of two maps. */
async function pair(partitionCount = PARTITIONS) {
  const { network, a } = pairOf({ batchSize: 100, consistencyCheckStrategy: 'MERKLE_TREES' });
  const b = durableMember(network, 'b', [], { partitionCount });
  for (let index = 0; index < 500; index++) {
    a.engine.change(SET, 'map', `key${index}`, 'value');
    a.engine.change(SET, 'other', `key${index}`, 'value');
  }
  await network.pass(3000, 50);
  assert.equal(a.status.queueSize, 0);
  a.control.stop();
  return { network, a, b };
}

type Pair = Awaited<ReturnType<typeof pair>>;

function check({ a }: Pair): Promise<TaskStatus> {
  return a.ended(a.replications.check('r', '', Buffer.from('map')));
}

/** Synchronises. Returns the number of entries sent. */
async function synchronise(members: Pair, map?: string): Promise<number> {
  const { network, a } = members;
  const before = network.sent.length;
  const of = map === undefined ? undefined : Buffer.from(map);
  const { stage } = await a.ended(a.replications.synchronise('r', 'p', of));
  assert.equal(stage, 'FINISHED');
  const batches = network.sent.slice(before).filter(({ message }) => message[20] === BATCH);
  return batches.reduce((sum, { message }) => sum + eventsOf(message), 0);
}

/** Returns the number of events in a batch of one section, as synchronisations send it. */
function eventsOf(message: Buffer): number {
  // Head, epoch and data set; then three texts and the number of sections.
  let at = 56 + 24;
  for (let text = 0; text < 3; text++) at += 2 + message.readUInt16LE(at);
  assert.equal(message.readUInt16LE(at), 1);
  return message.readUInt32LE(at + 2 + 4);
}

describe('WanReplications.check', () => {
  it('counts the differences, and changes nothing', async () => {
    const members = await pair();
    const { a, b } = members;
    const equal = await check(members);
    const { stage, progress, differentLeaves, entriesToSync } = equal;
    assert.deepEqual([stage, progress, differentLeaves, entriesToSync], ['FINISHED', 100, 0, 0]);
    assert.deepEqual([equal.checkedPartitions, equal.checkedLeaves], [PARTITIONS, LEAVES]);
    b.engine.change(SET, 'map', 'key1', 'another');
    b.engine.change(DELETE, 'map', 'key2', '');
    b.engine.change(SET, 'map', 'more', 'there');
    b.engine.change(SET, 'other', 'key1', 'another');
    const before = [a.engine.contents(), b.engine.contents()];
    const different = await check(members);
    assert.equal(different.differentLeaves, 3);
    assert.ok((different.entriesToSync ?? 0) >= 2);
    assert.deepEqual([a.engine.contents(), b.engine.contents()], before);
  });

  it('has no figures before its end, and a message if it fails', async () => {
    const members = await pair(13);
    const uuid = members.a.replications.check('r', 'p', Buffer.from('map'));
    const { stage, entriesToSync, checkedPartitions } = members.a.replications.progressOf(uuid)!;
    assert.deepEqual([stage, entriesToSync, checkedPartitions], ['STARTED', -1, -1]);
    const status = await members.a.ended(uuid);
    assert.equal(status.stage, 'FAILED');
    assert.match(status.message ?? '', /partition-count is 7 here and 13 at the target/);
    assert.equal(await synchronise(members, 'map'), 500);
  });

  it('fails if the target cannot be reached', async () => {
    const members = await pair();
    members.b.isDown = true;
    const { stage, message } = await check(members);
    assert.equal(stage, 'FAILED');
    assert.match(message ?? '', /no target responded within 1000 ms.*connection refused/);
  });
});

describe('WanReplications.synchronise after a check', () => {
  it('sends only the current differences of the maps that were checked', async () => {
    const members = await pair();
    const { a, b } = members;
    assert.equal(await synchronise(members, 'map'), 500);
    await check(members);
    b.engine.change(SET, 'map', 'key1', 'another');
    a.engine.change(SET, 'map', 'key1', 'latest');
    a.engine.change(SET, 'map', 'key2', 'latest');
    const count = await synchronise(members, 'map');
    assert.ok(count >= 2 && count < 10, `${count} entries`);
    assert.deepEqual(b.engine.contents(), a.engine.contents());
    assert.equal(await synchronise(members, 'other'), 500);
    a.engine.change(SET, 'map', 'key3', 'latest');
    a.engine.change(SET, 'other', 'key3', 'latest');
    const all = await synchronise(members);
    assert.ok(all > 500 && all < 510, `${all} entries`);
    assert.deepEqual(b.engine.contents(), a.engine.contents());
    assert.equal((await check(members)).differentLeaves, 0);
    assert.equal(await synchronise(members, 'map'), 0);
  });

  it('sends everything if the target can no longer be compared', async () => {
    const members = await pair();
    const { network, a } = members;
    await check(members);
    const again = durableMember(network, 'b', [], { partitionCount: 13, dataSet: 'x' });
    assert.equal(await synchronise(members), 1000);
    assert.deepEqual(again.engine.contents(), a.engine.contents());
    assert.match(
      a.log.lines.join('\n'),
      /warn WAN sync: all of map "map" is sent: .*partition-count/,
    );
  });
});
