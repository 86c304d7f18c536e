/** The memory for inflated messages is bounded, however many arrive at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InflationLimit } from '../../src/wan/inflation-limit.ts';
import { BATCH, sealDeflated } from '../../src/wan/message-format.ts';
import { batchOf, CHANGES, headOf, receiver } from './messages.ts';

const MEBIBYTE = 2 ** 20;

describe('InflationLimit', () => {
  it('admits 64 MiB at a time, and the other messages in their order', async () => {
    const room = new InflationLimit();
    const order: string[] = [];
    const enter = (name: string, mebibytes: number) =>
      (room.enter(mebibytes * MEBIBYTE) ?? Promise.resolve()).then(() => order.push(name));
    void enter('a', 32);
    void enter('b', 32);
    void enter('c', 40);
    void enter('d', 1);
    await Promise.resolve();
    assert.deepEqual(order, ['a', 'b']);
    room.leave(32 * MEBIBYTE);
    await Promise.resolve();
    assert.deepEqual(order, ['a', 'b']);
    room.leave(32 * MEBIBYTE);
    await Promise.resolve();
    await Promise.resolve();
    assert.deepEqual(order, ['a', 'b', 'c', 'd']);
    room.leave(40 * MEBIBYTE);
    room.leave(MEBIBYTE);
    assert.equal(room.usedBytes, 0);
  });

  it('admits one message of any length', () => {
    const room = new InflationLimit();
    assert.equal(room.enter(1000 * MEBIBYTE), undefined);
    assert.ok(room.enter(1) instanceof Promise);
  });
});

it('WanReceiver responds to each of many simultaneous deflated messages, including invalid ones', async () => {
  const member = receiver();
  const batch = batchOf(CHANGES, member.dataSetId);
  const right = await sealDeflated(batch, headOf(BATCH));
  assert.ok(right.length < batch.length);
  const wrong = Buffer.from(right);
  wrong[60]! ^= 1;
  // The longest admitted payload, in a message of at most 200 bytes.
  wrong.writeUInt32LE(2 ** 24, 24);
  const messages = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? wrong : right));
  const answers = await Promise.all(messages.map((message) => member.receive(message)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    messages.map((message) => (message === wrong ? 400 : 200)),
  );
});
