/** Replay with little memory. random-strain.ts replays random work. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { APPLIED, MEMORY_FULL } from '../../../src/engine/engine.ts';
import { FROM_REPLAY, type Mutation } from '../../../src/engine/mutation.ts';
import { replayInto } from '../changes.ts';
import { RecordingSink } from '../sinks.ts';
import { contentOf } from '../stored-engine.case.ts';
import { engineOf } from './components-of.ts';

const MIB = 1_048_576;

function limited(memoryBytesMax: number, sinks: readonly RecordingSink[] = []) {
  return engineOf({ partitionCount: 13, memoryBytesMax, sinks });
}

/** Returns the records of maps of this many bytes, written and cleared one after the other. */
function mapsInTurn(count: number, bytes: number): readonly Mutation[] {
  const sink = new RecordingSink();
  const { ask } = limited(Number.POSITIVE_INFINITY, [sink]);
  for (let map = 0; map < count; map++) {
    for (let key = 0; key < bytes / 1000; key++) ask.set(`m${map}`, `${key}`, Buffer.alloc(950));
    if (map + 1 < count) ask.clear(`m${map}`);
  }
  for (const record of sink.records) record.origin = FROM_REPLAY;
  return sink.records;
}

describe('Refill with little memory', () => {
  it('reclaims at once what is cleared, deleted and discarded meanwhile', () => {
    const records = mapsInTurn(3, 3 * MIB);
    const { engine } = limited(4 * MIB);
    replayInto(engine, records, true);
    assert.equal(contentOf(engine).length, Math.ceil((3 * MIB) / 1000));
    assert.ok(engine.memoryBytes <= 4 * MIB);
  });

  it('exceeds it temporarily, but only for data that fitted before', () => {
    const records = mapsInTurn(2, 3 * MIB);
    // Like a visit of one map before its end, and of the other after its beginning.
    const both = records.filter(({ key }) => key.length > 0);
    for (const mayExceed of [true, false]) {
      const { engine } = limited(4 * MIB);
      const replay = engine.replay({ mayExceed });
      const count = both.filter((record) => replay.apply(record) === APPLIED).length;
      assert.equal(count === both.length, mayExceed);
      assert.ok(mayExceed || engine.memoryBytes <= (4 + 4 / 8) * MIB, `${engine.memoryBytes}`);
      if (!mayExceed) continue;
      replay.beginLog();
      for (const record of records) assert.equal(replay.apply(record), APPLIED);
      assert.ok(replay.end());
      assert.ok(engine.memoryBytes <= 4 * MIB, `${engine.memoryBytes}`);
      assert.equal(contentOf(engine).length, both.length / 2);
    }
  });

  it('leaves less memory for writes than it uses itself', () => {
    const sink = new RecordingSink();
    const { engine: first, ask } = limited(4 * MIB, [sink]);
    for (let key = 0; ask.set('m', `${key}`, Buffer.alloc(3000)).outcome !== MEMORY_FULL; key++);
    assert.ok(first.memoryBytes > 3.75 * MIB && first.memoryBytes <= (4 - 4 / 64) * MIB);
  });
});
