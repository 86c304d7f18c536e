/** The work of WanReplications before the end of its member. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SET } from '../../src/engine/mutation.ts';
import { BATCH, sealPlain } from '../../src/wan/message-format.ts';
import { processClock } from '../process-clock.ts';
import { batchOf, changeOf, headOf, receiver } from './messages.ts';

it('WanReplications.close applies the rest of the batches that were acknowledged on receipt', async (t) => {
  const clock = processClock(t);
  const member = receiver();
  const { engine, network } = member;
  const merge = engine.merge.bind(engine);
  engine.merge = (...change) => {
    // Longer than a slice.
    if (engine.mergedCount % 16 === 14) clock.nowMs += 6;
    merge(...change);
  };
  const changes = Array.from({ length: 40 }, (_, index) => changeOf(SET, `key${index}`, 'x'));
  const head = { ...headOf(BATCH), isOnReceipt: true };
  const { status } = await member.receive(sealPlain(batchOf(changes, member.dataSetId), head));
  assert.equal(status, 200);
  assert.ok(engine.mergedCount < 40, `${engine.mergedCount}`);
  let isClosed = false;
  const closing = member.replications.close(1000).then(() => {
    isClosed = true;
  });
  await Promise.resolve();
  assert.ok(!isClosed);
  await network.pass(100);
  await closing;
  assert.equal(engine.mergedCount, 40);
});
