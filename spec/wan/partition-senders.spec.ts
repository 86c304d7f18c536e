import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { partitionsSentBy } from '../../src/wan/partition-senders.ts';

const COUNT = 271;

/** Returns the sender of each partition. */
function sendersAmong(uuids: readonly string[]): string[] {
  const senders: string[] = [];
  for (const uuid of uuids) {
    for (const partition of partitionsSentBy(uuid, uuids, COUNT)) {
      assert.equal(senders[partition], undefined, `partition ${partition} has two senders`);
      senders[partition] = uuid;
    }
  }
  assert.equal(senders.filter((sender) => sender !== undefined).length, COUNT);
  return senders;
}

test('each partition has one sender, whatever the order of the members', () => {
  const uuids = Array.from({ length: 9 }, () => randomUUID());
  for (let count = 1; count <= uuids.length; count++) {
    const present = uuids.slice(0, count);
    assert.deepEqual(sendersAmong(present), sendersAmong([...present].reverse()));
  }
});

test('members have similar shares', () => {
  for (let round = 0; round < 50; round++) {
    const uuids = Array.from({ length: 5 }, () => randomUUID());
    for (const uuid of uuids) {
      // The mean is 54, the standard deviation below 7.
      const { length } = partitionsSentBy(uuid, uuids, COUNT);
      assert.equal(length > 20 && length < 90, true, `${length} of ${COUNT}`);
    }
  }
});

test('a member that joins or leaves changes the senders of its own partitions only', () => {
  const uuids = Array.from({ length: 6 }, () => randomUUID());
  const before = sendersAmong(uuids.slice(0, 5));
  const after = sendersAmong(uuids);
  for (const [partition, sender] of before.entries()) {
    const now = after[partition];
    assert.equal(now === sender || now === uuids[5], true);
  }
});

test('a member that is not listed sends nothing, nor does one without members', () => {
  assert.deepEqual(partitionsSentBy('x', ['a', 'b'], COUNT), []);
  assert.deepEqual(partitionsSentBy('x', [], COUNT), []);
  assert.equal(partitionsSentBy('x', ['x'], COUNT).length, COUNT);
});
