/**
 * Covers spec/engine/late-engine.ts. Random work on queues of an engine whose results arrive later:
 * no item is delivered twice or lost, whenever clients disconnect. LATE_SEED sets the first seed;
 * the soak runs many more.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lateQueueRounds } from './late-queue-round.ts';

const SEEDS = 150;
const INJURED_SEEDS = 100;
const FIRST = Number(process.env.LATE_SEED ?? 1);

describe('queues of an engine whose results arrive later', () => {
  for (const isOrdered of [true, false]) {
    for (const turns of ['next', 'random'] as const) {
      const order = isOrdered ? 'ordered' : 'unordered';
      it(`${order}, in ${turns === 'next' ? 'the next' : 'a random'} turn: each item is delivered once`, async () => {
        const report = await lateQueueRounds(FIRST, SEEDS, { isOrdered, turns });
        const { delivered, returned, cancelled, refused } = report;
        const fewest = Math.min(delivered, returned, cancelled, refused);
        assert.ok(fewest > 0, JSON.stringify(report));
      });
    }
  }

  it('with a store that sometimes fails: all operations end', async () => {
    const injuries = { unknownPerMille: 100, disconnectedPerMille: 100 };
    const options = { isOrdered: false, ...injuries };
    const report = await lateQueueRounds(FIRST, INJURED_SEEDS, options);
    assert.ok(report.unknown > 0, JSON.stringify(report));
  });
});
