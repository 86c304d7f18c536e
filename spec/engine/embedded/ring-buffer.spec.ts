/** Rings compared with plain arrays, all in one partition, so that their parts are mixed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { tagAt } from '../../../src/engine/embedded/cell.ts';
import { CellStore } from '../../../src/engine/embedded/cell-store.ts';
import { IdColumns } from '../../../src/engine/embedded/id-columns.ts';
import { RingBuffers } from '../../../src/engine/embedded/ring-buffer.ts';
import { FakeClock } from '../../fake-clock.ts';
import { MODEL_RUNS } from './at-once.ts';

const QUEUES = 3;

function newRings(memoryBytesMax = Number.POSITIVE_INFINITY) {
  const store = new CellStore({ partitionCount: 1, clock: new FakeClock(), memoryBytesMax });
  return {
    store,
    rings: new RingBuffers(store, new IdColumns(store.pool)),
    log: store.openPartition(0).log,
  };
}

/**
 * Asserts the invariants, and that each part contains its number. Only this number identifies the
 * part when it is moved.
 */
function assertNumbered({ pool }: CellStore, rings: RingBuffers, queue: number): void {
  rings.invariants(queue, (part, number) => {
    assert.equal(tagAt(pool.words(part), pool.at(part)), number);
  });
}

const steps = fc.array(
  fc.record({
    queue: fc.nat(QUEUES - 1),
    append: fc.oneof(fc.nat(20), fc.nat(3000)),
    drop: fc.oneof(fc.nat(20), fc.nat(3000)),
    extend: fc.oneof(fc.constant(0), fc.nat(20), fc.nat(3000)),
  }),
  { maxLength: 30, size: 'max' },
);

describe('RingBuffers', () => {
  it('behave like arrays with a first sequence while they grow at either end and shrink', () => {
    fc.assert(
      fc.property(steps, (actions) => {
        const { store, rings, log } = newRings();
        const models = Array.from({ length: QUEUES }, () => ({ first: 0, items: [] as number[] }));
        let next = 1;
        for (const { queue, append, drop, extend } of actions) {
          const model = models[queue]!;
          for (let count = 0; count < append; count++) {
            assert.ok(rings.makeRoom(queue, log));
            assert.equal(rings.end(queue), model.first + model.items.length);
            rings.append(queue, next);
            model.items.push(next++);
          }
          for (let count = 0; count < drop && model.items.length > 0; count++) {
            rings.dropFirst(queue, log);
            model.items.shift();
            model.first++;
          }
          if (model.items.length > 0) {
            const first = Math.max(0, model.first - extend);
            assert.ok(rings.extend(queue, first, log));
            model.items.unshift(...new Array<number>(model.first - first).fill(0));
            model.first = first;
          }
          for (const [other, { first, items }] of models.entries()) {
            assertNumbered(store, rings, other);
            assert.equal(rings.first(other), first);
            assert.equal(rings.end(other), first + items.length);
            for (let at = 0; at < items.length; at += 1 + (at >> 4)) {
              assert.equal(rings.get(other, first + at), items[at]);
            }
          }
        }
        for (let queue = 0; queue < QUEUES; queue++) rings.drop(queue, log);
        assert.equal(log.liveBytes, 0);
        assert.equal(store.partition(0)?.index?.count ?? 0, 0);
      }),
      { numRuns: 2 * MODEL_RUNS },
    );
  });

  it('a part that waits for its first item is not used for positions before all others', () => {
    const { store, rings, log } = newRings();
    const end = 18 * 1024;
    rings.begin(0, end - 400);
    while (rings.end(0) < end) {
      assert.ok(rings.makeRoom(0, log));
      rings.append(0, 1);
    }
    assert.ok(rings.extend(0, 13 * 1024, log));
    assertNumbered(store, rings, 0);
    while (rings.first(0) < rings.end(0)) rings.dropFirst(0, log);
    rings.drop(0, log);
    assert.equal(log.liveBytes, 0);
  });

  it('makeRoom is false without memory, and the ring does not change', () => {
    const { rings, log } = newRings(400_000);
    let count = 0;
    while (rings.makeRoom(0, log)) rings.append(0, ++count);
    assert.ok(count > 10_000);
    for (let sequence = 0; sequence < count; sequence++) {
      assert.equal(rings.get(0, sequence), sequence + 1);
    }
    for (let dropped = 0; dropped < 40_000; dropped++) rings.dropFirst(0, log);
    assert.ok(rings.makeRoom(0, log));
  });

  it('a ring of one item uses 32 bytes of cells', () => {
    const { rings, log } = newRings();
    rings.makeRoom(0, log);
    rings.append(0, 1);
    assert.equal(log.liveBytes, 32);
  });
});
