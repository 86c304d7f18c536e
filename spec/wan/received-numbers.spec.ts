import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Version } from '../../src/engine/version.ts';
import type { ReceivedSection } from '../../src/wan/received-batch.ts';
import { ReceivedNumbers } from '../../src/wan/received-numbers.ts';

const LANES = 65_536;
const SOURCE = Buffer.alloc(16, 's');
const PUBLISHER = Buffer.alloc(32, 'p');

function sectionOf(lane: number, firstNumber = 1, syncBegan = new Version()): ReceivedSection {
  return { lane, firstNumber, syncBegan, count: 1, numbersAt: 0, start: 0, end: 0 };
}

describe('ReceivedNumbers', () => {
  it('keeps the lanes that were used last, and drops the one that was silent longest', () => {
    const numbers = new ReceivedNumbers();
    const laneOf = (lane: number, source = SOURCE) =>
      numbers.lane(source, PUBLISHER, sectionOf(lane));
    const all = Array.from({ length: LANES }, (_, lane) => laneOf(lane));
    for (const lane of [1, 2, 0]) assert.equal(laneOf(lane), all[lane]);
    laneOf(0, Buffer.alloc(16, 't'));
    assert.equal(laneOf(4), all[4]);
    assert.notEqual(laneOf(3), all[3]);
  });

  it('keeps the lanes of sources, publishers and synchronisations apart', () => {
    const numbers = new ReceivedNumbers();
    const lanes = new Set([
      numbers.lane(SOURCE, PUBLISHER, sectionOf(1)),
      numbers.lane(Buffer.alloc(16, 't'), PUBLISHER, sectionOf(1)),
      numbers.lane(SOURCE, Buffer.alloc(32, 'q'), sectionOf(1)),
      numbers.lane(SOURCE, PUBLISHER, sectionOf(2)),
      numbers.lane(SOURCE, PUBLISHER, sectionOf(1, 1, new Version().set(1, 1))),
    ]);
    assert.equal(lanes.size, 5);
  });

  it('counts by section, with what no response has reported yet', () => {
    const lane = new ReceivedNumbers().lane(SOURCE, PUBLISHER, sectionOf(0));
    lane.enter(sectionOf(0, 1), 5);
    lane.rejected += 2;
    lane.onReported();
    lane.rejected++;
    lane.notTaken++;
    lane.enter(sectionOf(0, 1), 5);
    assert.deepEqual([lane.rejected, lane.notTaken], [3, 1]);
    lane.enter(sectionOf(0, 4), 5);
    assert.deepEqual([lane.rejected, lane.notTaken], [1, 1]);
    lane.enter(sectionOf(0, 1), 6);
    assert.deepEqual([lane.rejected, lane.notTaken, lane.lastNumber], [0, 0, 0]);
  });
});
